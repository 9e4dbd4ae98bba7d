"""Sessions, links and the log in the database: the plan of the look-up, the migration, and the clean-up."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest

from gatepost.model.account_log import OPERATOR, LogEntry, new_entry
from gatepost.model.session import token_hash
from gatepost.store.account_log import add_entry, forget_entries, list_entries
from gatepost.store.channels import find_access
from gatepost.store.migrate import migrate
from gatepost.store.one_time_links import forget_links, insert_link, use_link
from gatepost.store.pool import Database
from gatepost.store.sessions import (
    StoredSession,
    find_session,
    find_sessions,
    forget_sessions,
    insert_session,
    record_session_uses,
)
from gatepost.store.users import get_user, set_password
from tests.outbound.stage import NOW
from tests.patience import patience
from tests.store.query_plans import Plan, explained_database
from tests.store.test_shipped_migrations import migrate_before

ACCOUNT, CHANNEL = UUID(int=1), UUID(int=2)
USER = "INSERT INTO users (id, account_id, email, password_hash, role, created_at) VALUES ($1, $2, $3, '', $4, $5)"
WAITING = """SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock'"""


@pytest.fixture
async def filled(database_url: str) -> str:
    """Give a database with 200 accounts of 20 users each, who have a session each."""
    conn = await asyncpg.connect(database_url)
    await conn.execute(
        """INSERT INTO accounts (id, name, plan, suspended, trial_ends_at, created_at)
           SELECT lpad(i::text, 32, '0')::uuid, 'x', 'starter', false, $1, $1 FROM generate_series(1, 200) i""",
        NOW,
    )
    await conn.execute(
        """INSERT INTO users (id, account_id, email, password_hash, role, created_at)
           SELECT lpad((i * 1000 + j)::text, 32, '0')::uuid, lpad(i::text, 32, '0')::uuid, i || '-' || j || '@x.y', '',
                  'agent', $1
           FROM generate_series(1, 200) i, generate_series(1, 20) j""",
        NOW,
    )
    await conn.execute(
        """INSERT INTO sessions (id, user_id, hash, created_at, last_used_at, expires_at, address, user_agent)
           SELECT gen_random_uuid(), id, sha256(id::text::bytea), $1, $1, $2, '', '' FROM users""",
        NOW,
        NOW + timedelta(days=30),
    )
    await conn.execute(
        """INSERT INTO channels (id, account_id, kind, phone, name, network, limits, connection, created_at)
           VALUES ($1, $2, 'qr', '1', 'x', '{}', '{}', 'connected', $3)""",
        CHANNEL,
        ACCOUNT,
        NOW,
    )
    await conn.close()
    return database_url


@pytest.fixture
async def db(filled: str) -> AsyncIterator[Database]:
    one = await Database.connect(filled, connections=4)
    yield one
    await one.close()


def session_hash(user: int) -> bytes:
    return token_hash(str(UUID(hex=f"{user:032d}")))


@pytest.mark.parametrize("analyzed", [False, True])
async def test_a_session_is_found_by_indexes_alone(filled: str, analyzed: bool) -> None:
    if analyzed:
        conn = await asyncpg.connect(filled)
        await conn.execute("ANALYZE")
        await conn.close()
    async with explained_database(filled) as (db, plans):
        found = await find_session(db, session_hash(1001))
        assert found is not None
        assert found.email == "1-1@x.y"
        many = [session_hash(1001 + number) for number in range(20)]
        assert (await find_sessions(db, [*many, token_hash("unknown")])).keys() == set(many)
        (channel,) = (await find_access(db, [CHANNEL, UUID(int=99)])).values()
        assert (channel.account_id, channel.window) == (ACCOUNT, True)
        one, many_plan, channel_plan = plans
        check_plan(one)
        check_plan(many_plan, 20)
        assert channel_plan.rows_filtered == 0


def check_plan(plan: Plan, sessions: int = 1) -> None:
    """Every table by its index, and no row that is not needed."""
    nodes = [node for node in plan.nodes() if "Relation Name" in node]
    assert {node["Relation Name"] for node in nodes} >= {"sessions", "users", "accounts"}
    for node in nodes:
        assert node["Node Type"].startswith("Index"), node
        assert node["Actual Rows"] * node["Actual Loops"] <= sessions, node
    assert plan.rows_filtered == 0
    assert plan.buffers < 40 * sessions


async def test_uses_are_written_once_a_minute_and_never_backwards(db: Database) -> None:
    rows = await db.fetch("SELECT id FROM sessions ORDER BY id LIMIT 3")
    a, b, c = [row["id"] for row in rows]
    minute = timedelta(minutes=1)
    early = timedelta(seconds=59)
    await record_session_uses(db, {c: NOW - minute, b: NOW + minute, a: NOW + early})
    found = await db.fetch("SELECT id, last_used_at FROM sessions WHERE id = ANY ($1) ORDER BY id", [a, b, c])
    assert [row["last_used_at"] for row in found] == [NOW, NOW + minute, NOW]
    await record_session_uses(db, {UUID(int=9): NOW})


