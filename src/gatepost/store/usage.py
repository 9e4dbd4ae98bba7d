"""Messages per day and type, and failures per day and error code, counted along the channel's events.

events of a channel, in the order of their commits ─► after the cursor ─► added to their day ─► the cursor advances

The count and the cursor are one commit: each message counts once. Accepting and receiving do nothing for it;
housekeeping counts in the background, and a request counts what is left.
"""

from datetime import date
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.store.pool import Connection, Database

CHUNK = 5_000  # events of one commit: a fraction of a second


class DayCount(msgspec.Struct, frozen=True):
    """How many messages of a type and direction there were on a day, in UTC."""

    day: date
    incoming: bool
    type: str
    count: int


async def count_messages(db: Database, channel_id: UUID, limit: int = CHUNK) -> int:
    """Count the next events, up to that many, and return how many there were.

    If another process counts this channel at the moment, do nothing.
    """
    async with db.transaction() as conn:
        cursor = await _take_cursor(conn, channel_id)
        if cursor is None:
            return 0
        row = await conn.fetchrow(_COUNT, channel_id, cursor, limit)
        if row is None or row["last"] is None:
            return 0
        await conn.execute("UPDATE daily_cursors SET event_id = $2 WHERE channel_id = $1", channel_id, row["last"])
    looked: int = row["looked"]
    return looked


# A message counts at its first event, and as failed at the event that reports the final failure; both on the day when
# it was accepted or received. The code is the first field of an error.
_COUNT = """WITH fresh AS MATERIALIZED (
                SELECT id, type, message_id FROM events WHERE channel_id = $1 AND id > $2 ORDER BY id LIMIT $3
            ), named AS MATERIALIZED (
                SELECT f.id AS event_id, f.type AS event_type, m.* FROM fresh f CROSS JOIN LATERAL (
                    SELECT id, (created_at AT TIME ZONE 'UTC')::date AS day, incoming, type, state, error,
                           event_ids[1] AS first_event
                    FROM messages WHERE channel_id = $1 AND id = f.message_id LIMIT 1) m
                WHERE f.message_id IS NOT NULL
            ), added AS (
                INSERT INTO daily_counts AS d (channel_id, day, incoming, type, count)
                SELECT $1, day, incoming, type, count(*) FROM named WHERE event_id = first_event GROUP BY 2, 3, 4
                ON CONFLICT (channel_id, day, incoming, type) DO UPDATE SET count = d.count + excluded.count
            ), failed AS (
                INSERT INTO daily_failures AS d (channel_id, day, code, count, last_message_id)
                SELECT $1, day, coalesce(substring(error FROM '"code":"?([^",}]{1,64})'), 'unknown'), count(*),
                       (array_agg(id ORDER BY id DESC))[1]
                FROM named WHERE event_type = 'ack_notification' AND state IN (-1, -2) GROUP BY 2, 3
                ON CONFLICT (channel_id, day, code) DO UPDATE
                SET count = d.count + excluded.count,
                    last_message_id = greatest(d.last_message_id, excluded.last_message_id)
            )
            SELECT count(*) AS looked, (SELECT id FROM fresh ORDER BY id DESC LIMIT 1) AS last FROM fresh"""


async def _take_cursor(conn: "Connection[Any]", channel_id: UUID) -> UUID | None:
    """Lock and return the cursor of a channel; None if another process holds it."""
    await conn.execute(
        "INSERT INTO daily_cursors (channel_id, event_id) VALUES ($1, $2) ON CONFLICT DO NOTHING", channel_id, ids.ZERO
    )
    cursor: UUID | None = await conn.fetchval(
        "SELECT event_id FROM daily_cursors WHERE channel_id = $1 FOR UPDATE SKIP LOCKED", channel_id
    )
    return cursor


async def uncounted_channels(db: Database) -> list[UUID]:
    """Return channels with events after their last count."""
    rows = await db.fetch(
        """SELECT h.channel_id FROM channel_heads h LEFT JOIN LATERAL (
               SELECT event_id FROM daily_cursors WHERE channel_id = h.channel_id LIMIT 1) d ON true
           WHERE h.last_event_id > coalesce(d.event_id, $1)""",
        ids.ZERO,
    )
    return [row["channel_id"] for row in rows]


async def count_all(db: Database) -> None:
    """Count every channel to its end."""
    for channel_id in await uncounted_channels(db):
        while await count_messages(db, channel_id) == CHUNK:
            pass


async def read_days(db: Database, channel_id: UUID, since: date) -> list[DayCount]:
    """Return the counts since that day, the newest day first."""
    rows = await db.fetch(
        """SELECT day, incoming, type, count FROM daily_counts WHERE channel_id = $1 AND day >= $2
           ORDER BY day DESC, incoming, type""",
        channel_id,
        since,
    )
    return [DayCount(**row) for row in rows]
