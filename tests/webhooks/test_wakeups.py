"""The loop of a deliverer wakes whenever something can be done: beside POSTs that hang, and after an outage."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import asyncpg
import pytest

from gatepost.store.channel_head import StaleOwner
from gatepost.store.deliveries.record import release_ordered_waits
from gatepost.webhooks import endpoint_deliverer
from tests.conftest import Answer, Received
from tests.patience import PATIENCE
from tests.webhooks.stage import ANA, BOB, Stage, event_ids

DOWN, UP = Answer(500), Answer()


@asynccontextmanager
async def running(stage: Stage) -> AsyncIterator[None]:
    """Run the loops as the owner does, without its check each second."""
    loops = [asyncio.create_task(one.run()) for one in stage.deliverers.values()]
    yield
    await asyncio.gather(*(one.stop() for one in stage.deliverers.values()))
    await asyncio.gather(*loops)


def hanging(hold: asyncio.Event, *events: str) -> Callable[[Received], Awaitable[Answer]]:
    """An endpoint that does not answer these events, or these paths, until it is released."""

    async def answer(request: Received) -> Answer:
        if any(event in request.body.decode() or event == request.path for event in events):
            await hold.wait()
        return UP

    return answer


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not true():
            await asyncio.sleep(0.002)


async def test_a_rate_limit_continues_beside_a_post_that_hangs(stage: Stage) -> None:
    hold = asyncio.Event()
    hook = await stage.add(rate=2)
    emitted = event_ids(await stage.emit(3))
    stage.receiver.answer = hanging(hold, emitted[0])
    await stage.take_over(in_flight=2)
    async with running(stage):
        await stage.receiver.wait_for(2)
        await until(lambda: stage.deliverers[hook].in_flight == 1)  # the second one ended, and the rate has no room yet
        stage.clock.advance(1.1)
        try:
            await stage.receiver.wait_for(3)
        finally:
            hold.set()


async def test_held_deliveries_are_batched_and_sent_beside_a_post_that_hangs(stage: Stage) -> None:
    hold, first = asyncio.Event(), asyncio.Event()
    hook = await stage.add(ordered=True, batch=2, batch_wait=0.05)
    bob, ana = event_ids(await stage.emit(2, BOB)), event_ids(await stage.emit(3, ANA))
    slow, quick = hanging(hold, bob[0]), hanging(first, ana[0])

    async def answer(request: Received) -> Answer:
        await slow(request)
        return await quick(request)

    stage.receiver.answer = answer
    await stage.take_over()
    async with running(stage):
        await stage.receiver.wait_for(2)
        await asyncio.sleep(0.1)
        first.set()
        await until(lambda: stage.deliverers[hook].in_flight == 1)
        stage.clock.advance(0.06)
        try:
            await stage.receiver.wait_for(3)
        finally:
            hold.set()


async def test_no_endpoint_starves_if_there_are_more_endpoints_than_slots(stage: Stage) -> None:
    """Two slots, three endpoints that always have more: once all have read theirs, each gets its turn."""
    paths, hold = ("/one", "/two", "/three"), asyncio.Event()
    for path in paths:
        await stage.add(path)
    await stage.emit(40)
    stage.receiver.answer = hanging(hold, *paths)
    await stage.take_over(context=stage.new_context(total=2))
    for one in stage.deliverers.values():
        await one.step()
    hold.set()
    async with running(stage):
        await stage.receiver.wait_for(120)
    early = [request.path for request in stage.receiver.requests[:40]]
    assert min(early.count(path) for path in paths) >= 10


@asynccontextmanager
async def away(url: str, table: str) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Make a table unreadable; yield a function that breaks the connection of those that wait for it."""
    conn = await asyncpg.connect(url)

    async def break_off() -> None:
        async with asyncio.timeout(PATIENCE):
            while not await conn.fetch(
                """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()"""
            ):
                await asyncio.sleep(0.01)
                await conn.execute("SELECT pg_stat_clear_snapshot()")  # or it would see the same picture all along

    async with conn.transaction():
        await conn.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield break_off
    await conn.close()


@pytest.mark.parametrize("table", ["deliveries", "delivery_retries"])
async def test_a_read_that_the_database_interrupted_is_repeated(stage: Stage, common_url: str, table: str) -> None:
    await stage.add()
    await stage.take_over()
    if table == "delivery_retries":
        stage.receiver.answer = DOWN
    emitted = event_ids(await stage.emit(1))
    if table == "delivery_retries":
        await stage.settle()
        await stage.save()
        stage.clock.advance(60)
        stage.receiver.answer = UP
    await stage.take_over()
    before = len(stage.receiver.requests)
    async with away(common_url, table) as break_off:
        loops = [asyncio.create_task(one.run()) for one in stage.deliverers.values()]
        await break_off()
    await stage.receiver.wait_for(before + 1)
    assert stage.events_at()[before:] == emitted
    await asyncio.gather(*(one.stop() for one in stage.deliverers.values()))
    await asyncio.gather(*loops)


async def test_a_due_retry_does_not_make_the_loop_spin_at_a_low_rate(stage: Stage) -> None:
    """The buffer is full, so that the retry is not read yet: the loop sleeps until the rate limit allows a POST."""
    hook = await stage.add(rate=1)
    await stage.take_over()
    stage.receiver.answer = DOWN
    await stage.emit(1)
    await stage.settle()
    stage.receiver.answer = UP
    await stage.emit(150)
    await stage.settle()
    stage.clock.advance(7)
    await stage.settle()
    wait = await stage.deliverers[hook].step()
    assert wait is not None
    assert wait > 0.5


async def test_the_number_of_unrecorded_posts_is_limited(
    stage: Stage, common_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While attempts cannot be written, POSTs stop after a limit: a crash repeats no more than those."""
    monkeypatch.setattr(endpoint_deliverer, "_UNRECORDED_MAX", 5)
    await stage.add()
    await stage.emit(40)
    await stage.take_over(in_flight=2)
    (one,) = stage.deliverers.values()
    async with away(common_url, "delivery_attempts"):
        await one.step()
        await until(lambda: stage.context.pool.used == 0)
        await asyncio.sleep(0.1)
        assert 5 <= len(stage.receiver.requests) <= 6
    await stage.settle()
    assert len(stage.receiver.requests) == 40


async def test_a_former_owner_releases_no_ordered_deliveries(stage: Stage) -> None:
    hook = await stage.add(ordered=True)
    await stage.take_over()
    stage.receiver.answer = DOWN
    await stage.emit(2, ANA)
    await stage.settle()
    stale = stage.lease
    assert stale is not None
    before = await stage.rows("delivery_retries", "ORDER BY event_id")
    await stage.take_over()
    with pytest.raises(StaleOwner):
        await release_ordered_waits(stage.db, stale, hook, stage.clock.now(), limit=10)
    assert await stage.rows("delivery_retries", "ORDER BY event_id") == before
