"""Requested retries: due now, their schedule starts over, and the order is kept."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from gatepost.model import ids
from gatepost.model.delivery import DELIVERED, DROPPED, EXHAUSTED, PENDING, show_delivery_id
from gatepost.services.deliveries import check_retry, retry_many
from gatepost.store.deliveries.record import OrphanedRetry, RetryRow, record_attempts
from gatepost.store.deliveries.retry import ATTEMPTS_MAX, Key, RequestedRetry, is_infinite, requeue, retry_deliveries
from gatepost.store.partitions import make_partitions
from gatepost.store.pool import Database
from tests.outbound.stage import NOW, Stage
from tests.patience import patience
from tests.store import delivery_rows
from tests.store.query_plans import Plan, explained_database, fill

LATER = NOW + timedelta(hours=5)


async def retry(stage: Stage, *keys: Key) -> dict[Key, str | None]:
    """Request retries; return the error code of each."""
    done = await retry_deliveries(stage.db, stage.channel_id, keys, check_retry, NOW)
    return {key: refusal.code if refusal else None for key, refusal in done.items()}


async def one_of(stage: Stage, table: str) -> Any:
    (row,) = await stage.rows(table)
    return row


@pytest.mark.parametrize("state", [DELIVERED, EXHAUSTED, DROPPED])
@pytest.mark.parametrize("ordered", [False, True])
async def test_a_settled_delivery_starts_over(stage: Stage, state: int, ordered: bool) -> None:
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id, ordered=ordered)
    (event,) = await delivery_rows.add_events(stage.db, stage.channel_id, 1, conversation_id=UUID(int=5))
    await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, [event], state, attempts=10)
    await delivery_rows.change(
        stage.db, "UPDATE channel_heads SET work_at = NULL WHERE channel_id = $1", stage.channel_id
    )
    assert await retry(stage, (hook, event)) == {(hook, event): None}
    row = await one_of(stage, "deliveries")
    assert (row["state"], row["attempts"], row["begun"], row["next_at"], row["settled_at"]) == (0, 10, 10, NOW, None)
    due = await one_of(stage, "delivery_retries")
    assert (due["event_id"], due["next_at"], due["conversation_id"]) == (event, NOW, UUID(int=5) if ordered else None)
    assert (await one_of(stage, "channel_heads"))["work_at"] == NOW
    await retry(stage, (hook, event))
    assert dict(await one_of(stage, "delivery_retries")) == dict(due)


async def test_events_of_the_whole_channel_have_their_own_order(stage: Stage) -> None:
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id, ordered=True)
    (event,) = await delivery_rows.add_events(stage.db, stage.channel_id, 1)
    await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, [event], EXHAUSTED)
    await retry(stage, (hook, event))
    assert (await one_of(stage, "delivery_retries"))["conversation_id"] == ids.ZERO


async def test_a_scheduled_retry_is_due_now(stage: Stage) -> None:
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    (event,) = await delivery_rows.add_events(stage.db, stage.channel_id, 1)
    await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, [event], PENDING, attempts=3)
    await delivery_rows.add_retry(stage.db, stage.channel_id, hook, event, LATER)
    assert await retry(stage, (hook, event)) == {(hook, event): None}
    assert (await one_of(stage, "delivery_retries"))["next_at"] == NOW
    assert (await one_of(stage, "deliveries"))["begun"] == 3


async def test_a_retry_that_is_gone_locks_no_row_of_another_channel(stage: Stage) -> None:
    await stage.take_over()
    hook, event, following = uuid4(), ids.new_id(NOW), UUID(int=stage.channel_id.int + 1)
    await delivery_rows.add_retry(stage.db, following, hook, event, LATER)  # the next one in the order of keys
    async with stage.db.transaction() as conn:
        await conn.execute("SELECT 1 FROM delivery_retries WHERE channel_id = $1 FOR UPDATE", following)
        async with patience(lambda: "no wait for the lock on the other channel's row"):
            await record_attempts(stage.db, stage.lease, [OrphanedRetry(hook, event)], NOW)
    assert list(await delivery_rows.retries(stage.db, following)) == [event]


async def test_a_delivery_without_an_attempt_is_due_already(stage: Stage) -> None:
    """A retry would deliver it twice."""
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    (event,) = await delivery_rows.add_events(stage.db, stage.channel_id, 1)
    await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, [event], PENDING, attempts=0)
    assert await retry(stage, (hook, event)) == {(hook, event): None}
    assert await stage.rows("delivery_retries") == []
    assert (await one_of(stage, "deliveries"))["next_at"] is None


async def test_a_deferred_delivery_keeps_its_place(stage: Stage) -> None:
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id, ordered=True)
    line = UUID(int=5)
    events = await delivery_rows.add_events(stage.db, stage.channel_id, 3, conversation_id=line)
    others = await delivery_rows.add_events(stage.db, stage.channel_id, 1, conversation_id=UUID(int=6))
    await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, [*events, *others], PENDING, attempts=0)
    for event, at in zip(events, [LATER, delivery_rows.INFINITY, delivery_rows.INFINITY], strict=True):
        await delivery_rows.add_retry(stage.db, stage.channel_id, hook, event, at, line)
    await delivery_rows.add_retry(stage.db, stage.channel_id, hook, others[0], LATER, UUID(int=6))
    assert await retry(stage, (hook, events[2])) == {(hook, events[2]): None}
    waiting = await delivery_rows.retries(stage.db, stage.channel_id)
    assert waiting[events[0]]["next_at"] == NOW
    assert is_infinite(waiting[events[1]]["next_at"])
    assert is_infinite(waiting[events[2]]["next_at"])
    assert waiting[others[0]]["next_at"] == LATER


async def test_a_paused_endpoint_is_probed_at_once(stage: Stage) -> None:
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id, state="paused")
    other = await delivery_rows.add_endpoint(stage.db, stage.channel_id, state="paused")
    await delivery_rows.change(stage.db, "UPDATE endpoints SET probe_at = $1", LATER)
    (event,) = await delivery_rows.add_events(stage.db, stage.channel_id, 1)
    await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, [event], EXHAUSTED)
    await retry(stage, (hook, event))
    assert {row["id"]: row["probe_at"] for row in await stage.rows("endpoints")} == {hook: NOW, other: LATER}


async def test_what_cannot_be_retried(stage: Stage) -> None:
    good = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    disabled = await delivery_rows.add_endpoint(stage.db, stage.channel_id, state="disabled")
    deleted = uuid4()
    event, gone, never = await delivery_rows.add_events(stage.db, stage.channel_id, 3)
    for hook in (good, disabled, deleted):
        await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, [event, gone], EXHAUSTED)
    await delivery_rows.change(stage.db, "DELETE FROM events WHERE id = $1", gone)
    verdicts = {
        (good, event): None,
        (disabled, event): "wrong_state",
        (deleted, event): "wrong_state",
        (good, gone): "not_found",
        (good, never): "not_found",
        (uuid4(), event): "not_found",
    }
    assert await retry(stage, *verdicts) == verdicts
    assert [row["endpoint_id"] for row in await stage.rows("delivery_retries")] == [good]
    assert len(await stage.rows("deliveries", "AND state = 2")) == 5
    stranger = await retry_deliveries(stage.db, uuid4(), [(good, event)], check_retry, NOW)
    assert [refusal and refusal.code for refusal in stranger.values()] == ["not_found"]


@pytest.mark.parametrize(("attempts", "code"), [(ATTEMPTS_MAX - 1, None), (ATTEMPTS_MAX, "wrong_state")])
async def test_the_number_of_attempts_is_limited(stage: Stage, attempts: int, code: str | None) -> None:
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    (event,) = await delivery_rows.add_events(stage.db, stage.channel_id, 1)
    await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, [event], EXHAUSTED)
    await delivery_rows.change(stage.db, "UPDATE deliveries SET attempts = $2 WHERE event_id = $1", event, attempts)
    assert await retry(stage, (hook, event)) == {(hook, event): code}
    wanted = [
        RequestedRetry(RetryRow(hook, event, None, NOW), EXHAUSTED if code else PENDING)
    ]  # as a recovery asks for it
    async with stage.db.transaction() as conn:
        assert await requeue(conn, stage.channel_id, wanted, NOW) == (0 if code else 1)
    assert len(await stage.rows("delivery_retries")) == (0 if code else 1)


async def test_invalid_ids(stage: Stage) -> None:
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    (event,) = await delivery_rows.add_events(stage.db, stage.channel_id, 1)
    await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, [event], EXHAUSTED)
    good = show_delivery_id(hook, event)
    wrong = ["", "dl_", good[3:], good + "0", good[:-1], good.upper(), "dl_" + "g" * 64, "we_" + good[3:]]
    done = await retry_many(stage.db, stage.channel_id, [good, good, *wrong], NOW)
    assert {text for text, refusal in done.items() if refusal is None} == {good}
    assert {refusal.code for refusal in done.values() if refusal} == {"not_found"}
    assert len(await stage.rows("delivery_retries")) == 1


# -- how much is read -------------------------------------------------------------------------------------------------


@pytest.fixture
async def explained(database_url: str) -> AsyncIterator[tuple[Database, list[Plan]]]:
    """Give a database with ten weeks of deliveries, and no statistics of them."""
    plain = await Database.connect(database_url, connections=1)
    await make_partitions(plain, NOW - timedelta(days=70), 7)
    await make_partitions(plain, NOW, 7)
    await plain.close()
    start = NOW - timedelta(days=70)
    await fill(database_url, UUID(int=1), UUID(int=7), count=8_000, start=start, end=NOW, salt="past")
    async with explained_database(database_url) as found:
        yield found


async def test_a_hundred_are_found_by_their_keys(explained: tuple[Database, list[Plan]]) -> None:
    db, plans = explained
    async with db.connection() as conn:
        rows = await conn.fetch("SELECT endpoint_id, event_id FROM deliveries ORDER BY event_id DESC LIMIT 100")
    await delivery_rows.change(
        db,
        """INSERT INTO endpoints (channel_id, id, url, events, headers, secret, state, cursor, created_at, updated_at)
           SELECT id, $2, '', '{}', '{}', '', 'active', $3, $4, $4 FROM channels WHERE id = $1""",
        UUID(int=1),
        UUID(int=7),
        ids.ZERO,
        NOW,
    )
    plans.clear()
    keys = [(row["endpoint_id"], row["event_id"]) for row in rows]
    done = await retry_deliveries(db, UUID(int=1), keys, lambda asked: None if asked else AssertionError(), NOW)  # type: ignore[arg-type,return-value]
    assert set(done.values()) == {None}
    assert plans
    for plan in plans:
        assert plan.seq_scans() == [], plan.query
        assert plan.rows_read + plan.rows_filtered <= 450, plan.query
        assert len(plan.touched("deliveries")) <= 2, plan.query
