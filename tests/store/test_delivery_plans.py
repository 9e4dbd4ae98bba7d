"""The plans of retries: by their keys and their time, however many wait."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from uuid import UUID

import asyncpg
import pytest

from gatepost.model import ids
from gatepost.model.delivery import DeliveryState
from gatepost.model.endpoint import HealthCounters
from gatepost.model.event.endpoints import EndpointPaused
from gatepost.store.channel_head import Lease
from gatepost.store.deliveries.queue import DeliveryCursor, next_retry, read_retries, save_cursors
from gatepost.store.deliveries.record import (
    AttemptRecord,
    OrderedWait,
    OrphanedRetry,
    record_attempts,
    record_together,
    release_ordered_waits,
)
from gatepost.store.deliveries.retry import forget_lost_retries
from gatepost.store.endpoints import EndpointNotice, EndpointStateChange, list_delivering, save_probe, save_state_change
from gatepost.store.partitions import first_kept_event, make_partitions
from gatepost.store.pool import Database
from tests.conftest import PostgresServer, copied_database, run_apart
from tests.outbound.stage import NOW
from tests.store.delivery_rows import pending_of
from tests.store.query_plans import Plan, explained_database
from tests.store.test_plans import ENDPOINT, Scene, pretend, set_scene

Observed = dict[str, list[Plan]]
LINE = UUID(int=77)


@pytest.fixture(scope="module", params=["fresh", "huge"])
def observed(request: pytest.FixtureRequest, postgres_server: PostgresServer) -> Observed:
    """Give the plans, without statistics or with those of millions of rows; thousands wait either way."""
    return run_apart(observe(postgres_server, request.param))


async def observe(server: PostgresServer, statistics: str) -> Observed:
    async with copied_database(server, "gatepost") as url:
        plain = await Database.connect(url, connections=2)
        await make_partitions(plain, NOW - timedelta(days=70), 7)
        await make_partitions(plain, NOW, 7)
        async with explained_database(url) as (db, plans):
            scene = await set_scene(db, url)
            await scene.stage.take_over()
            await fill_lines(url, scene.stage.channel_id)
            if statistics == "huge":
                async with plain.connection() as conn:
                    await conn.execute("ANALYZE")
                await pretend(url, ["delivery_retries"])
            found: Observed = {}
            for work in WORKS:
                plans.clear()
                await work(scene)
                found[work.__name__] = list(plans)
        await plain.close()
    return found


async def fill_lines(url: str, channel_id: UUID) -> None:
    """Add thousands of retries: some scheduled, most deferred."""
    conn = await asyncpg.connect(url)
    await conn.execute(
        """INSERT INTO delivery_retries (channel_id, endpoint_id, event_id, next_at, conversation_id)
           SELECT $1, $2, event_id, CASE WHEN n % 10 = 0 THEN $3::timestamptz + n * interval '1 s' ELSE 'infinity' END,
                  CASE WHEN n % 10 = 0 THEN NULL ELSE $4::uuid END
           FROM (SELECT event_id, row_number() OVER (ORDER BY event_id) AS n FROM deliveries
                 WHERE channel_id = $1 AND endpoint_id = $2 AND state = 1) d""",
        channel_id,
        ENDPOINT,
        NOW + timedelta(hours=1),
        UUID(int=78),
    )
    await conn.close()


def attempt(event_id: UUID, state: DeliveryState, *, retried: bool) -> AttemptRecord:
    again = NOW if state is DeliveryState.PENDING else None
    words = (NOW, 5.0, 200, None, "http://127.0.0.1/", "{}", None, None)
    return AttemptRecord(ENDPOINT, event_id, 1 + retried, *words, state, again, retried=retried, order_key=LINE)


async def move_lines(s: Scene) -> None:
    """One fails, others are deferred, it succeeds, the next one is due."""
    db, channel_id, lease = s.stage.db, s.stage.channel_id, s.stage.lease
    due = [d.event_id for d in await pending_of(db, channel_id, ENDPOINT, ids.floor_id(NOW), 10, ordered=True)]
    assert len(due) >= 5
    await record_attempts(db, lease, [attempt(due[0], DeliveryState.PENDING, retried=False)], NOW)
    await record_attempts(db, lease, [OrderedWait(ENDPOINT, id_, LINE) for id_ in due[1:]], NOW)
    found = await read_retries(db, channel_id, ENDPOINT, NOW, [], 10, ordered=True)
    assert [d.event_id for d in found.due] == due[:1]
    done = attempt(due[0], DeliveryState.DELIVERED, retried=True)
    await record_attempts(db, lease, [done, OrphanedRetry(ENDPOINT, ids.new_id(NOW))], NOW)
    found = await read_retries(db, channel_id, ENDPOINT, NOW, [], 10, ordered=True, busy=[UUID(int=5)])
    assert [d.event_id for d in found.due] == due[1:2]


async def succeed_at_once(s: Scene) -> None:
    """First attempts succeed, of this channel alone and of several."""
    db, channel_id, lease = s.stage.db, s.stage.channel_id, s.stage.lease
    due = [d.event_id for d in await pending_of(db, channel_id, ENDPOINT, ids.floor_id(NOW), 10)]
    assert len(due) >= 4
    done = [attempt(id_, DeliveryState.DELIVERED, retried=False) for id_ in due]
    await record_attempts(db, lease, done[:2], NOW)
    assert await record_together(db, {lease: done[2:], Lease(UUID(int=9), 1): done[2:]}, NOW) == {lease}


async def look_ahead(s: Scene) -> None:
    db, channel_id = s.stage.db, s.stage.channel_id
    assert (await next_retry(db, channel_id, ENDPOINT, [ids.new_id(NOW)], [UUID(int=5)])).waiting
    assert (await read_retries(db, channel_id, ENDPOINT, NOW, [], 10, ordered=False)).orphaned == []


async def leave_lines(s: Scene) -> None:
    assert await release_ordered_waits(s.stage.db, s.stage.lease, ENDPOINT, NOW + timedelta(hours=9), limit=20) == 20


async def change_state(s: Scene) -> None:
    db, lease, health = s.stage.db, s.stage.lease, HealthCounters(NOW, 12, 1, None, 0, NOW)
    (target,) = (await list_delivering(db, [s.stage.channel_id]))[s.stage.channel_id]
    cursors = {lease: {ENDPOINT: DeliveryCursor(target.cursor, health, target.updated_at)}}
    await save_cursors(db, cursors, wait=True)
    await save_cursors(db, cursors, wait=False)
    seen = [EndpointNotice(EndpointPaused, "It failed")]
    assert await save_state_change(
        db, lease, s.stage.ref, ENDPOINT, EndpointStateChange("active", "paused", health), seen, NOW
    )
    assert not await save_state_change(
        db, lease, s.stage.ref, ENDPOINT, EndpointStateChange("active", "paused", health), seen, NOW
    )
    await save_probe(db, lease, ENDPOINT, health)


async def keep_up(s: Scene) -> None:
    first = await first_kept_event(s.stage.db)
    assert await forget_lost_retries(s.stage.db, first) == 0


Work = Callable[[Scene], Awaitable[None]]
WORKS: list[Work] = [move_lines, look_ahead, leave_lines, change_state, keep_up, succeed_at_once]


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.__name__)
def test_conversations_are_read_only_by_their_key(observed: Observed, work: Work) -> None:
    assert observed[work.__name__]
    for plan in observed[work.__name__]:
        assert plan.seq_scans() == [], plan.query
        for node in plan.nodes():
            if node.get("Relation Name") == "delivery_retries" and "Scan" in node["Node Type"]:
                assert node["Node Type"] in ("Index Scan", "Index Only Scan", "Tid Scan"), (node, plan.query)
                read = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
                assert read <= 50, f"{node} {plan.query}"


def test_first_successes_read_only_their_own_deliveries(observed: Observed) -> None:
    recorded = [plan for plan in observed[succeed_at_once.__name__] if "delivery_attempts" in plan.query]
    assert len(recorded) == 2
    for plan in recorded:
        for node in plan.nodes():
            if node.get("Relation Name", "").startswith("deliveries") and "Scan" in node["Node Type"]:
                assert node["Node Type"] == "Index Scan", (node, plan.query)
                read = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
                assert read <= 10, f"{node} {plan.query}"
                assert "event_id = ANY" in node["Index Cond"], f"{node} {plan.query}"
