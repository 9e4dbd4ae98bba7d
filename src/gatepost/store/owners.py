"""The processes that own channels, and how many channels each of them owns.

A process is in the table while it works: it renews its row as it does its leases, and removes it before it stops.
"""

from datetime import timedelta
from uuid import UUID

from gatepost.store.pool import Database

_FORGET = timedelta(hours=1)  # after the end of a process that could not remove its row


async def report_owner(db: Database, owner: UUID, ttl: float) -> None:
    """Report that a process works, for some seconds from now."""
    await db.execute(
        """WITH forgotten AS (
               DELETE FROM channel_owners WHERE id = ANY (ARRAY(
                   SELECT id FROM channel_owners WHERE expires_at < now() - $3::interval FOR UPDATE SKIP LOCKED))
           )
           INSERT INTO channel_owners (id, expires_at) VALUES ($1, now() + $2)
           ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at""",
        owner,
        timedelta(seconds=ttl),
        _FORGET,
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
