"""What `gatepost doctor` asks the database: how its clock differs, and what waits for somebody."""

from datetime import UTC, datetime
from uuid import UUID

import msgspec

from gatepost.store.pool import Database


class UnownedChannel(msgspec.Struct, frozen=True):
    """A channel with work that no process does."""

    channel_id: UUID
    since: datetime


class FailingEndpoint(msgspec.Struct, frozen=True):
    """A webhook endpoint that gets nothing at the moment."""

    channel_id: UUID
    id: UUID
    url: str
    state: str
    reason: str | None


async def clock_offset(db: Database) -> float:
    """Seconds by which the database's clock is ahead of ours."""
    async with db.connection() as conn:
        before = datetime.now(UTC)
        there: datetime = await conn.fetchval("SELECT clock_timestamp()")
        after = datetime.now(UTC)
    return (there - (before + (after - before) / 2)).total_seconds()


async def list_unowned(db: Database, seconds: float, most: int) -> list[UnownedChannel]:
    """Channels whose work has been due for so long and that no process owns, the longest waiting first."""
    async with db.connection() as conn:
        rows = await conn.fetch(
            """SELECT channel_id, work_at FROM channel_heads
               WHERE work_at < now() - make_interval(secs => $1) AND (owner IS NULL OR expires_at < now())
               ORDER BY work_at LIMIT $2""",
            seconds,
            most,
        )
    return [UnownedChannel(row["channel_id"], row["work_at"]) for row in rows]


async def list_failing(db: Database, most: int) -> list[FailingEndpoint]:
    """Endpoints that are paused or disabled."""
    async with db.connection() as conn:
        rows = await conn.fetch(
            """SELECT channel_id, id, url, state, reason FROM endpoints WHERE state <> 'active'
               ORDER BY channel_id, id LIMIT $1""",
            most,
        )
    return [FailingEndpoint(*row) for row in rows]
