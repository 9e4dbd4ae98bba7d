"""A channel's queue: whether it has changed, why a message waits, and how far sending has come."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model.message import State
from gatepost.store.channel_head import Lease, lock_head, no_head
from gatepost.store.messages.history import StoredMessage
from gatepost.store.messages.send import (
    ITS_CONVERSATION,
    QUEUE_COLUMNS,
    QueuedMessage,
    queued_messages,
    within_bytes,
)
from gatepost.store.pool import Database, keys_and_range

PAGE = 100  # messages of a channel that `read_new_messages` returns


class QueueMarks(msgspec.Struct, frozen=True):
    """The end of the queue, when the next scheduled message is due, and the count of changes by others."""

    last_message_id: UUID
    joined: int
    queue_version: int
    next_scheduled: datetime | None


def _unloaded(loaded: str) -> str:
    """Return the condition of scheduled messages that are not loaded. PostgreSQL hashes those that are: it is quick."""
    return f"s.message_id NOT IN (SELECT unnest({loaded}::uuid[]))"


async def read_marks(db: Database, channel_id: UUID, loaded: Sequence[UUID]) -> QueueMarks:
    """Return in one small read whether the queue has changed. `loaded`: scheduled messages known already."""
    row = await db.fetchrow(
        f"""SELECT last_message_id, joined, queue_version,
                  (SELECT s.send_at FROM scheduled_messages s WHERE s.channel_id = $1 AND {_unloaded("$2")}
                   ORDER BY s.send_at LIMIT 1) AS next_scheduled
           FROM channel_heads WHERE channel_id = $1""",
        channel_id,
        list(loaded),
    )
    return QueueMarks(row["last_message_id"], row["joined"], row["queue_version"], row["next_scheduled"])


class QueueRead(msgspec.Struct, frozen=True):
    """What the sender of a channel wants to know: its new messages after a cursor. `loaded` is as of `read_marks`."""

    channel_id: UUID
    after: UUID
    loaded: tuple[UUID, ...] = ()


class NewMessages(msgspec.Struct, frozen=True):
    """The marks of a queue, and its unsettled messages after the cursor, chat and bulk."""

    marks: QueueMarks
    messages: list[QueuedMessage]


async def read_new_messages(
    db: Database, reads: Sequence[QueueRead], *, limit: int = PAGE
) -> dict[QueueRead, NewMessages]:
    """Return the new messages of several channels, at most `limit` messages of each. A deleted channel is left out."""
    rows = await db.fetch(
        _NEW_MESSAGES,
        channel_ids=[read.channel_id for read in reads],
        afters=[read.after for read in reads],
        loaded=[id_ for read in reads for id_ in read.loaded],
        first=min(read.after for read in reads),
        limit=limit,
    )
    found: dict[QueueRead, list[Any]] = {}
    for row in rows:
        found.setdefault(reads[row["place"] - 1], []).append(row)
    return {read: await _new_messages(db, read.channel_id, rows) for read, rows in found.items()}


async def _new_messages(db: Database, channel_id: UUID, rows: Sequence[Any]) -> NewMessages:
    row = rows[0]
    marks = QueueMarks(row["last_message_id"], row["joined"], row["queue_version"], row["next_scheduled"])
    return NewMessages(marks, await queued_messages(db, channel_id, rows) if row["id"] else [])


# `:first` is for the planner: by it, earlier partitions are left out before the statement begins. Without a new message
# to send, none is read: those that a channel has received since its last one may be millions.
_PAGE = f"""SELECT {QUEUE_COLUMNS} FROM messages m {ITS_CONVERSATION.replace(":channel_id", "k.channel_id")}
            WHERE h.last_message_id > k.after
              AND m.channel_id = k.channel_id AND m.id > k.after AND m.id > :first AND NOT m.incoming
              AND m.state IN (0, 1) AND m.send_at IS NULL
            ORDER BY m.id LIMIT :limit"""
_NEW_MESSAGES = f"""SELECT k.place, h.*, (
           SELECT s.send_at FROM scheduled_messages s WHERE s.channel_id = k.channel_id AND {_unloaded(":loaded")}
           ORDER BY s.send_at LIMIT 1) AS next_scheduled, q.*
       FROM unnest(:channel_ids::uuid[], :afters::uuid[]) WITH ORDINALITY AS k (channel_id, after, place)
       CROSS JOIN LATERAL (
           SELECT last_message_id, joined, queue_version FROM channel_heads WHERE channel_id = k.channel_id LIMIT 1) h
       LEFT JOIN LATERAL ({within_bytes(_PAGE)}) q ON true
       ORDER BY k.place, q.id"""


async def save_unknown_until(db: Database, lease: Lease, waiting: Sequence[tuple[UUID, datetime]]) -> None:
    """Save until when a status is awaited for messages with an unknown outcome, so that readers can explain it.

    It holds the head's lock, because statuses of the same messages may arrive.
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
    """The current row of a queued message: its state, its recipient, and their conversation."""

    id: UUID
    state: State
    contact_id: UUID
    phone: str
    last_in_at: datetime | None
    opened_at: datetime | None


