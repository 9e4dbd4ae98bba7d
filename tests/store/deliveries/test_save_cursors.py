"""The progress of endpoints is saved for many channels at once; what is locked, lost or deleted is left out."""

from uuid import UUID

import asyncpg
import msgspec
import pytest

from gatepost.model import ids
from gatepost.model.endpoint import HealthCounters
from gatepost.store.channel_head import Lease
from gatepost.store.deliveries.queue import DeliveryCursor, save_cursors
from gatepost.store.endpoints import get_endpoint, list_delivering
from gatepost.store.pool import Database
from tests.conftest import PostgresServer, copied_database, run_apart
from tests.outbound.stage import NOW, Stage, make_stage
from tests.store.delivery_rows import add_endpoint
from tests.store.query_plans import Plan, explained_database
from tests.store.test_deleted_endpoints import somebody_in_the_way

HEALTH = HealthCounters(NOW, 3, 1, None, 0, NOW)


async def owned_stage(db: Database) -> Stage:
    stage = await make_stage(db)
    await stage.take_over()
    return stage


@pytest.mark.parametrize("wait", [False, True])
async def test_endpoints_of_several_channels_are_saved_together(db: Database, wait: bool) -> None:
    one, other = await owned_stage(db), await owned_stage(db)
    hooks = {stage: [await add_endpoint(db, stage.channel_id) for _ in range(2)] for stage in (one, other)}
    cursors = {stage: [ids.new_id(NOW) for _ in some] for stage, some in hooks.items()}
    given = {}
    for stage, some in hooks.items():
        known = [await get_endpoint(db, stage.channel_id, hook) for hook in some]
        given[stage.lease] = {
            row.id: DeliveryCursor(cursor, HEALTH, row.updated_at)
            for row, cursor in zip(filter(None, known), cursors[stage], strict=True)
        }
    lost = Lease(other.channel_id, other.lease.epoch + 1)
    given[lost] = {hooks[other][1]: msgspec.structs.replace(given[other.lease].pop(hooks[other][1]), cursor=ids.ZERO)}
    given[one.lease][ids.new_id(NOW)] = DeliveryCursor(ids.ZERO, HEALTH, NOW)  # it was deleted
    assert await save_cursors(db, given, wait=wait) == {*hooks[one], hooks[other][0]}
    for stage, some in hooks.items():
        for hook, cursor in zip(some, cursors[stage], strict=True):
            row = await get_endpoint(db, stage.channel_id, hook)
            assert row is not None
            saved = (row.cursor, row.health.failures) == (cursor, 3)
            assert saved == (hook != hooks[other][1])
    assert await save_cursors(db, {}, wait=wait) == set()


async def test_rows_that_are_locked_are_left_out(db: Database, common_url: str) -> None:
    stages = [await owned_stage(db) for _ in range(3)]
    hooks = [await add_endpoint(db, stage.channel_id) for stage in stages]
    given = {
        stage.lease: {hook: DeliveryCursor(ids.new_id(NOW), HEALTH, NOW)}
        for stage, hook in zip(stages, hooks, strict=True)
    }
    head = somebody_in_the_way(
        common_url, "SELECT 1 FROM channel_heads WHERE channel_id = $1 FOR UPDATE", stages[0].channel_id
    )
    endpoint = somebody_in_the_way(common_url, "SELECT 1 FROM endpoints WHERE id = $1 FOR UPDATE", hooks[1])
    async with head, endpoint:
        assert await save_cursors(db, given, wait=False) == {hooks[2]}
    assert await save_cursors(db, given, wait=False) == set(hooks)


async def test_an_endpoint_says_whether_it_has_retries(db: Database) -> None:
    stage = await make_stage(db)
    first, second = [await add_endpoint(db, stage.channel_id) for _ in range(2)]
    await db.execute(
        "INSERT INTO delivery_retries (channel_id, endpoint_id, event_id, next_at) VALUES ($1, $2, $3, now())",
        stage.channel_id,
        second,
        ids.new_id(NOW),
    )
    listed = (await list_delivering(db, [stage.channel_id]))[stage.channel_id]
    assert {one.id: one.has_retries for one in listed} == {first: False, second: True}


