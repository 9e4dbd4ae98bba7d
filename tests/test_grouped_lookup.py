"""Look-ups of the same moment are made together, up to a number of keys."""

import asyncio
from collections.abc import Sequence

import pytest

from gatepost.grouped_lookup import GroupedLookup


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


async def test_an_error_is_raised_for_all_keys_of_the_group_only() -> None:
    find = GroupedLookup(Lookup().load, most=2).find
    found = await asyncio.gather(find(12), find(13), find(14), return_exceptions=True)
    assert [str(one) for one in found] == ["13", "13", "14"]
