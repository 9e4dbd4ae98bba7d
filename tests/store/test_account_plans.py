"""The plans of the lists of an account, on tables with many rows of others: nothing is read that is not shown."""

from datetime import timedelta
from uuid import UUID

import asyncpg
import pytest

from gatepost.model.dates import Days
from gatepost.store.account_log import LogFilter, list_entries
from gatepost.store.channels import list_channels
from gatepost.store.keys import list_keys
from gatepost.store.usage import find_uncounted, read_states, sum_codes, sum_failures, sum_messages
from gatepost.store.users import list_users
from tests.outbound.stage import NOW
from tests.store.query_plans import explained_database

ACCOUNT, CHANNEL = UUID(int=1), UUID(int=1)
DAYS = Days(NOW.date() - timedelta(days=30), NOW.date())
_ID = "lpad(i::text, 32, '0')::uuid"
_OWNER = "lpad((1 + i % 200)::text, 32, '0')::uuid"
FILTERS = {  # of the log, and how many of 20 entries there are
    LogFilter(): 20,
    LogFilter(actor="operator"): 20,
    LogFilter(actor="operator", action="action_30"): 20,
    LogFilter(actor="operator", action="action_8"): 0,
    LogFilter(actor=UUID(int=3)): 20,
    LogFilter(actor=UUID(int=3), action="action_8"): 20,
    LogFilter(actor=UUID(int=3), action="unknown"): 0,
    LogFilter(action="action_8"): 20,
    LogFilter(actor=UUID(int=9)): 0,
}


@pytest.fixture
async def filled(database_url: str) -> str:
    """Give a database with 200 accounts of 20 channels; half of the log is that of the first one."""
    conn = await asyncpg.connect(database_url)
    for statement in (
        f"""INSERT INTO accounts (id, name, plan, suspended, trial_ends_at, created_at)
            SELECT {_ID}, 'x', 'starter', false, now(), now() FROM generate_series(1, 200) i""",
        f"""INSERT INTO users (id, account_id, email, password_hash, role, created_at)
            SELECT {_ID}, {_OWNER}, i || '@example.com', '', 'agent', now() FROM generate_series(1, 4000) i""",
        f"""INSERT INTO channels (id, account_id, kind, phone, name, network, limits, connection, created_at)
            SELECT {_ID}, {_OWNER}, 'official', i, 'x', '{{}}', '{{}}', 'connected', now()
            FROM generate_series(1, 4000) i""",
        f"""INSERT INTO channel_heads (channel_id, last_event_id, last_message_id, send_floor)
            SELECT {_ID}, {_ID}, {_ID}, {_ID} FROM generate_series(1, 4000) i""",
        f"""INSERT INTO api_keys (id, channel_id, name, hint, hash, scopes, created_at)
            SELECT {_ID}, lpad((1 + i % 4000)::text, 32, '0')::uuid, 'x', 'x', decode(md5(i::text), 'hex'), '{{send}}',
                   now() FROM generate_series(1, 8000) i""",
        f"""INSERT INTO account_log (id, account_id, at, actor_kind, actor_id, actor, action, target, details)
            SELECT {_ID}, CASE WHEN i % 2 = 0 THEN {"lpad('1', 32, '0')::uuid"} ELSE {_OWNER} END, now(), 'user',
                   CASE WHEN i % 10 = 0 THEN NULL ELSE lpad((i % 7)::text, 32, '0')::uuid END, 'x',
                   'action_' || i % 50, 'x', '{{}}' FROM generate_series(1, 20000) i""",
        f"""INSERT INTO daily_counts SELECT {_ID}, '2026-11-01'::date + d, true, 'text', 1
            FROM generate_series(1, 4000) i, generate_series(-60, 10) d WHERE i < 400""",
        f"""INSERT INTO daily_failures SELECT {_ID}, '2026-11-01'::date + d, '131026', 1, {_ID}
            FROM generate_series(1, 4000) i, generate_series(-60, 10) d WHERE i < 400""",
    ):
        await conn.execute(statement)
    await conn.close()
    return database_url


@pytest.mark.parametrize("analyzed", [False, True], ids=["fresh", "analyzed"])
async def test_lists_read_what_they_return(filled: str, analyzed: bool) -> None:
    if analyzed:
        conn = await asyncpg.connect(filled)
        await conn.execute("ANALYZE")
        await conn.close()
    async with explained_database(filled) as (db, plans):
        for filter_, count in FILTERS.items():
            found = await list_entries(db, ACCOUNT, before=None, limit=20, filter_=filter_)
            assert (len(found), plans[-1].rows_scanned) == (count, count), filter_
        assert len(await list_users(db, ACCOUNT)) == 20
        channels = [row.id for row in await list_channels(db, ACCOUNT)]
        assert len(channels) == 20
        assert [plan.rows_scanned for plan in plans[-2:]] == [20, 20]
        assert len(await list_keys(db, CHANNEL)) == 2
        assert plans[-1].rows_scanned == 2
        before = len(plans)
        await sum_messages(db, channels, DAYS)
        await sum_failures(db, channels, DAYS)
        await sum_codes(db, channels, DAYS, 50)
        assert [plan.rows_scanned for plan in plans[before:]] == [27] * 3  # one channel has counts, of 27 days
        await find_uncounted(db, channels, 20)
        await read_states(db, channels)
        assert [plan.rows_scanned for plan in plans[-2:]] == [20, 20]
