"""Writes a whole database in one transaction: it has all of it afterwards, or what it had before.

lock (no gateway starts meanwhile) ─► nobody else connected? ─► drop ─► migrations of the copy ─► COPY ─► later
migrations ─► leases ended, messages that waited settled ─► commit
"""

import asyncio
import re
from collections.abc import AsyncIterable, AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal
from uuid import UUID

import msgspec

from gatepost.model.errors import Conflict
from gatepost.store.backup.table_data import DatabaseContent, TableData, connect_for_copy, quoted
from gatepost.store.migrate import (
    CREATE_TABLE,
    LOCK_KEY,
    LOCK_POLL,
    Migration,
    applied_versions,
    apply,
    check_not_moved,
    check_server,
    read_migrations,
    shipped,
)
from gatepost.store.moves.tables import delete_rows
from gatepost.store.partitions import make_partition

Waiting = Literal["fail", "on_unknown", "send"]
_LOCK_TRIES = 20
_PARTITION = re.compile(r"[a-z_]+_\d{8}_\d{8}")
_OWN_TABLES = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname IN ('public', 'qr_devices') AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND NOT EXISTS (SELECT FROM pg_depend d
                  WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')"""
_OWN_FUNCTIONS = """
SELECT p.oid::regprocedure::text FROM pg_proc p
WHERE p.pronamespace = 'public'::regnamespace AND NOT EXISTS (
    SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')"""
# PgBouncer can append the client's address to the name (application_name_add_host).
_OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name ~ '^gatepost( - |$)'"""
_HEADS = "UPDATE channel_heads SET owner = NULL, expires_at = NULL, epoch = epoch + 1, work_at = now()"
# The numbers of the events that are lost are not given again: receivers order and compare events by them.
LOST_EVENTS = 1_000_000_000  # at most, of one channel
_SKIP = f"UPDATE channel_heads SET seq = seq + {LOST_EVENTS}"
# As if an owner had ended while it sent them: the network's status decides and, without one, the message's policy.
_WAITING = """
UPDATE messages SET state = 1, attempt = greatest(attempt, 1), sending_at = now(), next_at = NULL,
                    fail_unknown = fail_unknown OR $1
WHERE NOT incoming AND state IN (0, 1) AND (send_at IS NULL OR send_at <= now()) RETURNING 1"""


class LoadedDatabase(msgspec.Struct, frozen=True):
    """A database after a copy was written into it."""

    migrated: int  # migrations that the copy did not have
    unknown: int  # messages whose outcome is unknown
    moved: int = 0  # accounts that were left out


class DatabaseLoad:
    """The transaction that writes a copy."""

    def __init__(self, conn: Any, content: DatabaseContent) -> None:
        self._conn = conn
        self._content = content

    async def prepare(self) -> None:
        """Drop what is there, and create the empty tables of the copy."""
        await _drop_all(self._conn)
        await self._conn.execute(CREATE_TABLE)
        for migration in known_migrations(self._content.migrations):
            await apply(self._conn, migration)
        for device in self._content.device_tables:
            for sql in device.create:
                await self._conn.execute(sql)
        for table in self._content.tables:
            if table.parent:
                await make_partition(self._conn, *_checked(table))
        for table in self._content.tables:
            if table.schema == "public":
                await self._conn.execute(f"ALTER TABLE {_path(table)} DISABLE TRIGGER USER")
        filled = ", ".join(_path(table) for table in self._content.tables)
        await self._conn.execute(f"TRUNCATE {filled}")  # migrations write some rows

    async def copy(self, table: TableData, pieces: AsyncIterable[bytes]) -> int:
        """Write the rows of a table. Return how many there were."""
        done = await self._conn.copy_to_table(
            table.name, schema_name=table.schema, columns=table.columns, source=pieces, format="text"
        )
        return int(done.rpartition(" ")[2])

    async def finish(
        self, waiting: Waiting | None, cell: str | None = None, elsewhere: Collection[UUID] = ()
    ) -> LoadedDatabase:
        """Migrate the copy, and end the leases. With `waiting`, settle the messages that were not sent.

        Accounts that are in other cells now are left out: both would send their messages. Raise Conflict if it is the
        copy of another cell than this one; a copy without a name becomes this cell.
        """
        for table in self._content.tables:
            if table.schema == "public":
                await self._conn.execute(f"ALTER TABLE {_path(table)} ENABLE TRIGGER USER")
        for device in self._content.device_tables:
            for sql in device.references:
                await self._conn.execute(sql)
        pending = [m for m in read_migrations(shipped()) if m.version not in self._content.migrations]
        for migration in pending:
            await apply(self._conn, migration)
        if cell is not None:
            await self._name(cell)
        moved = await self._leave_out(elsewhere)
        await self._conn.execute(_HEADS)
        unknown = 0
        if waiting is not None:
            await self._conn.execute("DELETE FROM sessions")
            await self._conn.execute("DELETE FROM one_time_links")
            if waiting != "send":
                await self._conn.execute(_SKIP)
                unknown = len(await self._conn.fetch(_WAITING, waiting == "fail"))
        return LoadedDatabase(len(pending), unknown, moved)

    async def _leave_out(self, accounts: Collection[UUID]) -> int:
        """Delete accounts with all their rows. Return how many there were."""
        rows = await self._conn.fetch(
            """SELECT id, ARRAY(SELECT id FROM channels WHERE account_id = a.id) AS channels FROM accounts a
               WHERE id = ANY ($1::uuid[])""",
            list(accounts),
        )
        for row in rows:
            await self._conn.execute("DELETE FROM accounts WHERE id = $1", row["id"])
            await self._conn.execute("DELETE FROM account_moves WHERE account_id = $1", row["id"])  # it has ended
            await delete_rows(self._conn, row["id"], row["channels"])
        return len(rows)

    async def _name(self, cell: str) -> None:
        await self._conn.execute("INSERT INTO cell (id, name) VALUES (1, $1) ON CONFLICT (id) DO NOTHING", cell)
        name = await self._conn.fetchval("SELECT name FROM cell WHERE id = 1")
        if name != cell:
            raise Conflict(f"This is a backup of the cell {name}, not of {cell}. Nothing was changed.")


@asynccontextmanager
async def open_load(dsn: str, content: DatabaseContent, *, replace: bool) -> AsyncIterator[DatabaseLoad]:
    """Begin to write a copy; it is committed at the end. Raise Conflict if the database is in use or not empty."""
    known_migrations(content.migrations)
    async with _connected(dsn) as conn:
        server = conn.get_server_version()
        check_server(server.major, f"{server.major}.{server.minor}")
        await _lock(conn)
        async with conn.transaction():
            await check_alone(conn)
            await _check_target(conn, replace=replace)
            yield DatabaseLoad(conn, content)
            await check_alone(conn)


async def check_target(dsn: str, *, replace: bool, cell: str | None = None) -> None:
    """Raise Conflict if a copy must not be written into this database, or if it is another cell than this one."""
    async with _connected(dsn) as conn:
        await check_alone(conn)
        await _check_target(conn, replace=replace)
        if cell is not None and await conn.fetchval("SELECT to_regclass('public.cell')") is not None:
            found = await conn.fetchval("SELECT name FROM cell WHERE id = 1")
            if found not in (None, cell):
                raise Conflict(f"The database at the address of the cell {cell} is the cell {found}.")


async def accounts_in(dsn: str) -> set[UUID]:
    """Return the accounts of a database, which may be empty."""
    async with _connected(dsn) as conn:
        if await conn.fetchval("SELECT to_regclass('public.accounts')") is None:
            return set()
        return {row["id"] for row in await conn.fetch("SELECT id FROM accounts")}


async def check_unused(dsn: str) -> None:
    """Raise Conflict if a gateway uses this database."""
    async with _connected(dsn) as conn:
        await check_alone(conn)


async def keep_unused(conn: Any) -> None:
    """Let no gateway and no command begin to use a database while this connection is open.

    Raise if one uses it, or if the database was moved to another server before.
    """
    await _lock(conn)
    await check_not_moved(conn)
    await check_alone(conn)


async def check_other(source: str, target: str) -> None:
    """Raise Conflict if both addresses are those of the same database."""
    seen = []
    for dsn in (source, target):
        async with _connected(dsn) as conn:
            seen.append(await conn.fetchrow("SELECT pg_postmaster_start_time(), current_database()"))
    if seen[0] == seen[1]:
        raise Conflict("Both are the same database. Nothing was changed.")


@asynccontextmanager
async def _connected(dsn: str) -> AsyncIterator[Any]:
    conn = await connect_for_copy(dsn)
    try:
        yield conn
    finally:
        await conn.close(timeout=10)


async def _lock(conn: Any) -> None:
    for _ in range(_LOCK_TRIES):  # a session that has just ended holds it for a moment
        if await conn.fetchval("SELECT pg_try_advisory_lock($1)", LOCK_KEY):
            return
        await asyncio.sleep(LOCK_POLL)
    raise Conflict("A gateway is starting on this database, or a copy is being made. Try again later.")


async def check_alone(conn: Any) -> None:
    """Raise Conflict if a gateway uses this database."""
    await conn.execute("SELECT pg_stat_clear_snapshot()")  # a transaction sees the sessions of its first look again
    if others := await conn.fetchval(_OTHERS):
        raise Conflict(
            f"A gateway uses this database ({others} connections). Stop all gateways of the database, run this "
            "command again, and start them."
        )


async def _check_target(conn: Any, *, replace: bool) -> None:
    name = await conn.fetchval("SELECT current_database()")
    if not await applied_versions(conn):
        if found := await conn.fetch(_OWN_TABLES):
            raise Conflict(
                f"The database {name} has tables that are not Gatepost's, such as {found[0]['relname']}. "
                "Give Gatepost a database of its own."
            )
        return
    accounts = await conn.fetchval("SELECT to_regclass('public.accounts')")
    if not replace and accounts and await conn.fetchval("SELECT EXISTS (SELECT FROM accounts)"):
        raise Conflict(f"The database {name} is not empty. To replace everything in it, add --replace.")


def known_migrations(versions: Sequence[int]) -> list[Migration]:
    """Return the migrations of a copy; raise Conflict if this version does not know one of them."""
    known = {migration.version: migration for migration in read_migrations(shipped())}
    if unknown := [version for version in versions if version not in known]:
        raise Conflict(
            f"The copy is at migration {max(versions)}, and this Gatepost knows migrations up to {max(known)}"
            f"{'' if max(versions) > max(known) else f', without {unknown[0]}'}: a newer Gatepost made it. "
            "Upgrade this Gatepost, then run the command again."
        )
    return [known[version] for version in sorted(versions)]


async def _drop_all(conn: Any) -> None:
    for row in await conn.fetch(_OWN_TABLES):
        await conn.execute(f"DROP TABLE {quoted(row['nspname'])}.{quoted(row['relname'])} CASCADE")
    for row in await conn.fetch(_OWN_FUNCTIONS):
        await conn.execute(f"DROP ROUTINE {row[0]} CASCADE")


def _checked(table: TableData) -> tuple[str, str]:
    if not table.parent or not _PARTITION.fullmatch(table.name) or not re.fullmatch("[a-z_]+", table.parent):
        raise Conflict(f"The copy has a table {table.name!r} that Gatepost does not have.")
    return table.parent, table.name


def _path(table: TableData) -> str:
    return f"{quoted(table.schema)}.{quoted(table.name)}"
