"""Watchers: woken by rings and by what others wrote, never past a row, and no more of them than a key may have."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

import pytest

from gatepost.background import run_loop
from gatepost.model import ids
from gatepost.model.errors import LimitReached, Unavailable
from gatepost.model.event import ChannelRef
from gatepost.services.event_waiters import EventWaiters
from gatepost.services.feed import FeedQuery, follow, next_page
from gatepost.store.channels import save_connection
from gatepost.store.partitions import make_partitions
from gatepost.store.pool import Database
from tests.outbound.stage import NOW, Stage, make_stage
from tests.patience import PATIENCE

KEY = UUID(int=1)


@pytest.fixture
async def stage(database_url: str) -> AsyncIterator[Stage]:
    db = await Database.connect(database_url, connections=4)
    await make_partitions(db, NOW, 7)
    yield await make_stage(db)
    await db.close()


async def write(stage: Stage, count: int = 1) -> None:
    """So many events; nobody rings."""
    channel = ChannelRef(ids.format_id("ch", stage.channel_id), "qr", "15550001111")
    for _ in range(count):
        await save_connection(stage.db, channel, stage.channel_id, "connected", uuid4().hex, NOW)


async def test_a_wake_up_between_the_read_and_the_wait_is_not_lost(stage: Stage) -> None:
    waiters = EventWaiters(stage.db, 10)
    with waiters.watching(stage.channel_id, KEY) as watcher:
        watcher.expect()
        waiters.wake(stage.channel_id)
        async with asyncio.timeout(PATIENCE):
            await watcher.wait(10 * PATIENCE)
        waiters.wake(uuid4())
        watcher.expect()
        await watcher.wait(0.01)


async def test_what_nobody_rang_for_is_found_by_looking(stage: Stage) -> None:
    waiters = EventWaiters(stage.db, 10)
    with waiters.watching(stage.channel_id, KEY) as watcher:
        await waiters.look()
        waiting = asyncio.create_task(
            next_page(stage.db, FeedQuery(stage.channel_id, ids.ZERO), watcher, limit=10, seconds=10 * PATIENCE)
        )
        await asyncio.sleep(0.05)
        await waiters.look()
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await write(stage)
        await waiters.look()
        async with asyncio.timeout(PATIENCE):
            assert [event.seq for event in (await waiting).events] == [1]


async def test_the_loop_looks_while_somebody_watches(stage: Stage) -> None:
    waiters = EventWaiters(stage.db, 10)
    looking = asyncio.create_task(run_loop("watchers", waiters.step))
    last = ids.ZERO
    try:
        for _ in range(2):  # and again after nobody did
            with waiters.watching(stage.channel_id, KEY) as watcher:
                wanted = FeedQuery(stage.channel_id, last)
                waiting = asyncio.create_task(next_page(stage.db, wanted, watcher, limit=10, seconds=10 * PATIENCE))
                await write(stage)
                async with asyncio.timeout(PATIENCE):
                    last = (await waiting).reached
            await asyncio.sleep(0.3)
    finally:
        looking.cancel()


async def test_a_piece_is_small_however_much_there_is(stage: Stage) -> None:
    await write(stage, 250)
    waiters = EventWaiters(stage.db, 10)
    seen: list[int] = []
    with waiters.watching(stage.channel_id, KEY) as watcher:
        async for piece in follow(stage.db, FeedQuery(stage.channel_id, ids.ZERO), watcher, beat=0.01):
            assert len(piece.events) <= 100
            seen += [event.seq for event in piece.events]
            if not piece.events:
                break
    assert seen == list(range(1, 251))


async def test_a_key_may_have_so_many(stage: Stage) -> None:
    waiters = EventWaiters(stage.db, 2)
    first, second = waiters.open(stage.channel_id, KEY), waiters.open(stage.channel_id, KEY)
    with pytest.raises(LimitReached) as refused:
        waiters.open(stage.channel_id, KEY)
    assert (refused.value.code, refused.value.retry_after) == ("rate_limited", 1)
    waiters.close(waiters.open(stage.channel_id, UUID(int=2)))
    waiters.close(first)
    waiters.close(first)
    third = waiters.open(stage.channel_id, KEY)
    with pytest.raises(LimitReached):
        waiters.open(stage.channel_id, KEY)
    for one in (second, third):
        waiters.close(one)
    assert waiters.count == 0


async def test_an_end_wakes_all_and_lets_nobody_in(stage: Stage) -> None:
    waiters = EventWaiters(stage.db, 10)
    with waiters.watching(stage.channel_id, KEY) as watcher:
        wanted = FeedQuery(stage.channel_id, ids.ZERO)
        waiting = asyncio.create_task(next_page(stage.db, wanted, watcher, limit=10, seconds=10 * PATIENCE))
        await asyncio.sleep(0.05)
        waiters.end()
        async with asyncio.timeout(PATIENCE):
            assert (await waiting).events == []
        assert [piece async for piece in follow(stage.db, wanted, watcher, beat=10 * PATIENCE)] == []
    with pytest.raises(Unavailable):
        waiters.open(stage.channel_id, KEY)


class _Meanwhile(Database):
    """The same database, where something happens right after each look into it."""

    def __init__(self, db: Database, *happens: Callable[[], None]) -> None:
        self._db = db
        self._happens = list(happens)

    @asynccontextmanager
    async def connection(
        self, *, wakes: UUID | None = None, sending: bool = True, tasks: bool = True
    ) -> AsyncIterator[Any]:
        async with self._db.connection(wakes=wakes, sending=sending, tasks=tasks) as conn:
            yield conn
        self._happens.pop(0)()


async def test_a_wake_up_right_after_the_read_is_noticed(stage: Stage) -> None:
    waiters = EventWaiters(stage.db, 10)
    with waiters.watching(stage.channel_id, KEY) as watcher:
        db = _Meanwhile(stage.db, watcher.wake, watcher.end)
        async with asyncio.timeout(PATIENCE):
            piece = await next_page(db, FeedQuery(stage.channel_id, ids.ZERO), watcher, 10, 10 * PATIENCE)
        assert piece.events == []
