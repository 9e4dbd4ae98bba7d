"""Reads a whole database as it is at one moment, while a gateway uses it.

begin, repeatable read ─► tables locked ─► no partition is dropped meanwhile (`partitions.py`) ─► COPY of each ─► end
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from graphlib import TopologicalSorter
from typing import Any

import asyncpg

from gatepost.store.backup.table_data import DatabaseContent, TableData, connect_for_copy, quoted, read_device_tables
from gatepost.store.migrate import applied_versions
from gatepost.store.partitions import DROP_LOCK

Check = Callable[[Any], Awaitable[None]]  # of a connection
_PAGE = 1_000
_POLL = 0.1
_TABLES = """
SELECT n.nspname, c.relname, p.relname AS parent, pg_table_size(c.oid) AS size,
       ARRAY(SELECT a.attname::text FROM pg_attribute a
             WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
             ORDER BY a.attnum) AS columns
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class p ON p.oid = i.inhparent
WHERE n.nspname IN ('public', 'qr_devices') AND c.relkind = 'r' AND c.relpersistence = 'p'
  AND NOT (n.nspname = 'public' AND c.relname = 'schema_migrations')
  AND NOT EXISTS (SELECT FROM pg_depend d
                  WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
ORDER BY n.nspname, c.relname"""
_REFERENCES = """
SELECT c.relname AS source, t.relname AS target FROM pg_constraint o
JOIN pg_class c ON c.oid = o.conrelid JOIN pg_class t ON t.oid = o.confrelid
WHERE o.contype = 'f' AND c.relnamespace = 'public'::regnamespace AND c.oid <> t.oid"""
_FILES = "SELECT channel_id, id, sha256 FROM media WHERE state = 'ready' ORDER BY channel_id, id"


class DatabaseSnapshot:
    """One moment of a database, for as long as it is open."""

    def __init__(self, conn: Any, content: DatabaseContent) -> None:
        self._conn = conn
        self.content = content

    async def copy(self, table: TableData, write: Callable[[bytes], Awaitable[None]]) -> int:
        """Pass the rows of a table on as text, piece by piece. Return how many there are."""
        done = await self._conn.copy_from_table(
            table.name, schema_name=table.schema, columns=table.columns, output=write, format="text"
        )
        return int(done.rpartition(" ")[2])

    async def check(self, check: Check) -> None:
        """Check something over the same connection."""
        await check(self._conn)

    async def files(self) -> AsyncIterator[list[tuple[Any, Any, str | None]]]:
        """Return channel, id and hash of all stored files, some at a time."""
        cursor = await self._conn.cursor(_FILES)
        while rows := await cursor.fetch(_PAGE):
            yield [(row["channel_id"], row["id"], row["sha256"]) for row in rows]


@asynccontextmanager
async def open_snapshot(dsn: str, prepare: Check | None = None) -> AsyncIterator[DatabaseSnapshot]:
    """Open a snapshot of a database, over a connection that was prepared for it."""
    conn = await connect_for_copy(dsn)
    try:
        if prepare is not None:
            await prepare(conn)
        transaction, content = await _begin_with_tables(conn)
        yield DatabaseSnapshot(conn, content)
        await transaction.rollback()
    finally:
        conn.terminate()


async def _begin_with_tables(conn: Any) -> tuple[Any, DatabaseContent]:
    """Begin a transaction in which no migration changes a table: one that is rewritten is empty in older snapshots.

    Tables that are created or renamed before the snapshot is taken are found by another attempt.
    """
    while True:
        known = await _read_tables(conn)
        try:
            transaction = await begin_reading(conn, known)
        except (asyncpg.UndefinedTableError, asyncpg.DeadlockDetectedError):
            continue
        content = await _read_content(conn)
        if {(table.schema, table.name) for table in content.tables} == {(table.schema, table.name) for table in known}:
            return transaction, content
        await transaction.rollback()


async def begin_reading(conn: Any, tables: Sequence[TableData] = ()) -> Any:
    """Begin a transaction with a lock that was free at its first moment: waiting for it would outdate the snapshot.

    Locks on tables are waited for: the snapshot is taken after that.
    """
    names = ", ".join(f"{quoted(table.schema)}.{quoted(table.name)}" for table in tables)
    while True:
        transaction = conn.transaction(isolation="repeatable_read", readonly=True)
        await transaction.start()
        if names:
            try:
                await conn.execute(f"LOCK TABLE {names} IN ACCESS SHARE MODE")
            except asyncpg.PostgresError:
                await transaction.rollback()
                raise
        if await conn.fetchval("SELECT pg_try_advisory_xact_lock_shared($1)", DROP_LOCK):
            return transaction
        await transaction.rollback()
        await asyncio.sleep(_POLL)


async def _read_content(conn: Any) -> DatabaseContent:
    migrations = tuple(await applied_versions(conn))
    check = await conn.fetchval("SELECT to_regclass('key_check')")
    return DatabaseContent(
        server=await conn.fetchval("SHOW server_version"),
        migrations=migrations,
        key_check=await conn.fetchval("SELECT sealed FROM key_check WHERE id = 1") if check else None,
        tables=tuple(await _read_tables(conn)),
        device_tables=await read_device_tables(conn),
    )


async def _read_tables(conn: Any) -> list[TableData]:
    """Return the tables, those first that others refer to."""
    tables = [
        TableData(row["nspname"], row["relname"], tuple(row["columns"]), row["parent"], row["size"])
        for row in await conn.fetch(_TABLES)
    ]
    order: TopologicalSorter[str] = TopologicalSorter()
    for row in await conn.fetch(_REFERENCES):
        order.add(row["source"], row["target"])
    place = {name: number for number, name in enumerate(order.static_order())}
    return sorted(tables, key=lambda t: (t.schema, place.get(t.parent or t.name, -1), t.name))
