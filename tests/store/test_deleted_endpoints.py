"""An endpoint that is deleted while one of its deliveries is to be retried: no retry is left."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from gatepost.model.delivery import EXHAUSTED, PENDING, DeliveryState
from gatepost.services.deliveries import check_retry
from gatepost.store.deliveries.record import AttemptRecord, DeliveryRecord, OrderedWait, record_attempts
from gatepost.store.deliveries.recover import recover_next
from gatepost.store.deliveries.retry import retry_deliveries
from gatepost.store.endpoints import delete_endpoint
from tests.outbound.stage import NOW, Stage
from tests.patience import PATIENCE
from tests.store import delivery_rows
from tests.store.deliveries.test_recover import begin

LATER = NOW + timedelta(minutes=1)


@asynccontextmanager
async def somebody_in_the_way(url: str, statement: str, *keys: UUID) -> AsyncIterator[None]:
    """Another transaction that locks a row, and is rolled back."""
    conn: Any = await asyncpg.connect(url)
    try:
        transaction = conn.transaction()
        await transaction.start()
        await conn.execute(statement, *keys)
        yield
        await transaction.rollback()
    finally:
        await conn.close()


async def until_waiting(stage: Stage, wanted: int, *work: "asyncio.Task[Any]") -> None:
    """Wait until this many statements wait for a lock, or some of the work is done."""
    async with asyncio.timeout(PATIENCE), stage.db.connection() as conn:
        while not any(task.done() for task in work):
            waiting = await conn.fetchval(
                """SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'"""
            )
            if waiting >= wanted:
                return
            await asyncio.sleep(0.01)


def failed(hook: UUID, event: UUID) -> AttemptRecord:
    state = DeliveryState.PENDING
    return AttemptRecord(hook, event, 1, NOW, 5.0, 500, None, "http://127.0.0.1/", "{}", None, None, state, LATER)


async def delete_meanwhile(url: str, stage: Stage, hook: UUID, event: UUID, work: Awaitable[Any], held: str) -> None:
    """Delete the endpoint while the work waits for a row that another transaction has locked."""
    async with somebody_in_the_way(url, held, stage.channel_id, hook, event):
        writing: asyncio.Task[Any] = asyncio.ensure_future(work)
        await until_waiting(stage, 1, writing)
        deleting = asyncio.create_task(delete_endpoint(stage.db, stage.channel_id, hook))
        await until_waiting(stage, 2, writing, deleting)
        assert not writing.done()
    await writing
    assert await deleting


INSERTED = "INSERT INTO delivery_retries (channel_id, endpoint_id, event_id, next_at) VALUES ($1, $2, $3, now())"
LOCKED = """SELECT 1 FROM deliveries WHERE channel_id = $1 AND endpoint_id = $2 AND event_id = $3 FOR UPDATE"""


async def test_an_attempt_that_fails_meanwhile_leaves_no_retry(stage: Stage, common_url: str) -> None:
    await stage.take_over()
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    (event,) = await delivery_rows.add_events(stage.db, stage.channel_id, 1)
    await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, [event], PENDING, attempts=0)
    work = record_attempts(stage.db, stage.lease, [failed(hook, event)], NOW)
    await delete_meanwhile(common_url, stage, hook, event, work, INSERTED)
    assert await stage.rows("delivery_retries") == []


async def test_a_retry_that_is_requested_meanwhile_leaves_none(stage: Stage, common_url: str) -> None:
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    (event,) = await delivery_rows.add_events(stage.db, stage.channel_id, 1)
    await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, [event], EXHAUSTED)
    work = retry_deliveries(stage.db, stage.channel_id, [(hook, event)], check_retry, NOW)
    await delete_meanwhile(common_url, stage, hook, event, work, LOCKED)
    assert await stage.rows("delivery_retries") == []


async def test_a_recovery_meanwhile_leaves_none(stage: Stage, common_url: str) -> None:
    await stage.take_over()
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    (event,) = await delivery_rows.add_events(stage.db, stage.channel_id, 1)
    await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, [event], EXHAUSTED)
    recovery = await begin(stage, hook)
    work = recover_next(stage.db, stage.lease, recovery.id, NOW)
    await delete_meanwhile(common_url, stage, hook, event, work, LOCKED)
    assert await stage.rows("delivery_retries") == []


@pytest.mark.parametrize("ordered", [False, True])
async def test_an_attempt_after_the_deletion_is_logged_and_not_retried(stage: Stage, ordered: bool) -> None:
    await stage.take_over()
    gone = await delivery_rows.add_endpoint(stage.db, stage.channel_id, ordered=ordered)
    left = await delivery_rows.add_endpoint(stage.db, stage.channel_id, ordered=ordered)
    events = await delivery_rows.add_events(stage.db, stage.channel_id, 2, conversation_id=UUID(int=5))
    for hook in (gone, left):
        await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, events, PENDING, attempts=0)
    assert await delete_endpoint(stage.db, stage.channel_id, gone)
    notes: list[DeliveryRecord] = [failed(hook, events[0]) for hook in (gone, left)]
    if ordered:
        notes += [OrderedWait(hook, events[1], UUID(int=5)) for hook in (gone, left)]
    await record_attempts(stage.db, stage.lease, notes, NOW)
    assert {row["endpoint_id"] for row in await stage.rows("delivery_retries")} == {left}
    assert {row["endpoint_id"] for row in await stage.rows("delivery_attempts")} == {gone, left}


async def test_retries_are_deleted_with_their_endpoint_and_those_of_others_stay(stage: Stage) -> None:
    hooks = [await delivery_rows.add_endpoint(stage.db, stage.channel_id) for _ in range(2)]
    (event,) = await delivery_rows.add_events(stage.db, stage.channel_id, 1)
    for hook in hooks:
        await delivery_rows.add_retry(stage.db, stage.channel_id, hook, event, LATER)
    assert await delete_endpoint(stage.db, stage.channel_id, hooks[0])
    assert not await delete_endpoint(stage.db, stage.channel_id, hooks[0])
    assert {row["endpoint_id"] for row in await stage.rows("delivery_retries")} == {hooks[1]}
