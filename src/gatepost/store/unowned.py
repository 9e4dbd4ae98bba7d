"""Counts the channels that no gateway of the database works for."""

from datetime import datetime

import msgspec

from gatepost.store.pool import Database


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
