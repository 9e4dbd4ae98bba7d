"""Look-ups of the same moment are made together, up to a number of keys."""

import asyncio
from collections.abc import Sequence

import pytest

from gatepost.grouped_lookup import GroupedLookup
from gatepost.model.errors import Unavailable, database_unavailable


class Lookup:
    def __init__(self) -> None:
        self.asked: list[list[int]] = []

    async def load(self, keys: Sequence[int]) -> dict[int, str]:
        self.asked.append(list(keys))
        await asyncio.sleep(0)
        if 13 in keys:
            raise ValueError("13")
        return {key: str(key) for key in keys if key < 100}


@pytest.mark.parametrize(
    ("keys", "asked"),
    [(1, [[0]]), (3, [[0, 1, 2]]), (4, [[0, 1, 2], [3]]), (7, [[0, 1, 2], [3, 4, 5], [6]])],
)
async def test_keys_of_one_turn_are_looked_up_together(keys: int, asked: list[list[int]]) -> None:
    lookup = Lookup()
    find = GroupedLookup(lookup.load, most=3).find
    assert await asyncio.gather(*map(find, range(keys))) == [str(key) for key in range(keys)]
    assert lookup.asked == asked


async def test_a_later_turn_looks_up_again() -> None:
    lookup = Lookup()
    find = GroupedLookup(lookup.load).find
    assert [await find(1), await find(1), await find(100)] == ["1", "1", None]
    assert lookup.asked == [[1], [1], [100]]


async def test_a_key_that_cannot_be_looked_up_fails_alone() -> None:
    lookup = Lookup()
    find = GroupedLookup(lookup.load, most=4).find
    found = await asyncio.gather(*map(find, (11, 12, 13, 14, 15)), return_exceptions=True)
    assert [str(one) for one in found] == ["11", "12", "13", "14", "15"]
    assert [one for one in found if isinstance(one, ValueError)] == [found[2]]
    assert lookup.asked == [[11, 12, 13, 14], [15], [11, 12], [13, 14], [13], [14]]


async def test_without_a_database_the_others_are_not_asked_for_again() -> None:
    asked: list[Sequence[int]] = []

    async def load(keys: Sequence[int]) -> dict[int, str]:
        asked.append(list(keys))
        raise database_unavailable()

    find = GroupedLookup(load).find
    found = await asyncio.gather(find(1), find(2), return_exceptions=True)
    assert [isinstance(one, Unavailable) for one in found] == [True, True]
    assert asked == [[1, 2]]


async def test_one_that_no_longer_waits_leaves_the_others_their_answer() -> None:
    lookup = Lookup()
    find = GroupedLookup(lookup.load).find
    first, second = asyncio.create_task(find(1)), asyncio.create_task(find(2))
    while not lookup.asked:
        await asyncio.sleep(0)
    first.cancel()
    assert await second == "2"
    assert first.cancelled()
