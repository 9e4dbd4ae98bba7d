"""The leases of channels, and the processes that hold them.

A process is in `channel_owners` while it works: it renews its row as its leases, and removes it before it stops.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg

from gatepost.model import ids
from gatepost.model.errors import Unavailable
from gatepost.store.channel_head import Lease, LogEnd
from gatepost.store.pool import Connection, Database

_EARLY = timedelta(seconds=1)  # nodes know the database's time to within milliseconds; a late sweep costs more
_FORGET = timedelta(hours=1)  # after the end of a process that could not remove its row
_AHEAD = 10  # times of a lease: one that ends later was taken while the clock of the database was ahead


async def find_unowned_channels(db: Database, now: datetime, limit: int, *, avoid: Sequence[UUID] = ()) -> list[UUID]:
    """Return channels that have work and no owner, except some, those waiting longest first."""
    rows = await db.fetch(
        """SELECT channel_id FROM channel_heads
           WHERE has_work AND work_at <= $1 AND (owner IS NULL OR expires_at < now()) AND channel_id <> ALL ($3::uuid[])
           ORDER BY work_at LIMIT $2""",
        now + _EARLY,
        limit,
        avoid,
    )
    return [row["channel_id"] for row in rows]


async def claim_channels(db: Database, channels: Sequence[UUID], owner: UUID, ttl: float) -> list[Lease]:
    """Take those of the channels that have no owner, except heads that are locked now.

    The exclusive lock excludes every write of the last owner. It is taken first: an UPDATE that waits for a lock could
    find an older version of the row (`messages/accept_plain_sql.py` says what follows).
    """
    async with db.transaction() as conn:
        rows = await conn.fetch(
            """SELECT channel_id, epoch + 1 AS epoch, owner FROM channel_heads
               WHERE channel_id = ANY ($1::uuid[]) AND (owner IS NULL OR expires_at < now())
               ORDER BY channel_id FOR UPDATE SKIP LOCKED""",
            sorted(channels),
        )
        await _take_locked(conn, [row["channel_id"] for row in rows], owner, ttl)
    return [Lease(*row.values()) for row in rows]


async def claim_channel(
    db: Database, channel_id: UUID, owner: UUID, ttl: float, *, patience: float = 1.0
) -> Lease | None:
    """Take one channel, and wait for its lock as others do. None: it has an owner, or the lock took too long."""
    try:
        async with db.transaction() as conn:
            await conn.execute("SELECT set_config('lock_timeout', $1, true)", f"{max(1, round(patience * 1000))}ms")
            row = await conn.fetchrow(
                """SELECT channel_id, epoch + 1 AS epoch, owner FROM channel_heads
                   WHERE channel_id = $1 AND (owner IS NULL OR expires_at < now()) FOR UPDATE""",
                channel_id,
            )
            if row is None:
                return None
            await _take_locked(conn, [channel_id], owner, ttl)
    except Unavailable as error:
        if isinstance(error.__cause__, asyncpg.LockNotAvailableError):
            return None
        raise
    return Lease(*row.values())


async def _take_locked(conn: "Connection[Any]", channels: Sequence[UUID], owner: UUID, ttl: float) -> None:
    if channels:
        await conn.execute(
            """UPDATE channel_heads SET owner = $2, epoch = epoch + 1, expires_at = now() + $3
               WHERE channel_id = ANY ($1::uuid[])""",
            channels,
            owner,
            timedelta(seconds=ttl),
        )


async def end_stalled_sessions(db: Database, seconds: float) -> int:
    """Terminate our sessions that have waited this long for the rest of a statement. Return how many.

    The process of such a session was stopped between two messages of one statement. The server's limit for idle
    transactions does not apply there, so that the session would hold its locks forever.
    """
    return await db.fetchval(  # type: ignore[no-any-return]
        """SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM pg_stat_activity
           WHERE datname = current_database() AND usename = current_user
             AND application_name = current_setting('application_name') AND pid <> pg_backend_pid()
             AND state = 'active' AND wait_event = 'ClientRead'
             AND state_change < clock_timestamp() - $1::interval""",
        timedelta(seconds=seconds),
    )


async def renew_leases(
    db: Database, owner: UUID, channels: Sequence[UUID], ttl: float, *, skip_locked: bool = False
) -> set[UUID]:
    """Renew the leases that are still ours and return them. A lease that another process took is not renewed.

    With `skip_locked`, heads that are locked are left out. The heads are locked by a statement of their own: one that
    waits for a head and then updates it can deadlock with others that wait for it (`messages/accept_plain_sql.py`).
    """
    skip = "SKIP LOCKED" if skip_locked else ""
    async with db.transaction() as conn:
        rows = await conn.fetch(
            f"""SELECT channel_id FROM channel_heads WHERE owner = $1 AND channel_id = ANY ($2::uuid[])
                ORDER BY channel_id FOR NO KEY UPDATE {skip}""",
            owner,
            sorted(channels),
        )
        renewed = [row["channel_id"] for row in rows]
        await conn.execute(
            "UPDATE channel_heads SET expires_at = now() + $2 WHERE channel_id = ANY ($1::uuid[])",
            renewed,
            timedelta(seconds=ttl),
        )
    return set(renewed)


async def release_channel(db: Database, lease: Lease, *, seen: LogEnd | None, work_at: datetime | None) -> bool:
    """Release a channel. With `seen`, only if nothing has happened since, so that no work is missed."""
    return await db.changes(
        """UPDATE channel_heads SET owner = NULL, expires_at = NULL,
                  work_at = CASE WHEN $3::bigint IS NULL THEN work_at ELSE $4::timestamptz END
           WHERE channel_id = $1 AND epoch = $2
             AND ($3::bigint IS NULL OR (seq = $3 AND work_at IS NOT DISTINCT FROM $5::timestamptz)) RETURNING 1""",
        lease.channel_id,
        lease.epoch,
        seen and seen.seq,
        work_at,
        seen and seen.work_at,
    )


async def release_all(db: Database, owner: UUID, *, keep: Sequence[UUID] = ()) -> int:
    """Release all channels that a stopped owner still holds, except some. Return how many."""
    rows = await db.fetch(
        """UPDATE channel_heads SET owner = NULL, expires_at = NULL
           WHERE owner = $1 AND channel_id <> ALL ($2::uuid[]) RETURNING channel_id""",
        owner,
        keep,
    )
    return len(rows)


async def correct_times_ahead(db: Database, now: datetime, ttl: float) -> int:
    """Correct what was written while the clock was ahead, by owners that have ended. Return how many channels.

    Their leases would last, and their work would wait, for as long as the clock was ahead. A lease is only shortened:
    an owner that works renews it. Work that is due later for another reason is looked at, and waits on.
    """
    limit = timedelta(seconds=_AHEAD * ttl)
    async with db.transaction() as conn:
        rows = await conn.fetch(
            """SELECT channel_id FROM channel_heads
               WHERE has_work AND (expires_at > now() + $1::interval
                                   OR (work_at > $2 AND last_event_id > $3 AND (owner IS NULL OR expires_at < now())))
               ORDER BY channel_id FOR NO KEY UPDATE SKIP LOCKED""",
            limit,
            now + limit,
            ids.floor_id(now + limit),
        )
        await conn.execute(
            """UPDATE channel_heads SET work_at = LEAST(work_at, $3),
                      expires_at = CASE WHEN owner IS NOT NULL THEN LEAST(expires_at, now() + $2::interval) END
               WHERE channel_id = ANY ($1::uuid[])""",
            [row["channel_id"] for row in rows],
            limit,
            now,
        )
    return len(rows)


async def report_owner(db: Database, owner: UUID, ttl: float) -> None:
    """Report that a process works, for some seconds from now."""
    await db.execute(
        """WITH forgotten AS (
               DELETE FROM channel_owners WHERE id = ANY (ARRAY(
                   SELECT id FROM channel_owners
                   WHERE expires_at < now() - $3::interval OR expires_at > now() + $4 * $2::interval
                   FOR UPDATE SKIP LOCKED))
           )
           INSERT INTO channel_owners (id, expires_at) VALUES ($1, now() + $2)
           ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at""",
        owner,
        timedelta(seconds=ttl),
        _FORGET,
        _AHEAD,
    )


async def remove_owner(db: Database, owner: UUID) -> None:
    """Report that a process takes no more channels."""
    await db.execute("DELETE FROM channel_owners WHERE id = $1", owner)


async def count_owned(db: Database) -> dict[UUID, int]:
    """Return the processes that work, each with the number of its channels."""
    rows = await db.fetch(
        """WITH counted AS MATERIALIZED (
               SELECT owner, count(*) AS channels FROM channel_heads WHERE expires_at > now() GROUP BY owner
           )
           SELECT o.id, COALESCE(c.channels, 0) AS channels FROM channel_owners o LEFT JOIN counted c ON c.owner = o.id
           WHERE o.expires_at > now()"""
    )
    return {row["id"]: row["channels"] for row in rows}
