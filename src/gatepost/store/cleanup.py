"""Deletion of leftovers, in the background."""

from datetime import datetime, timedelta
from uuid import UUID

from gatepost.model import ids
from gatepost.store.pool import Database

_CHUNK = 5_000


async def forget_parked_statuses(db: Database, now: datetime) -> None:
    """Delete statuses whose message never came: another program sent it from the same number."""
    await db.execute("DELETE FROM parked_statuses WHERE id < $1", ids.floor_id(now - timedelta(days=1)))


async def forget_lost_retries(db: Database, before: UUID) -> int:
    """Delete retries of events before this one, which are dropped already. Return how many.

    Those of ordered endpoints are left to their deliverer, which makes the next one due.
    """
    total = 0
    while True:
        rows = await db.fetch(
            """DELETE FROM delivery_retries WHERE ctid = ANY (ARRAY(
                   SELECT lost.ctid FROM endpoints p, LATERAL (
                       SELECT ctid FROM delivery_retries WHERE channel_id = p.channel_id AND endpoint_id = p.id
                         AND event_id < $1 AND conversation_id IS NULL
                       ORDER BY event_id LIMIT $2) lost LIMIT $2)) RETURNING 1""",
            before,
            _CHUNK,
        )
        total += len(rows)
        if len(rows) < _CHUNK:
            return total