# -- plans ------------------------------------------------------------------------------------------------------------

CHANNELS, ENDPOINTS, SAVED = 200, 20_000, 800
_CHANNELS = """
INSERT INTO channels SELECT (jsonb_populate_record(c, jsonb_build_object('id', gen_random_uuid(), 'phone', '1' || n))).*
FROM channels c, generate_series(1, $1) n"""
_HEADS = """
INSERT INTO channel_heads (channel_id, epoch, last_event_id, last_message_id, send_floor)
SELECT c.id, 1, h.last_event_id, h.last_message_id, h.send_floor
FROM channel_heads h, channels c WHERE c.id <> h.channel_id"""
_ENDPOINTS = """
INSERT INTO endpoints (channel_id, id, url, events, headers, secret, state, cursor, created_at, updated_at)
SELECT c.id, gen_random_uuid(), e.url, e.events, e.headers, e.secret, e.state, e.cursor, e.created_at, e.updated_at
FROM endpoints e, channels c, generate_series(1, $1)"""


async def fill_endpoints(url: str) -> None:
    """Add many channels, each with many endpoints."""
    db = await Database.connect(url, connections=2)
    stage = await make_stage(db)
    await add_endpoint(db, stage.channel_id)
    await db.close()
    conn = await asyncpg.connect(url)
    await conn.execute(_CHANNELS, CHANNELS)
    await conn.execute(_HEADS)
    await conn.execute("ALTER TABLE endpoints DISABLE TRIGGER USER")  # which report each change to open pages
    await conn.execute(_ENDPOINTS, ENDPOINTS // CHANNELS)
    await conn.close()


async def read_given(conn: "asyncpg.Connection[asyncpg.Record]") -> dict[Lease, dict[UUID, DeliveryCursor]]:
    """Return new cursors for some endpoints of each channel."""
    rows = await conn.fetch(
        """SELECT channel_id, id FROM (SELECT channel_id, id, row_number() OVER (PARTITION BY channel_id) AS n
                                       FROM endpoints JOIN channel_heads USING (channel_id) WHERE epoch = 1) e
           WHERE n <= $1""",
        SAVED // CHANNELS,
    )
    given: dict[Lease, dict[UUID, DeliveryCursor]] = {}
    for row in rows:
        given.setdefault(Lease(row["channel_id"], 1), {})[row["id"]] = DeliveryCursor(ids.new_id(NOW), HEALTH, NOW)
    return given


async def observe(server: PostgresServer) -> list[Plan]:
    """Return the plans of saving, without statistics and with them."""
    found: list[Plan] = []
    async with copied_database(server, "gatepost") as url:
        await fill_endpoints(url)
        conn = await asyncpg.connect(url)
        given = await read_given(conn)
        for _ in ("fresh", "analyzed"):
            async with explained_database(url) as (db, plans):
                for wait in (False, True):
                    assert len(await save_cursors(db, given, wait=wait)) == SAVED
                found += plans
            await conn.execute("ANALYZE")
        await conn.close()
    return found


def test_each_of_many_rows_is_looked_up_by_its_key(postgres_server: PostgresServer) -> None:
    plans = run_apart(observe(postgres_server))
    assert len(plans) == 4
    for plan in plans:
        assert sum(node.get("Rows Removed by Join Filter", 0) for node in plan.nodes()) == 0
        scans = [node for node in plan.nodes() if "Scan" in node["Node Type"] and "Relation Name" in node]
        read = sum(node["Actual Rows"] * node["Actual Loops"] for node in scans)
        # The head, the endpoint that is locked, and the endpoint that is changed.
        assert (read, plan.rows_filtered) == (3 * SAVED, 0)
