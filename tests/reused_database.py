"""A database that is used by one test after the other, and looks new to each of them.

To copy a database, to drop it, and to plan every statement for it again takes more time than most tests with a gateway.
So the rows that a test leaves are deleted, and the next test gets the same database, with the connections to it
(`tests/warm_connections.py`). It is dropped instead if anything but rows has changed, if somebody is still connected,
if there are very many rows, and after some tests, because deleted rows take space.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from gatepost.store.embedded import admin_dsn
from gatepost.store.pool import Database
from tests.warm_connections import WarmConnections

USES = 60
MANY = 5_000  # rows
CONNECTIONS = 16  # of a gateway, unless a test sets them

# Everything that a test can change besides rows: tables, columns, indexes, triggers, functions, statistics, settings.
_SHAPE = """
SELECT ARRAY[
    (SELECT sum(hashtext(concat_ws(' ', oid, xmin, relname, relkind, relowner, relacl, reloptions, reltuples))::bigint)
     FROM pg_class WHERE oid >= 16384 AND relpersistence <> 't' AND relkind <> 't'),
    (SELECT max(xmin::text::bigint) FROM pg_attribute),
    (SELECT sum(hashtext(concat_ws(' ', oid, tgname, tgenabled))::bigint) FROM pg_trigger),
    (SELECT count(*) FROM pg_constraint),
    (SELECT count(*) FROM pg_index WHERE indisvalid AND indexrelid >= 16384),
    (SELECT count(*) FROM pg_namespace WHERE nspname !~ '^pg_'),
    (SELECT count(*) FROM pg_proc WHERE oid >= 16384 AND pronamespace <> pg_my_temp_schema()),
    (SELECT count(*) FROM pg_publication),
    (SELECT count(*) FROM pg_rewrite),
    (SELECT count(*) FROM pg_policy),
    (SELECT count(*) FROM pg_db_role_setting)
]"""
_TABLES = """
SELECT quote_ident(nspname) || '.' || quote_ident(relname) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
WHERE relkind IN ('r', 'p') AND NOT relispartition AND c.oid >= 16384 AND relpersistence <> 't' ORDER BY 1"""
_OTHERS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


class ReusedDatabase:
    """One such database. `open`, `clean` and `close` run in another event loop than the tests."""

    def __init__(self, name: str, url: str) -> None:
        self.name = name
        self.url = url
        self.warm = WarmConnections(url, CONNECTIONS)
        self._uses = 0
        self._conn: asyncpg.Connection
        self._shape: list[Any] = []

    async def open(self) -> None:
        """Prepare the cleaning of a new copy."""
        conn = self._conn = await asyncpg.connect(admin_dsn(self.url))
        await conn.execute("SET session_replication_role = replica")  # deletes rows in any order
        tables = [row[0] for row in await conn.fetch(_TABLES)]
        steps = [f"DELETE FROM {table}; GET DIAGNOSTICS n = ROW_COUNT; total := total + n;" for table in tables]
        for number, table in enumerate(tables):
            if await conn.fetchval(f"SELECT EXISTS (SELECT 1 FROM {table})"):
                await conn.execute(f"CREATE TEMP TABLE first_{number} AS TABLE {table}")
                steps.append(f"INSERT INTO {table} TABLE pg_temp.first_{number};")
        await conn.execute(
            f"""CREATE FUNCTION pg_temp.clean() RETURNS bigint LANGUAGE plpgsql AS $$
                DECLARE n bigint; total bigint := 0; BEGIN {" ".join(steps)} RETURN total; END $$"""
        )
        self._shape = await conn.fetchval(_SHAPE)

    async def clean(self) -> bool:
        """Delete the rows of a test. Return whether the database is as new."""
        self._uses += 1
        try:
            if self._uses >= USES or await self._conn.fetchval(_OTHERS) > self.warm.size:
                return False
            if await self._conn.fetchval(_SHAPE) != self._shape:
                return False
            return bool(await self._conn.fetchval("SELECT pg_temp.clean()") < MANY)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):  # the test ended all connections
            return False

    async def close(self) -> None:
        """Close the connection that cleans it."""
        await self._conn.close()


in_use: dict[str, ReusedDatabase] = {}  # by their addresses


@asynccontextmanager
async def connected(url: str, connections: int) -> AsyncIterator[Database]:
    """Yield a database for a gateway. The first gateway on a reused database gets the kept connections."""
    one = in_use.get(url)
    if one and connections == CONNECTIONS and not one.warm.used:
        async with one.warm.database() as db:
            yield db
        return
    db = await Database.connect(url, connections=connections)
    try:
        yield db
    finally:
        await db.close()
