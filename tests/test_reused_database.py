"""A database that tests use one after the other looks new to each of them."""

from typing import Any

import asyncpg
import pytest

from tests.conftest import ReusedDatabases
from tests.reused_database import MANY, connected
from tests.shared_loop import _function_scoped_runner

__all__ = ["_function_scoped_runner"]

LEVEL = "SELECT level FROM oldest_program"


@pytest.fixture(autouse=True)
async def prepared(reused_databases: ReusedDatabases) -> None:
    """Let there be one that was cleaned."""
    async with reused_databases.one():
        pass


async def run(url: str, *statements: str) -> Any:
    """Run statements in a connection of their own; return the value of the last one."""
    conn = await asyncpg.connect(url)
    try:
        for statement in statements[:-1]:
            await conn.execute(statement)
        return await conn.fetchval(statements[-1])
    finally:
        await conn.close()


async def test_rows_are_deleted_and_first_rows_are_restored(reused_databases: ReusedDatabases) -> None:
    async with reused_databases.one() as url:
        first = await run(url, LEVEL)
        await run(url, "UPDATE oldest_program SET level = level + 1", "DELETE FROM write_check", "SELECT 1")
        await run(
            url, "INSERT INTO account_usage (account_id, month, used) VALUES (gen_random_uuid(), now(), 1)", LEVEL
        )
    async with reused_databases.one() as again:
        assert again == url
        assert await run(again, LEVEL) == first
        assert await run(again, "SELECT count(*) FROM write_check") == 1
        assert await run(again, "SELECT count(*) FROM account_usage") == 0


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TABLE more (id int)",
        "ALTER TABLE write_check ADD more int",
        "ALTER TABLE oldest_program ALTER level SET STATISTICS 10",
        "CREATE INDEX more ON oldest_program (level)",
        "ALTER TABLE accounts DISABLE TRIGGER USER",
        "CREATE FUNCTION more() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE SCHEMA more",
        "ANALYZE oldest_program",
    ],
)
async def test_a_database_that_was_changed_is_not_used_again(reused_databases: ReusedDatabases, change: str) -> None:
    async with reused_databases.one() as url:
        await run(url, change, "SELECT 1")
    async with reused_databases.one() as another:
        assert another != url


async def test_a_database_to_which_somebody_is_connected_is_not_used_again(reused_databases: ReusedDatabases) -> None:
    async with reused_databases.one() as url:
        conn = await asyncpg.connect(url)
    async with reused_databases.one() as another:
        assert another != url
    await conn.close()


async def test_a_database_with_many_deleted_rows_is_not_used_again(reused_databases: ReusedDatabases) -> None:
    async with reused_databases.one() as url:
        rows = f"SELECT gen_random_uuid(), now(), 1 FROM generate_series(1, {MANY})"
        await run(url, f"INSERT INTO account_usage (account_id, month, used) {rows}", "SELECT 1")
    async with reused_databases.one() as another:
        assert another != url


async def test_a_kept_connection_is_as_new(reused_databases: ReusedDatabases) -> None:
    async def state(conn: Any) -> Any:
        return await conn.fetchrow(
            """SELECT pg_backend_pid(), current_setting('enable_seqscan'), current_setting('work_mem'),
                      (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()),
                      (SELECT count(*) FROM pg_listening_channels())"""
        )

    async with reused_databases.one() as url, connected(url, 16) as db, db.connection() as conn:
        before = await state(conn)
        await conn.execute("SET work_mem = '1MB'; SET enable_seqscan = on; LISTEN x; SELECT pg_advisory_lock(1)")
        assert await state(conn) != before
    async with reused_databases.one() as url, connected(url, 16) as db, db.connection() as conn:
        assert await state(conn) == before
