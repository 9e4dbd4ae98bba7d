"""Bytes that the files of an account take: what is stored, and room reserved for files that are on their way.

Stored bytes are counted per channel by triggers on `media`; see migration 0010. Whoever stores a file under a plan with
a limit reserves room first, and releases it once the file's row is there. The account's row is locked only between the
two statements of a reservation, so that two files cannot be given the same room.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from uuid import UUID

import msgspec

from gatepost.clock import Clock
from gatepost.model.errors import GatepostError
from gatepost.model.file import storage_full
from gatepost.store.pool import Database

AHEAD = 1 << 20  # bytes that are reserved at a time for a file of unknown size

_STORED = """coalesce((SELECT sum(s.bytes) FROM channels c JOIN channel_storage s ON s.channel_id = c.id
                       WHERE c.account_id = $1), 0)::bigint"""


class StorageAllowance(msgspec.Struct, frozen=True):
    """Room for one file: whose, under which limit, and until when it is kept."""

    account_id: UUID
    channel_id: UUID
    media_id: UUID
    limit: int
    expires_at: datetime


class StorageReservation:
    """As much reserved room as a growing file needs; without a space there is no limit, and nothing is reserved."""

    def __init__(self, db: Database, clock: Clock, space: StorageAllowance | None) -> None:
        self._db = db
        self._clock = clock
        self._space = space
        self._reserved = 0

    async def cover(self, size: int, wanted: int = 0) -> None:
        """Makes sure of room for so many bytes, and for `wanted` if there is as much; refuses what does not fit."""
        if self._space is None or size <= self._reserved:
            return
        needed = size - self._reserved
        most = max(needed, wanted - self._reserved, 0 if wanted else AHEAD)
        reserved = await reserve(self._db, self._space, needed, most, self._clock.now())
        if reserved is None:
            raise storage_full(self._space.limit)
        self._reserved = reserved


@asynccontextmanager
async def room_for(db: Database, clock: Clock, space: StorageAllowance | None) -> AsyncIterator[StorageReservation]:
    """Room for a file that is being stored; given up at the end, when the file is counted or will not come."""
    try:
        yield StorageReservation(db, clock, space)
    finally:
        if space is not None:
            with suppress(GatepostError):  # the reservation expires by itself
                await release(db, space)


async def stored_bytes(db: Database, account_id: UUID) -> int:
    """Bytes that the files of an account take."""
    async with db.connection() as conn:
        stored: int = await conn.fetchval(f"SELECT {_STORED}", account_id)
    return stored


async def reserve(db: Database, space: StorageAllowance, needed: int, wanted: int, now: datetime) -> int | None:
    """Reserves room on top of what the file has: `wanted` bytes, or as many as there are, but `needed` at least.

    Returns all that the file has now; None when there is not enough, and then nothing changes.
    """
    async with db.transaction() as conn:
        await conn.execute("SELECT 1 FROM accounts WHERE id = $1 FOR NO KEY UPDATE", space.account_id)
        reserved: int | None = await conn.fetchval(
            f"""INSERT INTO storage_reservations AS r (account_id, channel_id, media_id, bytes, expires_at)
                SELECT $1, $2, $3, least($5::bigint, room), $7 FROM (SELECT $6::bigint - {_STORED} - coalesce((
                    SELECT sum(bytes) FROM storage_reservations WHERE account_id = $1 AND expires_at > $8
                ), 0)::bigint AS room) AS left_over
                WHERE room >= $4::bigint
                ON CONFLICT (channel_id, media_id) DO UPDATE SET bytes = r.bytes + excluded.bytes
                RETURNING bytes""",
            space.account_id,
            space.channel_id,
            space.media_id,
            needed,
            wanted,
            space.limit,
            space.expires_at,
            now,
        )
    return reserved


async def release(db: Database, space: StorageAllowance) -> None:
    """Gives up the room of a file: it is stored and counted by now, or it will not be."""
    async with db.connection() as conn:
        await conn.execute(
            "DELETE FROM storage_reservations WHERE channel_id = $1 AND media_id = $2",
            space.channel_id,
            space.media_id,
        )


async def forget_reservations(db: Database, now: datetime) -> None:
    """Removes what crashes left."""
    async with db.connection() as conn:
        await conn.execute("DELETE FROM storage_reservations WHERE expires_at <= $1", now)


async def plan_of_channel(db: Database, channel_id: UUID) -> tuple[UUID, str] | None:
    """The account that a channel belongs to, and its plan."""
    async with db.connection() as conn:
        row = await conn.fetchrow(
            "SELECT a.id, a.plan FROM channels c JOIN accounts a ON a.id = c.account_id WHERE c.id = $1", channel_id
        )
    return (row["id"], row["plan"]) if row else None
