"""What explains why a message waits: read when somebody asks, so that waiting itself costs no writes."""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from gatepost.model.message import State
from gatepost.store.channel_head import no_such_channel
from gatepost.store.messages.read import StoredMessage
from gatepost.store.pool import Database

_LINE = 200  # messages of the conversation that are looked at
_DUE = 200  # scheduled messages of the channel that are looked at
COUNTED = 2_000  # messages before this one that are looked at: an answer costs a few milliseconds at most


class MessageAhead(msgspec.Struct, frozen=True):
    """A message of the same conversation that has not left either."""

    id: UUID
    bulk: bool
    state: State
    send_at: datetime | None
    next_at: datetime | None


class WaitFacts(msgspec.Struct, frozen=True):
    """How the channel and the conversation stand, as far as other processes have written it."""

    pace: str
    owned: bool
    last_in_at: datetime | None
    opened_at: datetime | None
    line: list[MessageAhead]
    sent: list[datetime]  # when the conversation's last messages left, the oldest first


async def read_wait_facts(db: Database, channel_id: UUID, message: StoredMessage, now: datetime) -> WaitFacts:
    """All that decides about a queued message: a few rows, however long the queue is."""
    async with db.connection() as conn:
        head = await conn.fetchrow(
            """SELECT h.pace, h.send_floor, COALESCE(h.expires_at > now(), false) AS owned, v.last_in_at, v.opened_at
               FROM channel_heads h LEFT JOIN LATERAL (
                   SELECT last_in_at, opened_at FROM conversations WHERE channel_id = $1 AND contact_id = $2 LIMIT 1
               ) v ON true WHERE h.channel_id = $1""",
            channel_id,
            message.contact_id,
        )
        if head is None:  # the channel is being deleted
            raise no_such_channel()
        line = await conn.fetch(
            """SELECT id, bulk, state, send_at, next_at FROM messages
               WHERE contact_id = $2 AND channel_id = $1 AND id > $3 AND NOT incoming AND state IN (0, 1)
                 AND send_at IS NULL
               ORDER BY id LIMIT $4""",
            channel_id,
            message.contact_id,
            head["send_floor"],
            _LINE,
        )
        due = await conn.fetch(
            """SELECT m.* FROM (
                   SELECT message_id FROM scheduled_messages WHERE channel_id = $1 AND send_at <= $3
                   ORDER BY send_at, message_id LIMIT $4) s
               CROSS JOIN LATERAL (
                   SELECT id, bulk, state, send_at, next_at FROM messages
                   WHERE channel_id = $1 AND id = s.message_id AND contact_id = $2 AND state IN (0, 1) LIMIT 1) m""",
            channel_id,
            message.contact_id,
            now,
            _DUE,
        )
        sent = await conn.fetch(
            """SELECT sending_at FROM (
                   SELECT sending_at FROM messages WHERE contact_id = $2 AND channel_id = $1
                   ORDER BY id DESC LIMIT $3) lately
               WHERE sending_at > $4 ORDER BY sending_at""",
            channel_id,
            message.contact_id,
            _LINE,
            now - timedelta(hours=1),
        )
    ahead = [MessageAhead(**{**dict(row.items()), "state": State(row["state"])}) for row in (*line, *due)]
    times = [row["sending_at"] for row in sent]
    return WaitFacts(head["pace"], head["owned"], head["last_in_at"], head["opened_at"], ahead, times)


async def count_ahead(db: Database, channel_id: UUID, message: StoredMessage) -> int:
    """How many messages of the channel leave before this one; looks back over so many rows and no more."""
    async with db.connection() as conn:
        count: int = await conn.fetchval(
            """SELECT count(*) FROM (
                   SELECT incoming, state, bulk, send_at FROM messages
                   WHERE channel_id = $1 AND id < $2
                     AND id > (SELECT send_floor FROM channel_heads WHERE channel_id = $1)
                   ORDER BY id DESC LIMIT $4) before
               WHERE NOT incoming AND state IN (0, 1) AND bulk <= $3 AND send_at IS NULL""",
            channel_id,
            message.id,
            message.bulk,
            COUNTED,
        )
    return count
