"""First attempts that succeeded: written like any others, and those of several channels in one commit."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest

from gatepost.model.delivery import DELIVERED, PENDING
from gatepost.store.channel_head import Lease, StaleOwner
from gatepost.store.deliveries.record import (
    AttemptRecord,
    OrderedWait,
    record_attempts,
    record_generally,
    record_together,
)
from gatepost.store.pool import Database
from gatepost.webhooks.delivery_context import DeliveryContext
from tests.outbound.stage import NOW, Stage, make_stage
from tests.patience import PATIENCE
from tests.store import delivery_rows
from tests.store.test_deleted_endpoints import somebody_in_the_way, until_waiting

URL = "http://127.0.0.1/\x1e?a=ü"
HEADERS = '{"user-agent":"Gatepost","X-Odd":"\\u001e, \\u0000 ü"}'


async def due(stage: Stage, count: int) -> tuple[UUID, list[UUID]]:
    """Make an endpoint with deliveries that are due; return it and their events."""
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    events = await delivery_rows.add_events(stage.db, stage.channel_id, count)
    await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, events, PENDING, attempts=0)
    return hook, events


def success(hook: UUID, event: UUID, **fields: Any) -> AttemptRecord:
    at = NOW + timedelta(microseconds=123456)
    made = AttemptRecord(hook, event, 1, at, 12.3456789, 200, None, URL, HEADERS, None, None, DELIVERED, None)
    return msgspec.structs.replace(made, **fields)


def odd_successes(hook: UUID, events: list[UUID]) -> list[AttemptRecord]:
    """Return attempts with all values that a success may have."""
    first, second, third, fourth = events
    return [
        success(hook, fourth, status=299, latency_ms=0.0),
        success(hook, first, batch_first=first, batch=[first, second], answer_body=b"\x00\x1e\xff" * 300),
        success(hook, second, batch_first=first, request_headers="{}", at=NOW),
        success(hook, third, answer_headers='[["x","\\u001e"]]', answer_body=b"ok", order_key=UUID(int=7)),
    ]


async def test_they_are_written_like_any_other_attempt(stage: Stage) -> None:
    hook, events = await due(stage, 4)
    again = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    await delivery_rows.add_deliveries(stage.db, stage.channel_id, again, events, PENDING, attempts=0)
    await stage.take_over()
    await record_attempts(stage.db, stage.lease, odd_successes(hook, events), NOW)
    await record_generally(stage.db, stage.lease, odd_successes(again, events), NOW)

    async def rows(table: str, endpoint: UUID) -> list[dict[str, Any]]:
        found = [row for row in await stage.rows(table) if row["endpoint_id"] == endpoint]
        plain = [{name: value for name, value in row.items() if name != "endpoint_id"} for row in found]
        return sorted(plain, key=lambda row: row["event_id"])

    for table in ("delivery_attempts", "deliveries"):
        assert len(await rows(table, hook)) == 4
        assert await rows(table, hook) == await rows(table, again)
    log = await rows("delivery_attempts", hook)
    assert {row["url"] for row in log} == {URL}
    assert log[0]["batch"] == events[:2]
    assert log[0]["answer_body"] == b"\x00\x1e\xff" * 300
    assert log[2]["answer_headers"] == '[["x","\\u001e"]]'


async def test_a_repeated_record_changes_nothing(stage: Stage) -> None:
    hook, events = await due(stage, 2)
    await stage.take_over()
    for later in (0, 60):
        await record_attempts(
            stage.db, stage.lease, [success(hook, event) for event in events], NOW + timedelta(seconds=later)
        )
    assert [row["settled_at"] for row in await stage.rows("deliveries")] == [NOW, NOW]
    assert len(await stage.rows("delivery_attempts")) == 2


async def three(db: Database) -> tuple[list[Stage], dict[Lease, list[AttemptRecord]]]:
    """Return three owned channels, and successes of two endpoints of each."""
    stages, records = [await make_stage(db) for _ in range(3)], {}
    for stage in stages:
        await stage.take_over()
        hooks = [await due(stage, 2) for _ in range(2)]
        records[stage.lease] = [success(hook, event) for hook, events in hooks for event in reversed(events)]
    return stages, records


async def states(stage: Stage) -> set[int]:
    return {row["state"] for row in await stage.rows("deliveries")}


async def test_several_channels_are_one_commit(db: Database) -> None:
    stages, records = await three(db)
    assert set(await record_together(db, records, NOW)) == set(records)
    channels = [stage.channel_id for stage in stages]
    commits = await db.fetchval(
        "SELECT count(DISTINCT xmin::text) FROM delivery_attempts WHERE channel_id = ANY ($1)", channels
    )
    assert commits == 1
    assert [await states(stage) for stage in stages] == [{DELIVERED}] * 3
    assert [len(await stage.rows("delivery_attempts")) for stage in stages] == [4] * 3


async def test_a_lost_lease_fails_its_own_channel_only(db: Database) -> None:
    stages, records = await three(db)
    stale = stages[1].lease
    await stages[1].take_over()
    context = DeliveryContext(db, stages[0].clock, None, 0.0)  # type: ignore[arg-type]  # nothing is posted
    results = await asyncio.gather(
        *(context.record(lease, some) for lease, some in records.items()), return_exceptions=True
    )
    assert [type(result) for result in results] == [type(None), StaleOwner, type(None)]
    assert stale not in await record_together(db, records, NOW)
    assert [await states(stage) for stage in stages] == [{DELIVERED}, {PENDING}, {DELIVERED}]
    assert await stages[1].rows("delivery_attempts") == []


async def test_a_channel_with_other_records_is_left_to_be_written_alone(db: Database) -> None:
    stages, records = await three(db)
    hook, (event, *_) = await due(stages[0], 2)
    records[stages[0].lease].append(OrderedWait(hook, event, UUID(int=5)))  # type: ignore[arg-type]
    assert set(await record_together(db, records, NOW)) == {stages[1].lease, stages[2].lease}
    assert await states(stages[0]) == {PENDING}
    assert await record_together(db, {stages[0].lease: records[stages[0].lease]}, NOW) == ()


async def test_no_batch_of_several_channels_waits_for_a_locked_head(db: Database, common_url: str) -> None:
    stages, records = await three(db)
    held = "SELECT FROM channel_heads WHERE channel_id = $1 FOR UPDATE"
    async with somebody_in_the_way(common_url, held, stages[2].channel_id), asyncio.timeout(PATIENCE):
        assert set(await record_together(db, records, NOW)) == {stages[0].lease, stages[1].lease}
        alone = asyncio.create_task(record_attempts(db, stages[2].lease, records[stages[2].lease], NOW))
        await until_waiting(stages[2], 1, alone)
        assert not alone.done()
    await alone
    assert await states(stages[2]) == {DELIVERED}


@pytest.mark.parametrize("change", [{"number": 2}, {"retried": True}, {"state": PENDING}, {"error": "It is away."}])
async def test_any_other_attempt_is_recorded_in_the_general_way(stage: Stage, change: dict[str, Any]) -> None:
    hook, (event,) = await due(stage, 1)
    await stage.take_over()
    records = {stage.lease: [success(hook, event, **change)]}
    assert await record_together(stage.db, records, NOW) == ()
    await record_attempts(stage.db, stage.lease, records[stage.lease], NOW)
    (row,) = await stage.rows("delivery_attempts")
    assert (row["number"], row["error"]) == (change.get("number", 1), change.get("error"))
