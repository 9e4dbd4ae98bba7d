"""What every task of a channel has in common: it is started, woken, idle and stopped in one way."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from gatepost.channel_task import ChannelContext, ChannelTask
from gatepost.store.channel_head import StaleOwner
from gatepost.store.pool import Database
from tests.outbound.conftest import _function_scoped_runner, common_url, db, warm_connections
from tests.outbound.stage import make_stage
from tests.patience import PATIENCE

__all__ = ["_function_scoped_runner", "common_url", "db", "warm_connections"]


class Counting(ChannelTask):
    """Counts its turns, and does in each of them what the test says."""

    name = "counting"
    first_wait = 0.01

    def __init__(self, context: ChannelContext) -> None:
        super().__init__(context)
        self.turns = 0
        self.then: Callable[[], float | None] = lambda: None
        self.release = asyncio.Event()
        self.release.set()

    async def work(self) -> float | None:
        self.turns += 1
        await self.release.wait()
        return self.then()

    async def until(self, turns: int) -> None:
        """Wait for so many turns, and until it waits for a wake-up."""
        await self.reach(turns)
        async with asyncio.timeout(PATIENCE):
            while not self.idle:
                await asyncio.sleep(0.001)

    async def reach(self, turns: int) -> None:
        """Wait for so many turns. It may begin the next at any time: a look at it may never find it idle."""
        async with asyncio.timeout(PATIENCE):
            while self.turns < turns:
                await asyncio.sleep(0.001)


class Leased:
    """A lease that the test ends."""

    def __init__(self) -> None:
        self.alive = True


@pytest.fixture
def leased() -> Leased:
    """Give a lease that holds."""
    return Leased()


@pytest.fixture
async def task(db: Database, leased: Leased) -> AsyncIterator[Counting]:
    """Give a task of an owned channel; it has not been started."""
    stage = await make_stage(db)
    await stage.take_over()
    one = Counting(ChannelContext(db, stage.clock, stage.lease, stage.ref, lambda: leased.alive))
    yield one
    await one.stop()
    await one.end()


async def test_it_looks_once_and_waits_until_it_is_woken(task: Counting) -> None:
    assert not task.idle, "it has not looked yet"
    task.start()
    await task.until(1)
    task.wake()
    assert not task.idle
    await task.until(2)
    assert (task.turns, task.ended) == (2, False)


async def test_it_looks_again_during_a_long_wait(task: Counting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gatepost.channel_task._LOOK_AGAIN", 0.001)
    task.then = lambda: 2 * PATIENCE  # meanwhile, the clock may be set forward
    task.start()
    await task.reach(3)


async def test_a_wake_up_while_it_works_is_not_lost(task: Counting) -> None:
    task.release.clear()
    task.start()
    async with asyncio.timeout(PATIENCE):
        while not task.turns:
            await asyncio.sleep(0.001)
    task.wake()
    assert not task.idle
    task.release.set()
    await task.until(2)
    assert task.turns == 2


async def test_it_looks_again_after_the_time_that_it_returned(task: Counting) -> None:
    task.then = lambda: 0.001 if task.turns < 3 else None
    task.start()
    await task.until(3)
    assert task.turns == 3


async def test_an_error_is_followed_by_another_try(task: Counting) -> None:
    def fail_twice() -> None:
        if task.turns < 3:
            raise ValueError("no")

    task.then = fail_twice
    task.start()
    await task.until(3)
    assert not task.ended


async def test_a_lost_lease_ends_it(task: Counting) -> None:
    def lose() -> None:
        raise StaleOwner

    task.then = lose
    task.start()
    async with asyncio.timeout(PATIENCE):
        while not task.ended:
            await asyncio.sleep(0.001)
    assert task.turns == 1


async def test_it_begins_nothing_without_a_lease(task: Counting, leased: Leased) -> None:
    leased.alive = False
    task.start()
    async with asyncio.timeout(PATIENCE):
        while not task.ended:
            await asyncio.sleep(0.001)
    assert task.turns == 0


async def test_a_stop_ends_the_wait(task: Counting) -> None:
    task.start()
    await task.until(1)
    await task.stop()
    async with asyncio.timeout(PATIENCE):
        while not task.ended:
            await asyncio.sleep(0.001)
    assert task.turns == 1


async def test_the_end_breaks_off_what_it_does(task: Counting) -> None:
    task.release.clear()
    task.start()
    async with asyncio.timeout(PATIENCE):
        while not task.turns:
            await asyncio.sleep(0.001)
        await task.end()
    assert task.ended