async def test_what_has_expired_is_deleted(db: Database) -> None:
    await db.execute(
        "DELETE FROM sessions WHERE user_id <> ALL ($1)", [UUID(hex=f"{n:032d}") for n in (1001, 1002, 1003)]
    )
    moments = {1001: (NOW, NOW), 1002: (NOW - timedelta(hours=12), NOW), 1003: (NOW, NOW - timedelta(days=30))}
    for user, (used, began) in moments.items():
        await db.execute(
            "UPDATE sessions SET last_used_at = $2, expires_at = $3 WHERE user_id = $1",
            UUID(hex=f"{user:032d}"),
            used,
            began + timedelta(days=30),
        )
    await forget_sessions(db, NOW)
    assert [row["user_id"] for row in await db.fetch("SELECT user_id FROM sessions")] == [UUID(hex=f"{1001:032d}")]
    for number, ends in ((1, NOW), (2, NOW + timedelta(seconds=1))):
        await db.execute(
            "INSERT INTO one_time_links VALUES ($1, $2, 'invitation', $3, $4)",
            bytes([number]),
            UUID(hex=f"{1001:032d}"),
            NOW,
            ends,
        )
    await forget_links(db, NOW)
    assert await db.fetchval("SELECT count(*) FROM one_time_links") == 1


async def test_the_log_is_read_in_pages_and_forgotten(db: Database) -> None:
    for day in range(5):
        await add_entry(db, new_entry(ACCOUNT, OPERATOR, f"day_{day}", NOW + timedelta(days=day), details={"n": day}))
    page = await list_entries(db, ACCOUNT, before=None, limit=2)
    assert [(entry.action, entry.details) for entry in page] == [("day_4", {"n": 4}), ("day_3", {"n": 3})]
    rest = await list_entries(db, ACCOUNT, before=page[-1].id, limit=10)
    assert [entry.action for entry in rest] == ["day_2", "day_1", "day_0"]
    assert await list_entries(db, UUID(hex=f"{2:032d}"), before=None, limit=10) == []
    await forget_entries(db, NOW + timedelta(days=10), days=8)
    assert [entry.action for entry in await list_entries(db, ACCOUNT, before=None, limit=9)] == [
        "day_4",
        "day_3",
        "day_2",
    ]


async def test_members_become_agents(empty_database_url: str, tmp_path: Path) -> None:
    remaining = await migrate_before(empty_database_url, tmp_path, "0015")
    conn = await asyncpg.connect(empty_database_url)
    await conn.execute("INSERT INTO accounts VALUES ($1, 'x', 'starter', false, $2, $2)", ACCOUNT, NOW)
    for number, role in enumerate(("owner", "member")):
        await conn.execute(USER, UUID(int=number), ACCOUNT, f"{role}@x.y", role, NOW)
    assert await migrate(empty_database_url) == remaining
    rows = await conn.fetch("SELECT role, name, totp_active, recovery_codes FROM users ORDER BY id")
    assert [tuple(row) for row in rows] == [("owner", "", False, []), ("agent", "", False, [])]
    with pytest.raises(asyncpg.CheckViolationError):
        await conn.execute(USER, UUID(int=5), ACCOUNT, "new@x.y", "member", NOW)
    await conn.close()


async def test_a_password_that_changes_meanwhile_ends_or_prevents_the_session(db: Database, filled: str) -> None:
    """Signing in waits for a change of the password that has begun, and then finds that its own is the old one."""
    user = await get_user(db, UUID(hex=f"{1001:032d}"))
    assert user is not None
    conn = await asyncpg.connect(filled)
    changing = conn.transaction()
    await changing.start()
    await conn.execute("UPDATE users SET password_hash = 'new' WHERE id = $1", user.id)
    await conn.execute("DELETE FROM sessions WHERE user_id = $1", user.id)
    session = StoredSession(UUID(int=77), user.id, NOW, NOW, NOW + timedelta(days=30), "", "")
    entry = new_entry(user.account_id, OPERATOR, "signed_in", NOW)
    signing_in = asyncio.create_task(insert_session(db, session, b"x" * 32, user=user, replaced=None, entry=entry))
    async with patience(lambda: "the sign-in waits for no lock"):
        while not await conn.fetchval(WAITING):
            assert not signing_in.done()
            await asyncio.sleep(0.01)
    await changing.commit()
    await conn.close()
    assert await signing_in is False
    assert await db.fetchval("SELECT count(*) FROM sessions WHERE user_id = $1", user.id) == 0


async def test_links_are_used_once_by_many_at_once_while_the_password_changes(db: Database) -> None:
    user = await get_user(db, UUID(hex=f"{1001:032d}"))
    assert user is not None
    entry = new_entry(user.account_id, OPERATOR, "test", NOW)
    for turn in range(10):
        token = bytes([turn])
        until = NOW + timedelta(hours=1)
        await insert_link(db, token, user.id, "invitation", created_at=NOW, expires_at=until, entry=again(entry))
        uses = [use_link(db, token, f"link {n}", None, NOW, again(entry)) for n in range(2)]
        change = set_password(db, user.account_id, user.id, "changed", again(entry), kept=None)
        *used, changed = await asyncio.gather(*uses, change)
        assert changed
        assert used.count(None) >= 1
        assert await db.fetchval("SELECT count(*) FROM one_time_links") == 0


def again(entry: LogEntry) -> LogEntry:
    return msgspec.structs.replace(entry, id=uuid4())
