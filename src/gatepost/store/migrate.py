"""Brings a database to the shape this program knows.

connect ─► server 15 or newer? ─► take the lock (others wait here)
                                      │
         applied = schema_migrations, known = migrations/NNNN_name.sql
                                      │
           newer than known? refuse ──┤  (unless oldest_program says that this program can work with it)
                                      ▼
         for each pending file: begin, run it, write its row, commit
"""

import asyncio
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

import asyncpg
import msgspec
import structlog

if TYPE_CHECKING:
    from asyncpg import Record
    from asyncpg.connection import Connection

log = structlog.get_logger("gatepost.store")

OLDEST_SERVER = 15
# Any constant does, as long as every node uses the same one: the letters "gatepost" as a 64-bit number.
LOCK_KEY = int.from_bytes(b"gatepost", "big")
LOCK_POLL = 0.1  # seconds between attempts to get the lock
REPORT_EVERY = 5.0  # seconds of waiting for it between two lines in the log
# Everybody who uses a table waits behind a migration that waits for it, for example until a dump of the database ends.
# So a migration waits only shortly, and is tried again. A role may have limits that are too short for migrations.
_SESSION = "SET lock_timeout = '1s'; SET statement_timeout = 0"
LOCKED_PAUSE = 5.0  # seconds until it is tried again
_MOVED = "moved to "  # the comment on schema_migrations of a database that was moved
FILE_NAME = re.compile(r"(?P<version>\d{4})_(?P<name>[a-z0-9_]+)\.sql")

CREATE_TABLE = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    version    int         PRIMARY KEY,
    name       text        NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
)
"""


class MigrationError(Exception):
    """The database cannot be used as it is.

    MigrationError
      ├─ ServerTooOld      PostgreSQL is older than we support
      ├─ DatabaseTooNew    a newer Gatepost has been here, and this one cannot work with what it left
      ├─ DatabaseMoved     it was copied to another server, and is not used any more
      └─ MigrationFailed   a file's SQL was refused; that file left nothing behind
    """


class ServerTooOld(MigrationError):
    """The PostgreSQL server is older than the oldest one we support."""


class DatabaseTooNew(MigrationError):
    """The database was migrated by a newer Gatepost, and this one cannot work with it."""


class DatabaseMoved(MigrationError):
    """The database was moved to another server: its messages would be sent twice."""


class MigrationFailed(MigrationError):
    """The SQL of one migration was refused by the server."""


class Migration(msgspec.Struct, frozen=True):
    """One file of SQL and its place in the order."""

    version: int
    name: str
    sql: str

    @property
    def label(self) -> str:
        return f"{self.version:04}_{self.name}"


class SchemaState(msgspec.Struct, frozen=True):
    """What a database has, and what it still lacks for this program."""

    version: int
    known: int
    pending: tuple[str, ...]

    @property
    def newer(self) -> bool:
        """Whether a newer Gatepost has migrated the database. This one can work with it."""
        return self.version > self.known


def shipped() -> Traversable:
    """Return the folder of migrations inside this package."""
    return files("gatepost.store").joinpath("migrations")


def read_migrations(folder: Traversable) -> list[Migration]:
    """Read every NNNN_name.sql of a folder, in order."""
    found = sorted(
        (parse_file(entry.name, entry.read_text("utf-8")) for entry in folder.iterdir() if entry.name.endswith(".sql")),
        key=lambda migration: migration.version,
    )
    versions = [migration.version for migration in found]
    if len(set(versions)) != len(versions):
        raise ValueError(f"Two migrations share a number: {[m.label for m in found]}")
    return found


def parse_file(file_name: str, sql: str) -> Migration:
    """Make a migration of a file's name and text."""
    match = FILE_NAME.fullmatch(file_name)
    if match is None:
        raise ValueError(f"A migration is named NNNN_name.sql, not {file_name}")
    return Migration(version=int(match["version"]), name=match["name"], sql=sql)


def check_server(major: int, version: str) -> None:
    """Refuse a PostgreSQL that is older than we support."""
    if major < OLDEST_SERVER:
        raise ServerTooOld(
            f"The database server is PostgreSQL {version}; Gatepost needs {OLDEST_SERVER} or newer. "
            "Upgrade the server, or leave database.url empty to use the embedded one."
        )


def compare(applied: Iterable[int], known: Sequence[Migration], oldest: int | None = None) -> list[Migration]:
    """Return what is still to be applied; refuse a database that is ahead of us.

    `oldest` is the level that a program must know to work with the database, if the database says so: during an
    upgrade, programs of the version before are started again.
    """
    done = set(applied)
    newest_here, newest_known = max(done, default=0), max((m.version for m in known), default=0)
    if newest_here > newest_known and (oldest is None or oldest > newest_known):
        raise DatabaseTooNew(
            f"The database is at version {newest_here}, this program knows versions up to {newest_known}: "
            "a newer Gatepost has migrated it. Upgrade this Gatepost."
        )
    return [migration for migration in known if migration.version not in done]


async def check(conn: "Connection[Record]", source: Traversable | None = None) -> SchemaState:
    """Return the state of a database without changing it; raise if it cannot be used."""
    server = conn.get_server_version()
    check_server(server.major, f"{server.major}.{server.minor}")
    await check_not_moved(conn)
    known = read_migrations(source or shipped())
    applied = await applied_versions(conn)
    return SchemaState(
        version=max(applied, default=0),
        known=max((m.version for m in known), default=0),
        pending=tuple(m.label for m in compare(applied, known, await oldest_program(conn))),
    )


