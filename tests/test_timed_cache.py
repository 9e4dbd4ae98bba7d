"""The cache of look-ups: one per key and period, values in use are renewed together, and nothing outlives its time."""

import asyncio
from collections.abc import Sequence

import pytest

from gatepost.access.timed_cache import TimedCache
from gatepost.grouped_lookup import GroupedLookup

PERIOD = 1.0


class Source:
    """Values that change, and the look-ups that were made."""

    def __init__(self) -> None:
        self.now = 100.0
        self.version = 1
        self.asked: list[list[str]] = []
        self.released = asyncio.Event()
        self.released.set()
        self.fails = False

    async def load(self, keys: Sequence[str]) -> dict[str, str]:
        self.asked.append(sorted(keys))
        found = {key: f"{key}{self.version}" for key in keys}
        await self.released.wait()
        if self.fails:
            raise ConnectionError("the database is gone")
        return found

    def cache(self, *, grouped: bool = True) -> TimedCache[str, str | None]:
        return TimedCache(GroupedLookup(self.load).find, PERIOD, grouped=grouped, monotonic=lambda: self.now)


@pytest.fixture
async def source() -> Source:
    return Source()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_requests_at_once_share_a_look_up(source: Source) -> None:
    cache = source.cache()
    assert cache.peek("a") is None
    assert await asyncio.gather(*(cache.get("a") for _ in range(5)), cache.get("b")) == ["a1"] * 5 + ["b1"]
    assert source.asked == [["a", "b"]]
    assert cache.peek("a") == "a1"


@pytest.mark.parametrize(("left", "found"), [(0.001, "a1"), (0.0, None), (-0.001, None)])
async def test_a_value_lasts_for_its_period(source: Source, left: float, found: str | None) -> None:
    cache = source.cache(grouped=False)
    await cache.get("a")
    source.now += PERIOD - left
    source.version = 2
    assert cache.peek("a") == found
    assert await cache.get("a") == (found or "a2")


async def test_values_in_use_are_renewed_together_in_the_second_half(source: Source) -> None:
    cache = source.cache()
    for key in ("a", "b", "unused"):
        await cache.get(key)
        source.now += 0.01
    assert [cache.peek("a"), cache.peek("b")] == ["a1", "b1"]
    source.asked.clear()
    source.version = 2
    source.now = 100.49
    assert cache.peek("a") == "a1"
    await settle()
    assert source.asked == []
    source.now = 100.6
    assert cache.peek("b") == "b1"  # nobody waits
    await settle()
    assert source.asked == [["a", "b"]]
    assert [cache.peek("a"), cache.peek("b"), cache.peek("unused")] == ["a2", "b2", "unused1"]
    source.now = 101.59  # counted from the renewal
    assert [cache.peek("a"), cache.peek("unused")] == ["a2", None]


async def test_without_groups_nothing_is_renewed(source: Source) -> None:
    cache = source.cache(grouped=False)
    await cache.get("a")
    source.now += 0.9
    assert cache.peek("a") == "a1"
    await settle()
    assert source.asked == [["a"]]


async def test_a_renewal_that_fails_does_not_prolong_a_value(source: Source) -> None:
    cache = source.cache()
    await cache.get("a")
    cache.peek("a")
    source.now += 0.6
    source.fails = True
    assert cache.peek("a") == "a1"
    await settle()
    assert cache.peek("a") == "a1"
    source.now += 0.4
    assert cache.peek("a") is None
    with pytest.raises(ConnectionError):
        await cache.get("a")


async def test_a_look_up_that_began_before_a_clear_is_not_kept(source: Source) -> None:
    cache = source.cache()
    source.released.clear()
    before = asyncio.create_task(cache.get("a"))
    await settle()
    source.version = 2
    cache.clear()
    after = asyncio.create_task(cache.get("a"))
    await settle()
    source.released.set()
    assert [await before, await after] == ["a1", "a2"]
    assert cache.peek("a") == "a2"
    await settle()
    assert cache._loading == {}


async def test_what_has_expired_is_forgotten(source: Source) -> None:
    cache = source.cache()
    for number in range(50):
        await cache.get(f"once{number}")
    await cache.get("a")
    for _ in range(8):
        source.now += 0.3
        assert await cache.get("a") == "a1"
        await settle()
    assert list(cache._cached) == ["a"]


async def test_a_request_starts_a_bounded_number_of_renewals(source: Source) -> None:
    cache = source.cache()
    for number in range(700):
        await cache.get(str(number))
        cache.peek(str(number))
    for expected in (500, 200):
        source.asked.clear()
        source.now += 0.6 if expected == 500 else 0.13
        cache.peek("699")
        await settle()
        assert [len(keys) for keys in source.asked] == [expected]
