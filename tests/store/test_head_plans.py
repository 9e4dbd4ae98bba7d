"""Many idle channels cost the search for channels without an owner nothing, and busy ones cost no write to an index."""

from uuid import UUID

import asyncpg
import pytest

from gatepost.store.checks import count_unowned, list_unowned
from gatepost.store.leases import find_unowned_channels
from tests.outbound.stage import NOW
from tests.store.query_plans import explained_database

IDLE, WITH_WORK = 2_000, 3
_ID = "lpad(i::text, 32, '0')::uuid"


@pytest.fixture
async def filled(database_url: str) -> str:
    """Give a database with many channels, of which a few have work."""
    conn = await asyncpg.connect(database_url)
    await conn.execute(
        f"""INSERT INTO accounts (id, name, plan, suspended, trial_ends_at, created_at)
            SELECT {_ID}, 'x', 'starter', false, now(), now() FROM generate_series(1, 1) i;
            INSERT INTO channels (id, account_id, kind, phone, name, network, limits, connection, created_at)
            SELECT {_ID}, lpad('1', 32, '0')::uuid, 'official', i, 'x', '{{}}', '{{}}', 'connected', now()
            FROM generate_series(1, {IDLE + WITH_WORK}) i;
            INSERT INTO channel_heads (channel_id, last_event_id, last_message_id, send_floor, work_at)
            SELECT {_ID}, {_ID}, {_ID}, {_ID}, CASE WHEN i <= {WITH_WORK} THEN '2020-01-01'::timestamptz END
            FROM generate_series(1, {IDLE + WITH_WORK}) i"""
    )
    await conn.close()
    return database_url


async def test_idle_channels_are_not_read(filled: str) -> None:
    async with explained_database(filled) as (db, plans):
        assert sorted(await find_unowned_channels(db, NOW, 100)) == [UUID(int=1 + i) for i in range(WITH_WORK)]
        assert (await count_unowned(db, NOW, 100)).count == WITH_WORK
        assert len(await list_unowned(db, 60, 100)) == WITH_WORK
        assert [plan.rows_scanned for plan in plans] == [WITH_WORK] * 3


async def test_the_head_of_a_busy_channel_is_changed_without_its_indexes(filled: str) -> None:
    conn = await asyncpg.connect(filled)
    hot = "SELECT pg_stat_get_xact_tuples_hot_updated('channel_heads'::regclass)"
    change = "UPDATE channel_heads SET seq = seq + 1, work_at = clock_timestamp() WHERE channel_id = $1"
    async with conn.transaction():
        for number in (1, 2):
            await conn.execute(change, UUID(int=1))
            assert await conn.fetchval(hot) == number
        await conn.execute(change, UUID(int=IDLE))  # it was idle
        assert await conn.fetchval(hot) == 2
    await conn.close()