async def migrate(dsn: str, source: Traversable | None = None) -> int:
    """Apply all pending migrations, each in a transaction of its own, and return how many there were."""
    known = read_migrations(source or shipped())
    conn = await asyncpg.connect(dsn)
    try:
        server = conn.get_server_version()
        check_server(server.major, f"{server.major}.{server.minor}")
        await lock(conn)
        await check_not_moved(conn)
        applied = await applied_versions(conn)
        pending = compare(applied, known, await oldest_program(conn))
        if (newest := max(applied, default=0)) > (mine := max((m.version for m in known), default=0)):
            log.warning("the database was migrated by a newer version", database=newest, known=mine)
        await conn.execute(CREATE_TABLE)
        await conn.execute(_SESSION)
        for migration in pending:
            await _apply_when_free(conn, migration)
            if applied:
                log.info("migration applied", migration=migration.label)
        if not applied:
            log.info("tables created", migrations=len(pending))
        return len(pending)
    finally:
        await conn.close()


async def mark_moved(dsn: str, target: str, now: datetime) -> None:
    """Record in a database where it was moved to, so that no gateway that still has its address uses it."""
    conn = await asyncpg.connect(dsn)
    try:
        note = await conn.fetchval("SELECT quote_literal($1)", f"{_MOVED}{target} on {now:%Y-%m-%d}")
        await conn.execute(f"COMMENT ON TABLE schema_migrations IS {note}")
    finally:
        await conn.close()


async def check_not_moved(conn: "Connection[Record]") -> None:
    """Refuse a database that was moved."""
    note = await conn.fetchval("SELECT obj_description(to_regclass('schema_migrations'), 'pg_class')")
    if note and note.startswith(_MOVED):
        raise DatabaseMoved(
            f"This database was {note}. Set database.url to that address. To use this database again, "
            "run in it: COMMENT ON TABLE schema_migrations IS NULL"
        )


async def lock(conn: "Connection[Record]") -> None:
    """Wait until no other node migrates, and report who does if it takes long.

    A session lock, so that it spans many transactions and the server frees it when this node dies.
    """
    loop = asyncio.get_running_loop()
    report_at = loop.time() + REPORT_EVERY
    while not await conn.fetchval("SELECT pg_try_advisory_lock($1)", LOCK_KEY):
        if loop.time() >= report_at:
            report_at = loop.time() + REPORT_EVERY
            log.warning("waiting for the lock of migrations", **await lock_holder(conn))
        await asyncio.sleep(LOCK_POLL)


async def lock_holder(conn: "Connection[Record]") -> dict[str, object]:
    """Return which session holds the lock of migrations, as fields of a log line."""
    row = await conn.fetchrow(
        """SELECT a.pid, a.application_name AS application, host(a.client_addr) AS client, a.state,
                  a.backend_start::text AS connected_at, left(a.query, 200) AS query
           FROM pg_locks l JOIN pg_stat_activity a USING (pid)
           WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
             AND l.classid::bigint = $1::bigint >> 32 AND l.objid::bigint = $1::bigint & 4294967295
             AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())""",
        LOCK_KEY,
    )
    fix = "If no gateway or command migrates now, end that session: SELECT pg_terminate_backend(pid)"
    return {**dict(row), "fix": fix} if row else {}


async def applied_versions(conn: "Connection[Record]") -> list[int]:
    """Return the versions a database has; none when it is new."""
    if await conn.fetchval("SELECT to_regclass('schema_migrations')") is None:
        return []
    return [row["version"] for row in await conn.fetch("SELECT version FROM schema_migrations ORDER BY version")]


async def oldest_program(conn: "Connection[Record]") -> int | None:
    """Return the level of migrations that a program must know to work with this database, if the database says so."""
    if await conn.fetchval("SELECT to_regclass('oldest_program')") is None:
        return None
    return await conn.fetchval("SELECT level FROM oldest_program")  # type: ignore[no-any-return]


async def _apply_when_free(conn: "Connection[Record]", migration: Migration) -> None:
    """Run one migration when nobody holds a lock that it needs."""
    while True:
        try:
            return await apply(conn, migration)
        except MigrationFailed as error:
            if not isinstance(error.__cause__, asyncpg.LockNotAvailableError | asyncpg.DeadlockDetectedError):
                raise
            log.warning("migration waits for a lock", migration=migration.label, reason=str(error.__cause__))
        await asyncio.sleep(LOCKED_PAUSE)


async def apply(conn: "Connection[Record]", migration: Migration) -> None:
    """Run one migration and record it, both or neither."""
    try:
        async with conn.transaction():
            await conn.execute(migration.sql)
            await conn.execute(
                "INSERT INTO schema_migrations (version, name) VALUES ($1, $2)", migration.version, migration.name
            )
    except asyncpg.PostgresError as error:
        raise MigrationFailed(
            f"Migration {migration.label} failed{line_of(migration.sql, error)}: {error}. "
            "Nothing of it was applied; those before it stay."
        ) from error


def line_of(sql: str, error: asyncpg.PostgresError) -> str:
    """Return in which line of the file the server found the error, if it says so."""
    position = getattr(error, "position", None)
    return "" if position is None else f" at line {sql.count(chr(10), 0, int(position) - 1) + 1}"
