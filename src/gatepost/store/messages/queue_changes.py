"""What the owner of a channel looks at while messages wait: whether there are more, and for whom they are by now."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from gatepost.model.message import State
from gatepost.store.channel_head import Lease, lock_head
from gatepost.store.messages.send import ITS_CONVERSATION
from gatepost.store.pool import Database, keys_and_span


class QueueMarks(msgspec.Struct, frozen=True):
    """What there is to read: up to which message, and from when on; and how often others changed what is queued."""

    last_message_id: UUID
    joined: int
    queue_version: int
    next_scheduled: datetime | None


async def read_marks(db: Database, channel_id: UUID, loaded: Sequence[UUID]) -> QueueMarks:
    """One small look that tells whether the queue need be read at all. `loaded`: scheduled messages known already."""
    async with db.connection() as conn:
        row = await conn.fetchrow(
            """SELECT last_message_id, joined, queue_version,
                      (SELECT send_at FROM scheduled_messages WHERE channel_id = $1 AND message_id <> ALL ($2::uuid[])
                       ORDER BY send_at LIMIT 1) AS next_scheduled
               FROM channel_heads WHERE channel_id = $1""",
            channel_id,
            list(loaded),
        )
    assert row is not None
    return QueueMarks(row["last_message_id"], row["joined"], row["queue_version"], row["next_scheduled"])


async def note_unknown(db: Database, lease: Lease, waiting: Sequence[tuple[UUID, datetime]]) -> None:
    """Writes until when a status is awaited for messages whose outcome is unknown: a reader can then explain it.

    Under the head's lock: statuses of the same messages may be coming in.
    """
    waiting = sorted(waiting)
    async with db.transaction() as conn:
        await lock_head(conn, lease.channel_id, lease.epoch)
        await conn.execute(
            """UPDATE messages m SET next_at = i.until FROM unnest($2::uuid[], $3::timestamptz[]) AS i (id, until)
               WHERE m.channel_id = $1 AND m.id = i.id AND m.id = ANY ($2) AND m.id BETWEEN $4 AND $5
                 AND m.state = 1""",
            lease.channel_id,
            [id_ for id_, _ in waiting],
            [until for _, until in waiting],
            waiting[0][0],
            waiting[-1][0],
        )


class QueuedState(msgspec.Struct, frozen=True):
    """A queued message as its row says by now: its state, for whom it is, and how their conversation stands."""

    id: UUID
    state: State
    contact_id: UUID
    last_in_at: datetime | None
    opened_at: datetime | None


async def read_queued_states(db: Database, channel_id: UUID, message_ids: Sequence[UUID]) -> list[QueuedState]:
    """Queued messages after others changed some: canceled, settled by a status, or their contacts joined."""
    async with db.connection() as conn:
        rows = await conn.fetch(
            f"""SELECT m.id, m.state, m.contact_id, v.last_in_at, v.opened_at FROM messages m {ITS_CONVERSATION}
                WHERE m.channel_id = $1 AND m.id = ANY ($2::uuid[]) AND m.id BETWEEN $3 AND $4""",
            channel_id,
            *keys_and_span(message_ids),
        )
    return [QueuedState(**{**dict(row.items()), "state": State(row["state"])}) for row in rows]
