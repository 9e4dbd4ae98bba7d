"""The usage of an account: what was counted of its channels (see `usage.py`), and what each of them stores."""

from collections.abc import Sequence
from datetime import date
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.dates import Days
from gatepost.store.pool import Database


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
