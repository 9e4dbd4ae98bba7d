"""The storage space of an account: bytes of its files, and reservations for files being stored.

Stored bytes are counted per channel by triggers on `media`; see migration 0009. A file under a plan with a limit
reserves space first, and releases it when the file's row is written. The account's row is locked only between the two
statements of a reservation, so that two files cannot get the same space.
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
from gatepost.store.statement import statement

AHEAD = 1 << 20  # bytes that are reserved at a time for a file of unknown size

_STORED = """coalesce((SELECT sum(s.bytes) FROM channels c JOIN channel_storage s ON s.channel_id = c.id
                       WHERE c.account_id = :account_id), 0)::bigint"""


class StorageAllowance(msgspec.Struct, frozen=True):
    """Space for one file: whose, under which limit, and until when it is reserved."""

    account_id: UUID
    channel_id: UUID
    media_id: UUID
    limit: int
    expires_at: datetime


class StorageReservation:
    """The reserved space of a growing file; without an allowance there is no limit, and nothing is reserved."""

    def __init__(self, db: Database, clock: Clock, space: StorageAllowance | None) -> None:
        self._db = db
        self._clock = clock
        self._space = space
        self._reserved = 0

    async def cover(self, size: int, wanted: int = 0) -> None:
        """Ensure space for so many bytes, and for `wanted` if available; raise if they do not fit."""
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
    """Reserve space while a file is being stored; released at the end, when the file is counted or has failed."""
    try:
        yield StorageReservation(db, clock, space)
    finally:
        if space is not None:
            with suppress(GatepostError):  # the reservation expires
                await release(db, space)


async def stored_bytes(db: Database, account_id: UUID) -> int:
    """Return the bytes of an account's files."""
    stored: int = await db.fetchval(f"SELECT {_STORED}", account_id=account_id)
    return stored


async def reserve(db: Database, space: StorageAllowance, needed: int, wanted: int, now: datetime) -> int | None:
    """Reserve more space for a file: `wanted` bytes, or as many as are free, but at least `needed`.

    Return all that the file has reserved; None if there is not enough, and then nothing changes.
    """
    async with db.transaction() as conn:
        await conn.execute("SELECT 1 FROM accounts WHERE id = $1 FOR NO KEY UPDATE", space.account_id)
        reserved: int | None = await conn.fetchval(
            *statement(
                f"""INSERT INTO storage_reservations AS r (account_id, channel_id, media_id, bytes, expires_at)
                    SELECT :account_id, :channel_id, :media_id, least(:wanted::bigint, room), :expires_at
                    FROM (SELECT :limit::bigint - {_STORED} - coalesce((
                        SELECT sum(bytes) FROM storage_reservations WHERE account_id = :account_id AND expires_at > :now
                    ), 0)::bigint AS room) AS left_over
                    WHERE room >= :needed::bigint
                    ON CONFLICT (channel_id, media_id) DO UPDATE SET bytes = r.bytes + excluded.bytes
                    RETURNING bytes""",
                needed=needed,
                wanted=wanted,
                now=now,
                **msgspec.structs.asdict(space),
            )
        )
    return reserved


async def release(db: Database, space: StorageAllowance) -> None:
    """Release the space of a file: it is stored and counted, or it has failed."""
    await db.execute(
        "DELETE FROM storage_reservations WHERE channel_id = $1 AND media_id = $2",
        space.channel_id,
        space.media_id,
    )


async def forget_reservations(db: Database, now: datetime) -> None:
    """Delete reservations that crashed processes left."""
    await db.execute("DELETE FROM storage_reservations WHERE expires_at <= $1", now)


async def plan_of_channel(db: Database, channel_id: UUID) -> tuple[UUID, str] | None:
    """Return the account of a channel, and its plan."""
    row = await db.fetchrow(
        "SELECT a.id, a.plan FROM channels c JOIN accounts a ON a.id = c.account_id WHERE c.id = $1", channel_id
    )
    return (row["id"], row["plan"]) if row else None
