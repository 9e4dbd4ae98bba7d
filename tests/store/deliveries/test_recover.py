"""Recoveries: every event that was not delivered is recovered once, through changes of owner and kills."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from gatepost.channel_task import ChannelContext
from gatepost.grouped_lookup import GroupedLookup
from gatepost.model import ids
from gatepost.model.delivery import DELIVERED, DROPPED, EXHAUSTED, MISSING, PENDING
from gatepost.model.errors import Conflict, Invalid
from gatepost.services.recoveries import RecoverRequest, RecoveryTask, progress, read_recovery_filter, recover
from gatepost.store.channel_head import Lease, StaleOwner
from gatepost.store.deliveries.queue import read_retries
from gatepost.store.deliveries.recover import (
    CHUNK,
    RecoveryFilter,
    RecoveryRow,
    add_recovery,
    delete_old_recoveries,
    get_recovery,
    list_recoveries,
    open_recoveries,
    recover_next,
)
from gatepost.store.deliveries.retry import is_infinite
from gatepost.store.endpoints import Endpoint, get_endpoint
from gatepost.store.idempotency import NEVER
from gatepost.store.leases import claim_channel, release_channel
from gatepost.store.partitions import make_partitions
from gatepost.store.pool import Database
from tests.outbound.stage import NOW, Stage, make_stage
from tests.patience import PATIENCE
from tests.store import delivery_rows
from tests.store.delivery_rows import pending_of
from tests.store.query_plans import explained_database, fill

LONG_AGO = ids.floor_id(NOW - timedelta(days=1))
END = UUID(int=(1 << 128) - 1)


async def begin(stage: Stage, hook: UUID, **option: Any) -> RecoveryRow:
    asked = RecoveryFilter(**{"first_id": LONG_AGO, "end_id": END, "types": None, "states": None} | option)
    return await add_recovery(stage.db, stage.channel_id, hook, asked, NEVER, NOW)


async def own(stage: Stage) -> Lease:
    """Claim the channel for a new owner."""
    if hasattr(stage, "lease"):
        await release_channel(stage.db, stage.lease, seen=None, work_at=None)
    lease = await claim_channel(stage.db, stage.channel_id, uuid4(), 3600)
    assert lease
    stage.lease = lease
    return lease


def recovering(stage: Stage, lease: Lease) -> RecoveryTask:
    find = GroupedLookup(partial(open_recoveries, stage.db)).find
    return RecoveryTask(ChannelContext(stage.db, stage.clock, lease, stage.ref, lambda: True), find)


async def work_off(stage: Stage, recovery: RecoveryRow) -> RecoveryRow:
    lease = await own(stage)
    while await recover_next(stage.db, lease, recovery.id, NOW) == "more":
        pass
    return await now_of(stage, recovery)


async def now_of(stage: Stage, recovery: RecoveryRow) -> RecoveryRow:
    found = await get_recovery(stage.db, stage.channel_id, recovery.endpoint_id, recovery.id)
    assert found is not None
    return found


async def test_only_what_was_not_delivered_is_recovered(stage: Stage) -> None:
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id, events=["message_notification"])
    events = await delivery_rows.add_events(stage.db, stage.channel_id, 5)
    await delivery_rows.add_events(stage.db, stage.channel_id, 1, type_="order_notifications")
    states = [PENDING, DELIVERED, EXHAUSTED, DROPPED]
    await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, events[:4], states, attempts=4)
    done = await work_off(stage, await begin(stage, hook))
    waiting = await delivery_rows.retries(stage.db, stage.channel_id)
    assert list(waiting) == events[2:]  # in the order in which they happened
    assert all(row["next_at"] <= NOW and row["conversation_id"] is None for row in waiting.values())
    rows = await delivery_rows.deliveries(stage.db, stage.channel_id)
    assert [(rows[event]["state"], rows[event]["attempts"], rows[event]["begun"]) for event in events] == [
        (PENDING, 4, 0),
        (DELIVERED, 4, 0),
        (PENDING, 4, 4),
        (PENDING, 4, 4),
        (PENDING, 0, 0),
    ]
    assert rows[events[4]]["next_at"] == NOW  # so that it is not taken for one without an attempt
    assert (done.recovered, done.ended_at, progress(done)) == (3, NOW, 1.0)


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ({"states": (EXHAUSTED,)}, {1, 5}),
        ({"states": (MISSING,)}, {3, 7}),
        ({"states": (DELIVERED, DROPPED)}, {0, 2, 4, 6}),
        ({"types": ("ack_notification",)}, {5, 6, 7}),
        ({"types": ("order_notifications",)}, set()),
    ],
)
async def test_filters(stage: Stage, option: Any, expected: set[int]) -> None:
    hook = await delivery_rows.add_endpoint(
        stage.db, stage.channel_id, events=["message_notification", "ack_notification"]
    )
    events = await delivery_rows.add_events(stage.db, stage.channel_id, 4)
    events += await delivery_rows.add_events(
        stage.db, stage.channel_id, 4, type_="ack_notification", start=NOW - timedelta(hours=1)
    )
    await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, [events[0], events[4]], DELIVERED)
    await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, [events[1], events[5]], EXHAUSTED)
    await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, [events[2], events[6]], DROPPED)
    await work_off(stage, await begin(stage, hook, **option))
    assert set(await delivery_rows.retries(stage.db, stage.channel_id)) == {events[i] for i in expected}


async def test_pending_retries_are_due_now(stage: Stage) -> None:
    """Those that are due already, deferred, or without an attempt are left unchanged."""
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id, ordered=True)
    late, due, behind, fresh = events = await delivery_rows.add_events(
        stage.db, stage.channel_id, 4, conversation_id=UUID(int=3)
    )
    await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, events[:3], PENDING, attempts=4)
    await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, [fresh], PENDING, attempts=0)
    before = NOW - timedelta(minutes=1)
    times = {late: NOW + timedelta(hours=5), due: before, behind: delivery_rows.INFINITY}
    for event, at in times.items():
        await delivery_rows.add_retry(stage.db, stage.channel_id, hook, event, at, UUID(int=3))
    done = await work_off(stage, await begin(stage, hook))
    assert done.recovered == 1
    waiting = await delivery_rows.retries(stage.db, stage.channel_id)
    assert waiting.keys() == times.keys()
    assert waiting[late]["next_at"] <= NOW
    assert (waiting[due]["next_at"], is_infinite(waiting[behind]["next_at"])) == (before, True)
    rows = await delivery_rows.deliveries(stage.db, stage.channel_id)
    assert [(rows[event]["state"], rows[event]["begun"]) for event in events] == [(PENDING, 4), *[(PENDING, 0)] * 3]
    assert (await work_off(stage, await begin(stage, hook, states=(PENDING,)))).recovered == 0


async def test_retries_due_later_do_not_delay_a_recovery(stage: Stage) -> None:
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    events = await delivery_rows.add_events(stage.db, stage.channel_id, 4)
    await delivery_rows.add_deliveries(
        stage.db, stage.channel_id, hook, events, [PENDING, PENDING, EXHAUSTED, EXHAUSTED]
    )
    for event in events[:2]:
        await delivery_rows.add_retry(stage.db, stage.channel_id, hook, event, NOW + timedelta(hours=5))
    recovery, lease = await begin(stage, hook, states=(EXHAUSTED,)), await own(stage)
    assert await recover_next(stage.db, lease, recovery.id, NOW, waiting_max=2) == "done"
    again = await begin(stage, hook)
    assert await recover_next(stage.db, lease, again.id, NOW, waiting_max=2) == "held"


async def test_a_recovery_probes_a_paused_endpoint_at_once(stage: Stage) -> None:
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id, state="paused")
    await delivery_rows.change(
        stage.db, "UPDATE endpoints SET probe_at = $2 WHERE id = $1", hook, NOW + timedelta(hours=1)
    )
    await begin(stage, hook)
    assert (await endpoint_of(stage, hook)).health.probe_at == NOW


async def test_since_and_until(stage: Stage) -> None:
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    events = await delivery_rows.add_events(stage.db, stage.channel_id, 6)
    asked = await begin(stage, hook, first_id=events[1], end_id=events[4])
    later = await delivery_rows.add_events(stage.db, stage.channel_id, 1, start=NOW)
    assert (await work_off(stage, asked)).recovered == 3
    assert list(await delivery_rows.retries(stage.db, stage.channel_id)) == events[1:4]
    second = await begin(stage, hook)
    await delivery_rows.add_events(
        stage.db, stage.channel_id, 1, start=NOW + timedelta(seconds=1)
    )  # not asked for any more
    await work_off(stage, second)
    assert set(await delivery_rows.retries(stage.db, stage.channel_id)) == {*events, *later}


async def test_what_is_recovered_is_delivered_once(stage: Stage) -> None:
    """An endpoint that was just enabled reads on from its cursor: it must not find there what it gets as a retry."""
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    events = await delivery_rows.add_events(stage.db, stage.channel_id, 3)
    await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, events[2:], PENDING, attempts=0)
    await work_off(stage, await begin(stage, hook))
    pending = await pending_of(stage.db, stage.channel_id, hook, ids.ZERO, 100)
    again = await read_retries(stage.db, stage.channel_id, hook, NOW, [], 100)
    assert [due.event_id for due in pending] == events[2:]
    assert [due.event_id for due in again.due] == events[:2]


async def test_an_ordered_endpoint_gets_each_conversation_in_order(stage: Stage) -> None:
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id, ordered=True)
    (mine,) = await delivery_rows.add_events(stage.db, stage.channel_id, 1, conversation_id=UUID(int=5))
    (whole,) = await delivery_rows.add_events(stage.db, stage.channel_id, 1)
    await work_off(stage, await begin(stage, hook))
    waiting = await delivery_rows.retries(stage.db, stage.channel_id)
    assert {event: row["conversation_id"] for event, row in waiting.items()} == {mine: UUID(int=5), whole: ids.ZERO}


async def test_five_thousand_events_are_recovered_once_under_kills(stage: Stage) -> None:
    """Each chunk has another owner, and the previous one tries to continue."""
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    events = await delivery_rows.add_events(stage.db, stage.channel_id, 5_000, step=timedelta(milliseconds=1))
    await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, events[::3], EXHAUSTED, attempts=10)
    recovery = await begin(stage, hook)
    arrived: Counter[UUID] = Counter()
    pieces = 0
    while await open_recoveries(stage.db, [stage.channel_id]):
        before = getattr(stage, "lease", None)
        task = recovering(stage, await own(stage))
        await task.step()
        if before is not None:
            with pytest.raises(StaleOwner):
                await recover_next(stage.db, before, recovery.id, NOW)
        arrived.update(await delivery_rows.deliver_all(stage.db, stage.channel_id))
        pieces += 1
    assert pieces == 5_000 // CHUNK + 1
    assert arrived == Counter(events)
    assert (await now_of(stage, recovery)).recovered == 5_000


async def test_a_chunk_that_fails_changes_nothing(stage: Stage) -> None:
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    await delivery_rows.add_events(stage.db, stage.channel_id, 10)
    recovery = await begin(stage, hook)
    lease = await own(stage)
    await delivery_rows.change(
        stage.db,
        f"ALTER TABLE recoveries ADD CONSTRAINT broken CHECK (channel_id <> '{stage.channel_id}' OR recovered = 0)",
    )
    try:
        with pytest.raises(asyncpg.PostgresError):
            await recover_next(stage.db, lease, recovery.id, NOW)
    finally:
        await delivery_rows.change(stage.db, "ALTER TABLE recoveries DROP CONSTRAINT broken")
    assert await stage.rows("deliveries") == await stage.rows("delivery_retries") == []
    assert await recover_next(stage.db, lease, recovery.id, NOW) == "done"
    assert len(await stage.rows("delivery_retries")) == 10


@pytest.mark.parametrize(("waiting", "step"), [(9, "done"), (10, "held")])
async def test_it_waits_while_too_many_are_due(stage: Stage, waiting: int, step: str) -> None:
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    events = await delivery_rows.add_events(stage.db, stage.channel_id, 20)
    for event in events[:waiting]:
        await delivery_rows.add_retry(stage.db, stage.channel_id, hook, event, NOW)
    await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, events[:waiting], PENDING)
    recovery = await begin(stage, hook)
    assert await recover_next(stage.db, await own(stage), recovery.id, NOW, waiting_max=10) == step
    assert len(await stage.rows("delivery_retries")) == (waiting if step == "held" else 20)


@pytest.mark.parametrize(("count", "first"), [(CHUNK - 1, "done"), (CHUNK, "more"), (CHUNK + 1, "more")])
async def test_chunks(stage: Stage, count: int, first: str) -> None:
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    await delivery_rows.add_events(stage.db, stage.channel_id, count, step=timedelta(milliseconds=1))
    recovery, lease = await begin(stage, hook), await own(stage)
    assert await recover_next(stage.db, lease, recovery.id, NOW) == first
    part = await now_of(stage, recovery)
    assert part.recovered == min(count, CHUNK)
    assert 0 < progress(part) <= 1
    assert (part.ended_at is None) == (first == "more")
    assert await recover_next(stage.db, lease, recovery.id, NOW) == "done"
    assert (await now_of(stage, recovery)).recovered == count


async def test_it_waits_for_a_disabled_endpoint_and_ends_with_a_deleted_one(stage: Stage) -> None:
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    await delivery_rows.add_events(stage.db, stage.channel_id, 3)
    recovery, lease = await begin(stage, hook), await own(stage)
    await delivery_rows.change(stage.db, "UPDATE endpoints SET state = 'disabled' WHERE id = $1", hook)
    assert await recover_next(stage.db, lease, recovery.id, NOW) == "off"
    assert await open_recoveries(stage.db, [stage.channel_id]) == {stage.channel_id: [recovery.id]}
    await delivery_rows.change(stage.db, "DELETE FROM endpoints WHERE id = $1", hook)
    assert await recover_next(stage.db, lease, recovery.id, NOW) == "done"
    assert await open_recoveries(stage.db, [stage.channel_id]) == {}
    assert await stage.rows("delivery_retries") == []


async def test_one_at_a_time(stage: Stage) -> None:
    hook, other = [await delivery_rows.add_endpoint(stage.db, stage.channel_id) for _ in range(2)]
    first = await begin(stage, hook)
    await begin(stage, other)
    with pytest.raises(Conflict, match=ids.format_id("rec", first.id)):
        await begin(stage, hook)
    await work_off(stage, first)
    second = await begin(stage, hook)
    listed = await list_recoveries(stage.db, stage.channel_id, hook, None, 10)
    assert {one.id for one in listed} == {first.id, second.id}
    assert listed == sorted(listed, key=lambda one: one.id, reverse=True)
    assert await list_recoveries(stage.db, stage.channel_id, hook, listed[0].id, 10) == listed[1:]
    assert await list_recoveries(stage.db, uuid4(), hook, None, 10) == []
    assert await get_recovery(stage.db, stage.channel_id, other, first.id) is None


async def test_a_request_wakes_the_channel(stage: Stage) -> None:
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    await delivery_rows.change(
        stage.db, "UPDATE channel_heads SET work_at = NULL WHERE channel_id = $1", stage.channel_id
    )
    await begin(stage, hook)
    (head,) = await stage.rows("channel_heads")
    assert head["work_at"] == NOW


async def test_old_recoveries_are_deleted(stage: Stage) -> None:
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    done, running = await work_off(stage, await begin(stage, hook)), await begin(stage, hook)
    await delete_old_recoveries(stage.db, NOW + timedelta(days=30), 30)
    assert len(await stage.rows("recoveries")) == 2
    await delete_old_recoveries(stage.db, NOW + timedelta(days=30, seconds=1), 30)
    assert [row["id"] for row in await stage.rows("recoveries")] == [running.id] != [done.id]


# -- the wish ---------------------------------------------------------------------------------------------------------


async def endpoint_of(stage: Stage, hook: UUID) -> Endpoint:
    # What the tests write as an endpoint is whole but for its secret.
    found = await get_endpoint(stage.db, stage.channel_id, hook)
    assert found is not None
    return found


async def test_requests_are_checked(stage: Stage) -> None:
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id, events=["message_notification"])
    endpoint = await endpoint_of(stage, hook)
    option = read_recovery_filter(
        RecoverRequest("2026-11-14", statuses=["missing", "exhausted", "missing"]), endpoint, NOW
    )
    assert option == RecoveryFilter(ids.floor_id(NOW.replace(day=14, hour=0)), END, None, (MISSING, EXHAUSTED))
    until = read_recovery_filter(
        RecoverRequest("2026-11-14T10:00:00Z", "2027-01-01", ["message_notification"]), endpoint, NOW
    )
    assert (until.end_id, until.types) == (ids.floor_id(NOW), ("message_notification",))
    for request, field in (
        (RecoverRequest("yesterday"), "since"),
        (RecoverRequest("2026-11-15T10:00:00Z"), "since"),
        (RecoverRequest("2026-11-14", "2026-11-14"), "until"),
        (RecoverRequest("2026-11-14", "soon"), "until"),
        (RecoverRequest("2026-11-14", types=[]), "types"),
        (RecoverRequest("2026-11-14", types=["ack_notification"]), "types[0]"),
        (RecoverRequest("2026-11-14", types=["message_notification", "x"]), "types[1]"),
        (RecoverRequest("2026-11-14", statuses=[]), "statuses"),
        (RecoverRequest("2026-11-14", statuses=["canceled"]), "statuses"),
    ):
        with pytest.raises(Invalid) as caught:
            read_recovery_filter(request, endpoint, NOW)
        assert [problem.field for problem in caught.value.fields] == [field], request


async def test_a_disabled_endpoint_is_to_be_enabled_first(stage: Stage) -> None:
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id, state="disabled")
    with pytest.raises(Conflict, match="Enable it first"):
        await recover(stage.db, await endpoint_of(stage, hook), RecoverRequest("2026-11-14"), NEVER, NOW)


# -- the duty ---------------------------------------------------------------------------------------------------------


async def test_the_task_carries_out_recoveries_and_becomes_idle(stage: Stage) -> None:
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    events = await delivery_rows.add_events(stage.db, stage.channel_id, CHUNK + 1, step=timedelta(milliseconds=1))
    task = recovering(stage, await own(stage))
    running = asyncio.create_task(task.run())
    async with asyncio.timeout(PATIENCE):
        while not task.idle:
            await asyncio.sleep(0.01)
        assert task.next_work is None
        recovery = await begin(stage, hook)
        task.wake()
        while (await now_of(stage, recovery)).ended_at is None or not task.idle:
            await asyncio.sleep(0.01)
    assert stage.commits[-2:] == [(stage.channel_id, False)] * 2
    assert set(await delivery_rows.retries(stage.db, stage.channel_id)) == set(events)
    await task.stop()
    await asyncio.wait_for(running, PATIENCE)


async def test_the_task_ends_with_its_lease(stage: Stage) -> None:
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    await delivery_rows.add_events(stage.db, stage.channel_id, 1)
    await begin(stage, hook)
    old = await own(stage)
    await own(stage)
    await asyncio.wait_for(recovering(stage, old).run(), PATIENCE)
    assert await stage.rows("delivery_retries") == []


# -- how much is read -------------------------------------------------------------------------------------------------


@pytest.fixture(params=["fresh", "analyzed"])
async def busy(request: pytest.FixtureRequest, database_url: str) -> AsyncIterator[tuple[Stage, list[Any]]]:
    """Give a channel with ten weeks behind it, and the plans of what is done with it."""
    plain = await Database.connect(database_url, connections=1)
    await make_partitions(plain, NOW - timedelta(days=70), 7)
    await make_partitions(plain, NOW, 7)
    stage = await make_stage(plain)
    start = NOW - timedelta(days=70)
    await fill(database_url, stage.channel_id, UUID(int=7), count=8_000, start=start, end=NOW, salt="past")
    if request.param == "analyzed":
        await delivery_rows.change(plain, "ANALYZE")
    async with explained_database(database_url) as (db, plans):
        stage.db = db
        yield stage, plans
    await plain.close()


async def test_a_chunk_reads_only_its_rows(busy: tuple[Stage, list[Any]]) -> None:
    stage, plans = busy
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    await delivery_rows.add_events(stage.db, stage.channel_id, 1)
    recovery = await begin(stage, hook, first_id=ids.floor_id(NOW - timedelta(days=60)))
    lease = await own(stage)
    plans.clear()
    assert await recover_next(stage.db, lease, recovery.id, NOW, chunk=100) == "more"
    assert await open_recoveries(stage.db, [stage.channel_id])
    assert plans
    for plan in plans:
        assert plan.seq_scans() == [], plan.query
        assert plan.rows_read + plan.rows_filtered <= 220, plan.query
        assert len(plan.touched("events")) <= 2, plan.query
