"""Partitions: there before they are needed, without a gap, gone when too old, however many make them at once."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import UUID

import asyncpg
import pytest

from gatepost.inbound.receive import UpdateReceiver
from gatepost.model import ids
from gatepost.model.errors import Conflict
from gatepost.networks.base import Incoming, Person
from gatepost.outbound.cancel import cancel_message
from gatepost.store.partitions import (
    TABLES,
    analyze_young_tables,
    cover_spans,
    drop_old_partitions,
    make_partitions,
)
from gatepost.store.pool import Database
from tests.outbound.stage import make_stage
from tests.patience import PATIENCE

NOW = datetime(2026, 11, 15, 10, 0, tzinfo=UTC)
DAY = timedelta(days=1)
CHANNEL = UUID(int=5)
Span = tuple[datetime, datetime]


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Database]:
    """Give a fresh database without any partition."""
    database = await Database.connect(database_url, connections=8)
    yield database
    await database.close()


async def spans(db: Database, table: str) -> list[Span]:
    """From when to when each partition reaches, as the database itself has it."""
    async with db.connection() as conn:
        rows = await conn.fetch(
            """SELECT pg_get_expr(c.relpartbound, c.oid) AS bound FROM pg_inherits i
               JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = $1::text::regclass""",
            table,
        )
    bounds = [row["bound"].split("'") for row in rows]
    return sorted((ids.time_of(UUID(b[1])), ids.time_of(UUID(b[3]))) for b in bounds)


async def write_event(db: Database, id_: UUID) -> None:
    async with db.connection() as conn:
        await conn.execute("INSERT INTO events VALUES ($1, $2, 1, 'x', '{}')", CHANNEL, id_)


async def check_whole(db: Database, now: datetime, days: int) -> None:
    """Every table reaches from a week back to two partitions ahead, without a gap or an overlap."""
    for table in TABLES:
        found = await spans(db, table)
        assert found[0][0] <= now - timedelta(days=7)
        assert found[-1][1] > now + timedelta(days=days * 2)
        assert all(before[1] == after[0] for before, after in pairwise(found))


@pytest.mark.parametrize("days", [1, 7, 30])
async def test_the_first_partitions_reach_back_and_ahead(db: Database, days: int) -> None:
    made = await make_partitions(db, NOW, days)
    assert len(made) == len(set(made)) >= 4 * len(TABLES)
    await check_whole(db, NOW, days)
    assert await make_partitions(db, NOW, days) == []


async def test_time_goes_on_and_so_do_the_partitions(db: Database) -> None:
    now = NOW
    for step in (1, 6, 7, 8, 40, 0.5):
        now += timedelta(days=step)
        await make_partitions(db, now, 7)
        await check_whole(db, now, 7)
    found = await spans(db, "events")
    assert {end - start for start, end in found} == {timedelta(days=7)}


async def test_another_length_begins_where_the_last_one_ends(db: Database) -> None:
    await make_partitions(db, NOW, 7)
    await make_partitions(db, NOW + timedelta(days=20), 1)
    await check_whole(db, NOW + timedelta(days=20), 1)
    assert {end - start for start, end in await spans(db, "messages")} == {timedelta(days=7), timedelta(days=1)}


async def test_a_clock_that_went_back_makes_nothing(db: Database) -> None:
    await make_partitions(db, NOW, 7)
    assert await make_partitions(db, NOW - timedelta(days=3), 7) == []


@pytest.mark.parametrize("ahead", [20, 1500])
async def test_a_clock_that_was_ahead_at_the_first_start(db: Database, ahead: int) -> None:
    await make_partitions(db, NOW + timedelta(days=ahead), 7)
    with pytest.raises(asyncpg.CheckViolationError):
        await write_event(db, ids.floor_id(NOW))
    assert await make_partitions(db, NOW, 7) != []
    for day in range(-7, 15):
        await write_event(db, ids.floor_id(NOW + timedelta(days=day)))
    assert await make_partitions(db, NOW, 7) == []
    found = await spans(db, "messages")
    assert all(before[1] <= after[0] for before, after in pairwise(found))


async def test_a_clock_that_was_far_behind_at_the_first_start(db: Database) -> None:
    await make_partitions(db, NOW - timedelta(days=20_000), 1)
    made = await make_partitions(db, NOW, 1)
    assert len(made) < 20 * len(TABLES)
    for day in range(-7, 3):
        await write_event(db, ids.floor_id(NOW + timedelta(days=day)))
    assert await make_partitions(db, NOW + timedelta(days=1), 1) != []


async def test_holes_are_filled_where_rows_are_to_be_copied(db: Database) -> None:
    await make_partitions(db, NOW - timedelta(days=20_000), 7)
    await make_partitions(db, NOW, 7)
    start = NOW.replace(hour=0) - timedelta(days=50)
    async with db.connection() as conn:
        await cover_spans(conn, {"events": (start, start + timedelta(days=100))}, 7)
    for day in range(100):
        await write_event(db, ids.floor_id(start + timedelta(days=day)))


async def test_many_makers_at_once_make_each_one_once(db: Database) -> None:
    made = await asyncio.gather(*(make_partitions(db, NOW, 7) for _ in range(8)))
    assert sorted(len(names) for names in made)[:-1] == [0] * 7
    await check_whole(db, NOW, 7)


async def test_ids_at_the_edge_have_their_place(db: Database) -> None:
    await make_partitions(db, NOW, 7)
    found = await spans(db, "events")
    for start, end in found:
        await write_event(db, ids.floor_id(start))
        await write_event(db, UUID(int=ids.floor_id(end).int - 1))
    for outside in (UUID(int=ids.floor_id(found[0][0]).int - 1), ids.floor_id(found[-1][1])):
        with pytest.raises(asyncpg.CheckViolationError):
            await write_event(db, outside)
    async with db.connection() as conn:
        assert await conn.fetchval("SELECT count(*) FROM events") == 2 * len(found)


async def test_what_is_too_old_goes_and_nothing_else(db: Database) -> None:
    await make_partitions(db, NOW, 7)
    first_end = (await spans(db, "events"))[0][1]
    later = first_end + timedelta(days=30)
    await make_partitions(db, later, 7)
    assert await drop_old_partitions(db, later - timedelta(milliseconds=1), 365, 30) == []
    dropped = await drop_old_partitions(db, later, 365, 30)
    assert sorted(name.rsplit("_", 2)[0] for name in dropped) == ["deliveries", "delivery_attempts", "events"]
    assert (await spans(db, "events"))[0][0] == first_end
    assert (await spans(db, "messages"))[0][1] == first_end
    assert await drop_old_partitions(db, later, 365, 30) == []
    assert len(await drop_old_partitions(db, later, 30, 30)) == 1
    await make_partitions(db, later, 7)
    assert (await spans(db, "messages"))[-1][1] > later


async def test_messages_that_wait_to_be_sent_are_kept(db: Database) -> None:
    await make_partitions(db, NOW, 7)
    stage = await make_stage(db)
    id_ = await stage.accept("5511999998888", send_at=NOW + timedelta(days=29))
    later = NOW + timedelta(days=28)
    assert await stage.acks(id_) == ["SCHEDULED"]
    await drop_old_partitions(db, later, 7, 30)
    await cancel_message(db, stage.caller, await stage.message(id_), NOW)
    (dropped,) = await drop_old_partitions(db, later, 7, 30)
    assert dropped.startswith("messages_")


async def test_dropping_and_making_at_once_leaves_a_whole(db: Database) -> None:
    await make_partitions(db, NOW, 7)
    later = NOW + timedelta(days=100)
    await asyncio.gather(
        *(make_partitions(db, later, 7) for _ in range(3)), *(drop_old_partitions(db, later, 30, 30) for _ in range(3))
    )
    for table in TABLES:
        found = await spans(db, table)
        assert found[0][1] > later - timedelta(days=30)
        assert all(before[1] == after[0] for before, after in pairwise(found))


async def test_who_reads_for_long_holds_up_nobody_else(db: Database, database_url: str) -> None:
    """A dump reads all tables for hours. What waits for it makes everybody else wait, too."""
    await make_partitions(db, NOW, 7)
    dump = await asyncpg.connect(database_url)
    try:
        async with dump.transaction():
            await dump.execute("LOCK TABLE messages, events, deliveries, delivery_attempts IN ACCESS SHARE MODE")
            assert await asyncio.wait_for(make_partitions(db, NOW + timedelta(days=8), 7), PATIENCE) == []
            assert await asyncio.wait_for(drop_old_partitions(db, NOW + timedelta(days=400), 365, 30), PATIENCE) == []
            async with db.connection() as conn:
                older = {"events": (NOW - timedelta(days=100), NOW)}
                with pytest.raises(Conflict, match="read for long"):
                    await asyncio.wait_for(cover_spans(conn, older, 7), PATIENCE)
            await asyncio.wait_for(write_event(db, ids.new_id(NOW)), PATIENCE)
            missing = asyncio.create_task(make_partitions(db, NOW + timedelta(days=400), 7))  # nothing can be stored
            await asyncio.wait([missing], timeout=1)
            assert not missing.done()
        assert await missing
    finally:
        await dump.close()
    assert len(await drop_old_partitions(db, NOW + timedelta(days=400), 365, 30)) >= len(TABLES)


async def test_a_partition_gets_statistics_as_it_begins_to_fill(db: Database) -> None:
    await make_partitions(db, NOW, 7)
    analyzed: dict[str, int] = {}
    await analyze_young_tables(db, analyzed)
    assert analyzed == {}
    async with db.connection() as conn:
        await conn.execute(
            """INSERT INTO events SELECT $1, ($2::text || lpad(to_hex(i), 20, '0'))::uuid, i, 'x', '{}'
               FROM generate_series(1, 500) i""",
            CHANNEL,
            ids.floor_id(NOW).hex[:12],
        )
        await conn.execute("SELECT pg_stat_force_next_flush()")
    async with asyncio.timeout(PATIENCE):
        while not analyzed:
            await analyze_young_tables(db, analyzed)
            await asyncio.sleep(0.02)
    (name,) = analyzed
    async with db.connection() as conn:
        known = await conn.fetchval("SELECT reltuples FROM pg_class WHERE relname = $1", name)
    assert (analyzed[name], known) == (500, 500)


@pytest.mark.parametrize("partition_days", [1, 7])
async def test_a_message_is_received_that_is_older_than_messages_are_kept(db: Database, partition_days: int) -> None:
    stage = await make_stage(db)
    await make_partitions(db, NOW, partition_days)
    assert await drop_old_partitions(db, NOW, 1, 30)
    receiver = UpdateReceiver(db, stage.clock, 1000, 0.0, kept_days=1)
    late = [Incoming(f"late {days}", Person("15550002222"), "text", "{}", NOW - days * DAY) for days in (0.9, 3, 9)]
    for _ in range(2):  # the network repeats its report
        await receiver.receive(stage.channel_id, stage.ref, late)
    rows = await db.fetch("SELECT id, sent_at FROM messages WHERE channel_id = $1 ORDER BY sent_at", stage.channel_id)
    assert [row["sent_at"] for row in rows] == [NOW - days * DAY for days in (7, 3, 0.9)]
    assert all(NOW - DAY < ids.time_of(row["id"]) < NOW for row in rows)