async def read_queued_states(db: Database, channel_id: UUID, message_ids: Sequence[UUID]) -> list[QueuedState]:
    """Return queued messages after others changed some: canceled, settled by a status, or with another recipient."""
    keys, first, last = keys_and_range(message_ids)
    rows = await db.fetch(
        f"""SELECT m.id, m.state, m.contact_id, m.phone, v.last_in_at, v.opened_at FROM messages m {ITS_CONVERSATION}
            WHERE m.channel_id = :channel_id AND m.id = ANY (:keys::uuid[]) AND m.id BETWEEN :first AND :last""",
        channel_id=channel_id,
        keys=keys,
        first=first,
        last=last,
    )
    return [QueuedState(**{**row, "state": State(row["state"])}) for row in rows]


_LINE = 200  # messages of the conversation that are read
_DUE = 200  # scheduled messages of the channel that are read
COUNTED = 2_000  # messages before this one that are read: a few milliseconds at most


class MessageAhead(msgspec.Struct, frozen=True):
    """A message of the same conversation that is not sent either."""

    id: UUID
    bulk: bool
    state: State
    send_at: datetime | None
    next_at: datetime | None


class WaitFacts(msgspec.Struct, frozen=True):
    """The state of channel and conversation that decides when a message is sent."""

    pace: str
    owned: bool
    last_in_at: datetime | None
    opened_at: datetime | None
    line: list[MessageAhead]
    sent: list[datetime]  # when the conversation's last messages were sent, the oldest first


async def read_wait_facts(db: Database, channel_id: UUID, message: StoredMessage, now: datetime) -> WaitFacts:
    """Return everything that decides about a queued message: a few rows, however long the queue is."""
    async with db.connection() as conn:
        head = await conn.fetchrow(
            """SELECT h.pace, h.send_floor, COALESCE(h.expires_at > now(), false) AS owned, v.last_in_at, v.opened_at
               FROM channel_heads h LEFT JOIN LATERAL (
                   SELECT last_in_at, opened_at FROM conversations WHERE channel_id = $1 AND contact_id = $2 LIMIT 1
               ) v ON true WHERE h.channel_id = $1""",
            channel_id,
            message.contact_id,
        )
        if head is None:  # the channel is being deleted or moved
            raise await no_head(conn, channel_id)
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
    ahead = [MessageAhead(**{**row, "state": State(row["state"])}) for row in (*line, *due)]
    times = [row["sending_at"] for row in sent]
    return WaitFacts(head["pace"], head["owned"], head["last_in_at"], head["opened_at"], ahead, times)


async def count_ahead(db: Database, channel_id: UUID, message: StoredMessage) -> int:
    """Count the channel's messages that are sent before this one, within a bounded number of rows."""
    count: int = await db.fetchval(
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


async def save_pace(db: Database, lease: Lease, floor: UUID, pace: str) -> None:
    """Save how far sending has come and what limits it, for the next owner and for `GET /channel`."""
    await db.execute(
        "UPDATE channel_heads SET send_floor = $3, pace = $4 WHERE channel_id = $1 AND epoch = $2",
        lease.channel_id,
        lease.epoch,
        floor,
        pace,
    )


async def save_paces(db: Database, paces: Mapping[Lease, tuple[UUID, str]]) -> set[Lease]:
    """Do the same for several channels, without waiting for a lock. Return the channels that were saved.

    A head that changed since the statement began is left out (`messages/accept_plain_sql.py` says why).
    """
    leases = sorted(paces, key=lambda lease: lease.channel_id)
    rows = await db.fetch(
        """UPDATE channel_heads h SET send_floor = k.send_floor, pace = k.pace::jsonb
           FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::text[]) AS k (channel_id, epoch, send_floor, pace)
           CROSS JOIN LATERAL (
               SELECT channel_id, ctid AS version FROM channel_heads WHERE channel_id = k.channel_id AND epoch = k.epoch
               FOR NO KEY UPDATE SKIP LOCKED) l
           WHERE h.channel_id = l.channel_id AND h.ctid = l.version RETURNING h.channel_id, h.epoch""",
        [lease.channel_id for lease in leases],
        [lease.epoch for lease in leases],
        [paces[lease][0] for lease in leases],
        [paces[lease][1] for lease in leases],
    )
    saved = {(row["channel_id"], row["epoch"]) for row in rows}
    return {lease for lease in leases if (lease.channel_id, lease.epoch) in saved}
