"""Ready means that writes work: a database that only answers reads is not enough."""

import asyncio
import os
import re
import signal
from datetime import UTC, datetime

import asyncpg
import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from gatepost.api.contract.health import ReadyChecks
from gatepost.readiness import WRITE_AGAIN, WRITE_EVERY, Readiness
from gatepost.store.checks import check_writes
from gatepost.store.pool import Database
from tests.conftest import PostgresServer, administer
from tests.movable_clock import MovableClock
from tests.patience import PATIENCE
from tests.running_gateway import Gateway, running_gateway

NOW = datetime(2026, 11, 15, 10, 0, tzinfo=UTC)
READY = ReadyChecks(database=True, writes=True, migrations=True, owner=True)


async def read_only(url: str, *, on: bool) -> None:
    """Lets a database take reads only, as a full or failing disk would, or a fail-over."""
    conn = await asyncpg.connect(url)
    await conn.execute("SET default_transaction_read_only = off")
    name = await conn.fetchval("SELECT quote_ident(current_database())")
    await conn.execute(f"ALTER DATABASE {name} {'SET' if on else 'RESET'} default_transaction_read_only{' = on' * on}")
    await conn.execute(
        """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()"""
    )
    await conn.close()


async def until(gateway: Gateway, status: int) -> dict[str, object]:
    async with asyncio.timeout(PATIENCE):
        while (answer := await gateway.call("GET", "/readyz", key="")).status != status:
            await asyncio.sleep(0.05)
    body: dict[str, object] = answer.json()
    return body


async def test_a_database_that_takes_no_writes_is_not_ready_and_says_so(
    parted_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gatepost.readiness.WRITE_EVERY", 0.2)
    async with running_gateway(parted_database_url, role="api") as gateway:
        assert await until(gateway, 200) == {"success": True, "message": "Ready", "data": to_builtins(READY)}
        await read_only(parted_database_url, on=True)
        expected = {"success": False, "message": "Not ready: writes", "data": to_builtins(replace(READY, writes=False))}
        async with asyncio.timeout(PATIENCE):  # at first its connections are cut, and the database seems to be gone
            while await until(gateway, 503) != expected:
                await asyncio.sleep(0.05)
        await read_only(parted_database_url, on=False)
        assert (await until(gateway, 200))["success"] is True


async def test_many_callers_share_one_write(database_url: str) -> None:
    db, clock = await Database.connect(database_url, connections=4), MovableClock(NOW)
    readiness = Readiness(db, clock, lambda: True)

    async def written() -> int:
        async with db.connection() as conn:
            version: int = await conn.fetchval("SELECT xmin::text::bigint FROM write_check")
        return version

    async def ask() -> None:
        assert all([(await readiness.checks()) == READY for _ in range(20)])

    async def transactions() -> int:
        async with db.connection() as conn:
            begun: int = await conn.fetchval("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
        return begun

    before, begun = await written(), await transactions()
    await asyncio.gather(*(ask() for _ in range(4)))
    assert await transactions() - begun <= 2  # one makes the temporary table, one writes
    first = await written()
    assert first > before
    clock.advance(WRITE_EVERY - 0.1)
    await ask()
    assert await written() == first
    clock.advance(0.1)
    await ask()
    assert await written() > first
    await db.close()


async def test_after_a_failure_it_is_tried_sooner(database_url: str) -> None:
    db, clock = await Database.connect(database_url, connections=2), MovableClock(NOW)
    readiness = Readiness(db, clock, lambda: True)
    async with db.connection() as conn:
        await conn.execute("ALTER TABLE write_check RENAME TO away")
        assert not (await readiness.checks()).writes
        await conn.execute("ALTER TABLE away RENAME TO write_check")
    assert not (await readiness.checks()).writes
    clock.advance(WRITE_AGAIN)
    assert (await readiness.checks()).writes
    await db.close()


async def test_a_write_that_hangs_has_a_time_limit(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gatepost.readiness._PATIENCE", 0.05)
    blocker = await asyncpg.connect(database_url)
    async with asyncpg.create_pool(database_url, min_size=1) as pool, blocker.transaction():  # statements have no limit
        await blocker.execute("LOCK TABLE write_check IN ACCESS EXCLUSIVE MODE")
        async with asyncio.timeout(PATIENCE):
            db = Database(pool)
            checks = await Readiness(db, MovableClock(NOW), lambda: True).checks()
        await db.close()
    assert checks == replace(READY, writes=False)
    await blocker.close()


async def test_a_database_that_is_stuck_is_not_waited_for(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gatepost.readiness._ANSWER_WITHIN", 0.05)
    async with asyncpg.create_pool(database_url, min_size=1, max_size=1) as pool:  # statements have no limit
        db = Database(pool)
        readiness = Readiness(db, MovableClock(NOW), lambda: True)
        session = await db.fetchval("SELECT pg_backend_pid()")
        os.kill(session, signal.SIGSTOP)
        try:
            async with asyncio.timeout(PATIENCE):
                checks = await readiness.checks()
        finally:
            os.kill(session, signal.SIGCONT)
        assert (checks.database, checks.writes) == (False, False)
        async with asyncio.timeout(PATIENCE):
            while not (await readiness.checks()).database:
                await asyncio.sleep(0.02)
        await db.close()


async def test_after_an_outage_writes_are_tried_at_once(database_url: str, postgres_server: PostgresServer) -> None:
    db, name = await Database.connect(database_url, connections=2), re.findall(r"/(test_\w+)\?", database_url)[0]
    readiness = Readiness(db, MovableClock(NOW), lambda: True)
    async with db.connection() as conn:
        await conn.execute("ALTER TABLE write_check RENAME TO away")
        assert not (await readiness.checks()).writes
        await conn.execute("ALTER TABLE away RENAME TO write_check")
    await administer(postgres_server, f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    await administer(
        postgres_server, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
    )
    async with asyncio.timeout(PATIENCE):
        while (await readiness.checks()).database:
            await asyncio.sleep(0.01)
        await administer(postgres_server, f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        while not (checks := await readiness.checks()).database:
            await asyncio.sleep(0.01)
    assert checks == READY
    await db.close()


async def test_an_owner_that_is_not_healthy_is_not_ready(database_url: str) -> None:
    db = await Database.connect(database_url, connections=1)
    assert await Readiness(db, MovableClock(NOW), lambda: False).checks() == replace(READY, owner=False)
    await db.close()


async def test_another_node_at_the_row_holds_up_nobody(database_url: str) -> None:
    db = await Database.connect(database_url, connections=1)
    other = await asyncpg.connect(database_url)
    async with other.transaction(), asyncio.timeout(PATIENCE):
        await other.execute("UPDATE write_check SET checked_at = now()")
        await check_writes(db)
    await other.close()
    await db.close()


async def test_a_role_without_temporary_tables_is_checked_all_the_same(database_url: str) -> None:
    db = await Database.connect(database_url, connections=1)
    async with db.connection() as conn:
        name = await conn.fetchval("SELECT quote_ident(current_database())")
        await conn.execute(f"REVOKE TEMP ON DATABASE {name} FROM PUBLIC, CURRENT_USER")
    await check_writes(db)
    await db.close()
