"""Messages per day and type, and failures per day and error code, counted along the channel's events.

events of a channel, in the order of their commits ─► after the cursor ─► added to their day ─► the cursor advances

The count and the cursor are one commit: each message counts once. Accepting and receiving do nothing for it;
housekeeping counts in the background, and a request counts what is left. The usage of an account is summed from that.
"""

from collections.abc import Sequence
from datetime import date
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.dates import Days
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

    If another process counts this channel at the moment, or if it has no head, do nothing: without one, its account is
    in another cell, which counts.
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
    """Lock and return the cursor of a channel; None if another process holds it, or if the channel has no head."""
    head = "SELECT 1 FROM channel_heads WHERE channel_id = $1 FOR KEY SHARE"
    if await conn.fetchval(head, channel_id) is None:
        return None
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


class MessageSum(msgspec.Struct, frozen=True):
    """Messages of a day in one direction: of one type in all channels, or of one channel with all types."""

    day: date
    incoming: bool
    type: str | None
    channel_id: UUID | None
    count: int


class FailureSum(msgspec.Struct, frozen=True):
    """Failed messages of a day in all channels, or of a channel on all days."""

    day: date | None
    channel_id: UUID | None
    count: int


class CodeSum(msgspec.Struct, frozen=True):
    """Messages that failed with a code, and the newest of them."""

    code: str
    count: int
    channel_id: UUID
    message_id: UUID


class ChannelState(msgspec.Struct, frozen=True):
    """What the owner last saved about a channel's pace, as JSON, and the bytes of its files."""

    pace: str
    stored: int


async def find_uncounted(db: Database, channel_ids: Sequence[UUID], limit: int) -> list[UUID]:
    """Return those of the channels that have events after their last count, the newest first."""
    rows = await db.fetch(
        """SELECT h.channel_id FROM channel_heads h LEFT JOIN LATERAL (
               SELECT event_id FROM daily_cursors WHERE channel_id = h.channel_id LIMIT 1) d ON true
           WHERE h.channel_id = ANY ($1::uuid[]) AND h.last_event_id > coalesce(d.event_id, $2)
           ORDER BY h.last_event_id DESC LIMIT $3""",
        list(channel_ids),
        ids.ZERO,
        limit,
    )
    return [row["channel_id"] for row in rows]


async def sum_messages(db: Database, channel_ids: Sequence[UUID], days: Days) -> list[MessageSum]:
    """Return the messages of these days by type, and by channel."""
    rows = await db.fetch(
        """SELECT day, incoming, type, channel_id, sum(count)::bigint AS count FROM daily_counts
           WHERE channel_id = ANY ($1::uuid[]) AND day >= $2 AND day < $3
           GROUP BY GROUPING SETS ((day, incoming, type), (day, incoming, channel_id)) ORDER BY type""",
        list(channel_ids),
        days.first,
        days.end,
    )
    return [MessageSum(**row) for row in rows]


async def sum_failures(db: Database, channel_ids: Sequence[UUID], days: Days) -> list[FailureSum]:
    """Return the failed messages of these days, by day and by channel."""
    rows = await db.fetch(
        """SELECT day, channel_id, sum(count)::bigint AS count FROM daily_failures
           WHERE channel_id = ANY ($1::uuid[]) AND day >= $2 AND day < $3
           GROUP BY GROUPING SETS ((day), (channel_id))""",
        list(channel_ids),
        days.first,
        days.end,
    )
    return [FailureSum(**row) for row in rows]


async def sum_codes(db: Database, channel_ids: Sequence[UUID], days: Days, limit: int) -> list[CodeSum]:
    """Return the failed messages of these days by error code, the most frequent first."""
    rows = await db.fetch(
        """SELECT code, sum(count)::bigint AS count,
                  (array_agg(channel_id ORDER BY last_message_id DESC))[1] AS channel_id,
                  (array_agg(last_message_id ORDER BY last_message_id DESC))[1] AS message_id
           FROM daily_failures WHERE channel_id = ANY ($1::uuid[]) AND day >= $2 AND day < $3
           GROUP BY code ORDER BY count DESC, code LIMIT $4""",
        list(channel_ids),
        days.first,
        days.end,
        limit,
    )
    return [CodeSum(**row) for row in rows]


async def read_errors(db: Database, codes: Sequence[CodeSum]) -> dict[UUID, str]:
    """Return the errors of the newest messages, as JSON, by message. Old messages may be deleted."""
    rows = await db.fetch(
        """SELECT m.id, m.error FROM unnest($1::uuid[], $2::uuid[]) AS named (channel_id, id) CROSS JOIN LATERAL (
               SELECT id, error FROM messages WHERE channel_id = named.channel_id AND id = named.id LIMIT 1) m
           WHERE m.error IS NOT NULL""",
        [one.channel_id for one in codes],
        [one.message_id for one in codes],
    )
    return {row["id"]: row["error"] for row in rows}


async def read_states(db: Database, channel_ids: Sequence[UUID]) -> dict[UUID, ChannelState]:
    """Return the pace and the stored bytes of channels."""
    rows = await db.fetch(
        """SELECT h.channel_id, h.pace, coalesce(s.bytes, 0) AS stored FROM channel_heads h LEFT JOIN LATERAL (
               SELECT bytes FROM channel_storage WHERE channel_id = h.channel_id LIMIT 1) s ON true
           WHERE h.channel_id = ANY ($1::uuid[])""",
        list(channel_ids),
    )
    return {row["channel_id"]: ChannelState(row["pace"], row["stored"]) for row in rows}
