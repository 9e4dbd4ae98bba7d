"""Checks of the database: whether it answers, takes writes and has the right key; its clock; work that waits."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import UUID

import asyncpg
import msgspec

from gatepost.store.pool import Connection, Database


class UnownedChannel(msgspec.Struct, frozen=True):
    """A channel with work and no owner."""

    channel_id: UUID
    since: datetime


class FailingEndpoint(msgspec.Struct, frozen=True):
    """An endpoint that gets no deliveries at the moment."""

    channel_id: UUID
    id: UUID
    url: str
    state: str
    reason: str | None


async def identity(db: Database) -> str:
    """Return what tells this database from a copy of it on another server, or under another name."""
    return await db.fetchval(  # type: ignore[no-any-return]
        """SELECT system_identifier || '/' || (SELECT oid FROM pg_database WHERE datname = current_database())
           FROM pg_control_system()"""
    )


async def clock_offset(db: Database) -> float:
    """Return by how many seconds the database's clock is ahead of ours."""
    before, there, after = await read_time(db, lambda: datetime.now(UTC))
    return (there - (before + (after - before) / 2)).total_seconds()


async def list_unowned(db: Database, seconds: float, limit: int) -> list[UnownedChannel]:
    """Return channels whose work is overdue by so many seconds and that have no owner, those waiting longest first."""
    rows = await db.fetch(
        """SELECT channel_id, work_at FROM channel_heads
           WHERE has_work AND work_at < now() - make_interval(secs => $1) AND (owner IS NULL OR expires_at < now())
           ORDER BY work_at LIMIT $2""",
        seconds,
        limit,
    )
    return [UnownedChannel(row["channel_id"], row["work_at"]) for row in rows]


async def list_failing(db: Database, limit: int) -> list[FailingEndpoint]:
    """Return the endpoints that are paused or disabled."""
    rows = await db.fetch(
        """SELECT channel_id, id, url, state, reason FROM endpoints WHERE state <> 'active'
           ORDER BY channel_id, id LIMIT $1""",
        limit,
    )
    return [FailingEndpoint(*row) for row in rows]


async def read_time(db: Database, local: Callable[[], datetime]) -> tuple[datetime, datetime, datetime]:
    """Return the database's time, between two readings of the local clock."""
    async with db.connection() as conn:
        before = local()
        shown: datetime = await conn.fetchval("SELECT clock_timestamp()")
        return before, shown, local()


async def ping(db: Database) -> None:
    """Raise if the database does not answer."""
    await db.fetchval("SELECT 1")


# Whether writes work, asked with real ones: a database that answers reads may have a full or a read-only disk. One row
# is updated and committed, which flushes the log. 64 KiB go into a temporary table, whose file grows from nothing each
# time: a full disk refuses that, while an update finds room in an existing page.
_ROOM = """CREATE TEMP TABLE room_check (filler text) ON COMMIT DELETE ROWS;
           ALTER TABLE pg_temp.room_check ALTER COLUMN filler SET STORAGE PLAIN"""  # one statement needs PostgreSQL 16
_FILL = "INSERT INTO pg_temp.room_check SELECT repeat('x', 7000) FROM generate_series(1, 9)"
_TOUCH = """UPDATE write_check SET checked_at = now()
            WHERE id = (SELECT id FROM write_check WHERE id = 1 FOR UPDATE SKIP LOCKED)"""


async def check_writes(db: Database) -> None:
    """Write and commit a little. Raise if the database refuses."""
    async with db.connection() as conn:
        roomy = await _may_fill(conn)
        async with conn.transaction():
            # If another node writes the same row just now, that proves as much as a write of our own.
            await conn.execute(_TOUCH)
            if roomy:
                await conn.execute(_FILL)


async def _may_fill(conn: "Connection[Any]") -> bool:
    """Create the temporary table, once per connection. Return False if the role may not have one."""
    try:
        if await conn.fetchval("SELECT to_regclass('pg_temp.room_check')") is None:
            await conn.execute(_ROOM)
    except asyncpg.InsufficientPrivilegeError:
        return False
    return True


class StoredSecret(msgspec.Struct, frozen=True):
    """A stored secret, and what it belongs to."""

    kind: Literal["channel", "endpoint"]
    id: UUID
    sealed: bytes


class KeyProof(msgspec.Struct, frozen=True):
    """What a secret key has to decrypt."""

    check: bytes | None
    secrets: tuple[StoredSecret, ...] = ()

    @property
    def exists(self) -> bool:
        """Whether the database was ever used with a key."""
        return self.check is not None or bool(self.secrets)


async def read_key_proof(db: Database) -> KeyProof:
    """Return the check value or, if there is none yet, the newest secret of a channel and of an endpoint."""
    async with db.connection() as conn:
        check = await conn.fetchval("SELECT sealed FROM key_check WHERE id = 1")
        if check is not None:
            return KeyProof(check)
    return KeyProof(None, await list_secrets(db, 1))


async def list_secrets(db: Database, limit: int | None = None) -> tuple[StoredSecret, ...]:
    """Return the newest secrets of channels and of endpoints, so many of each, or all."""
    rows = await db.fetch(
        """(SELECT 'channel' AS kind, id, secrets AS sealed FROM channels WHERE secrets IS NOT NULL
            ORDER BY id DESC LIMIT $1)
           UNION ALL
           (SELECT 'endpoint', id, secret FROM endpoints ORDER BY id DESC LIMIT $1)""",
        limit,
    )
    return tuple(StoredSecret(row["kind"], row["id"], row["sealed"]) for row in rows)


async def save_key_check(db: Database, sealed: bytes, *, replace: bool = False) -> None:
    """Write the check value if there is none, or replace it."""
    change = "UPDATE SET sealed = excluded.sealed, created_at = now()" if replace else "NOTHING"
    await db.execute(f"INSERT INTO key_check (id, sealed) VALUES (1, $1) ON CONFLICT (id) DO {change}", sealed)


class UnownedChannels(msgspec.Struct, frozen=True):
    """Channels with work and without an owner, and how long the first of them has had work, in seconds."""

    count: int
    seconds: float


async def count_unowned(db: Database, now: datetime, limit: int) -> UnownedChannels:
    """Count them up to a limit, in the order in which owners look for them."""
    row = await db.fetchrow(
        """SELECT count(*) AS count, min(work_at) AS first FROM (
             SELECT work_at FROM channel_heads
             WHERE has_work AND work_at <= :now AND (owner IS NULL OR expires_at < now()) ORDER BY work_at LIMIT :limit
           ) AS unowned""",
        now=now,
        limit=limit,
    )
    return UnownedChannels(row["count"], max(0.0, (now - row["first"]).total_seconds()) if row["first"] else 0.0)
