"""The head of a channel: its order of events, and the transaction that changes the channel."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.errors import GatepostError, NotFound, account_moving
from gatepost.model.event import AnyEvent, ChannelRef, NewEvent, render
from gatepost.store.pool import Connection, Database
from gatepost.store.statement import statement


class StaleOwner(GatepostError):
    """Another process owns the channel now. Nothing was written."""

    default_code = "stale_owner"

    def __init__(self) -> None:
        super().__init__("Another process owns this channel by now.")


class HeadLocked(Exception):
    """Another transaction holds the head, and the caller does not wait. Nothing was written."""


class ChannelHead(msgspec.Struct):
    """Where a channel's log ends, as read under the lock."""

    channel_id: UUID
    epoch: int
    seq: int
    last_event_id: UUID
    last_message_id: UUID


async def lock_head(
    conn: "Connection[Any]", channel_id: UUID, epoch: int | None = None, *, wait: bool = True
) -> ChannelHead:
    """Make this transaction the channel's only writer. With an epoch, raise StaleOwner unless it is still current.

    Without `wait`, raise HeadLocked if another transaction holds the head, or if there is none.
    """
    row = await conn.fetchrow(
        f"""SELECT epoch, seq, last_event_id, last_message_id FROM channel_heads
            WHERE channel_id = $1 FOR NO KEY UPDATE {"" if wait else "SKIP LOCKED"}""",
        channel_id,
    )
    if row is None and not wait:
        raise HeadLocked
    if epoch is not None and (row is None or row["epoch"] != epoch):
        raise StaleOwner
    if row is None:
        raise await no_head(conn, channel_id)
    return ChannelHead(channel_id, row["epoch"], row["seq"], row["last_event_id"], row["last_message_id"])


async def lock_head_exclusively(conn: "Connection[Any]", channel_id: UUID) -> None:
    """Wait for every transaction that holds the head in any mode, and block new ones until the end of this one."""
    await conn.execute("SELECT 1 FROM channel_heads WHERE channel_id = $1 FOR UPDATE", channel_id)


async def fetch_with_heads(db: Database, prepared: Sequence[Any], wait_for: UUID | None) -> list[Any]:
    """Run a statement that returns nothing for heads that are locked, or that have changed since it began.

    With the id of its only channel, it waits for the head: first for other batches of this process, then for the lock.
    """
    async with nullcontext() if wait_for is None else db.head_turns.take(wait_for):
        async with db.connection() as conn:
            rows = await conn.fetch(*prepared)
        if rows or wait_for is None:
            return list(rows)
        async with db.transaction() as conn:
            await conn.execute("SELECT 1 FROM channel_heads WHERE channel_id = $1 FOR NO KEY UPDATE", wait_for)
            return list(await conn.fetch(*prepared))


async def renew_reads(conn: "Connection[Any]", channel_id: UUID) -> None:
    """Make the batches that wait for the head read contacts, endpoints and parked statuses again.

    They have read them before they had the lock (`messages/accept_rows.py`, `accept_plain.py`, `progress.py`). The
    caller holds the head.
    """
    await conn.execute("UPDATE channel_heads SET joined = joined + 1 WHERE channel_id = $1", channel_id)


def no_such_channel() -> NotFound:
    return NotFound("There is no such channel any more.")


async def no_head(conn: "Connection[Any]", channel_id: UUID) -> GatepostError:
    """Return why a channel has no head: it was deleted, or its account moves to another cell (`store/moves`)."""
    moving = await conn.fetchval(
        """SELECT EXISTS (SELECT FROM channels WHERE id = $1)
               OR EXISTS (SELECT FROM account_moves WHERE $1 = ANY (channels))""",
        channel_id,
    )
    return account_moving() if moving else no_such_channel()


async def fence_epoch(conn: "Connection[Any]", channel_id: UUID, epoch: int) -> None:
    """Block a change of owner until the transaction ends, for writes that need no place in the channel's order."""
    row = await conn.fetchrow(
        "SELECT epoch FROM channel_heads WHERE channel_id = $1 AND epoch = $2 FOR KEY SHARE", channel_id, epoch
    )
    if row is None:
        raise StaleOwner


@asynccontextmanager
async def owner_transaction(db: Database, lease: "Lease") -> AsyncIterator["Connection[Any]"]:
    """A transaction of the channel's owner that needs no place in the channel's order."""
    async with db.transaction() as conn:
        await fence_epoch(conn, lease.channel_id, lease.epoch)
        yield conn


class EventBuffer:
    """The events of a transaction, numbered after those that the channel has already."""

    def __init__(self, head: ChannelHead, now: datetime) -> None:
        self._next = ids.next_ids(head.last_event_id, now, 1)[0].int
        self.events: list[NewEvent] = []

    def add(self, data: AnyEvent, conversation_id: UUID | None = None, message_id: UUID | None = None) -> UUID:
        """Add an event of a conversation, or of the channel as a whole, and return its id."""
        event = NewEvent(UUID(int=self._next), data, conversation_id, message_id)
        self._next += 1
        self.events.append(event)
        return event.id

    def take(self) -> list[NewEvent]:
        """Empty the buffer and return its events."""
        taken, self.events = self.events, []
        return taken


def with_events(change: str) -> str:
    """Return the statement that writes a change and its events in one round trip. The change may use :channel_id."""
    return f"""WITH changed AS (
               {change}
           ), head AS (
               UPDATE channel_heads SET seq = :last_seq, last_event_id = :last_event_id, work_at = :now
               WHERE channel_id = :channel_id
           ), new AS (
               INSERT INTO events (channel_id, id, seq, type, body, conversation_id, message_id)
               SELECT :channel_id, * FROM unnest(:event_ids::uuid[], :seqs::bigint[], :types::text[], :bodies::text[],
                                                 :conversation_ids::uuid[], :message_ids::uuid[])
               RETURNING id, type
           )
           INSERT INTO deliveries (channel_id, endpoint_id, event_id)
           SELECT :channel_id, p.id, n.id FROM new n, endpoints p
           WHERE p.channel_id = :channel_id AND p.state <> 'disabled' AND n.type = ANY (p.events)"""


EVENTS_ONLY = with_events("SELECT")  # for changes that other statements of the transaction write


class ChannelTransaction(msgspec.Struct, frozen=True):
    """A transaction that holds the channel's head, and the buffer of its events."""

    conn: "Connection[Any]"
    head: ChannelHead
    channel: ChannelRef
    event_buffer: EventBuffer
    now: datetime

    @property
    def channel_id(self) -> UUID:
        return self.head.channel_id

    async def write(self, sql: str = EVENTS_ONLY, **change: Any) -> None:
        """Write a change with the buffered events, a delivery for each endpoint that wants one, and the new head."""
        head, new = self.head, self.event_buffer.take()
        first, head.seq = head.seq + 1, head.seq + len(new)
        head.last_event_id = new[-1].id if new else head.last_event_id
        await self.conn.execute(
            *statement(
                sql,
                channel_id=head.channel_id,
                event_ids=[event.id for event in new],
                seqs=list(range(first, head.seq + 1)),
                types=[event.data.TYPE for event in new],
                bodies=[render(event, seq, self.channel, self.now) for seq, event in enumerate(new, first)],
                conversation_ids=[event.conversation_id for event in new],
                message_ids=[event.message_id for event in new],
                last_seq=head.seq,
                last_event_id=head.last_event_id,
                now=self.now,
                **change,
            )
        )


async def lock_channel(
    conn: "Connection[Any]",
    channel: ChannelRef,
    channel_id: UUID,
    now: datetime,
    epoch: int | None = None,
    *,
    wait: bool = True,
) -> ChannelTransaction:
    """Do the same as `lock_head`, and begin a buffer of events."""
    head = await lock_head(conn, channel_id, epoch, wait=wait)
    return ChannelTransaction(conn, head, channel, EventBuffer(head, now), now)


@asynccontextmanager
async def channel_transaction(
    db: Database,
    channel: ChannelRef,
    channel_id: UUID,
    now: datetime,
    *,
    epoch: int | None = None,
    wait: bool = True,
    sending: bool = True,
    tasks: bool = True,
) -> AsyncIterator[ChannelTransaction]:
    """Make the body the channel's only writer, and write the events it has buffered with it.

    `epoch` and `wait` are as of `lock_head`, `sending` and `tasks` as of `CommitListener`.
    """
    async with db.transaction(wakes=channel_id, sending=sending, tasks=tasks) as conn:
        transaction = await lock_channel(conn, channel, channel_id, now, epoch, wait=wait)
        yield transaction
        if transaction.event_buffer.events:
            await transaction.write()


class Lease(msgspec.Struct, frozen=True):
    """The right to act for a channel until it expires by the database's clock."""

    channel_id: UUID
    epoch: int
    taken_from: UUID | None = None  # the owner whose lease had expired


class LogEnd(msgspec.Struct, frozen=True):
    """The end of a channel's log: the number of events, and when an owner was last requested."""

    seq: int
    work_at: datetime | None


async def read_log_ends(db: Database, channels: Sequence[UUID]) -> dict[UUID, LogEnd]:
    """Return the end of each channel's log. The sweep compares it with what the owner has seen."""
    rows = await db.fetch(
        "SELECT channel_id, seq, work_at FROM channel_heads WHERE channel_id = ANY ($1::uuid[])", list(channels)
    )
    return {row["channel_id"]: LogEnd(row["seq"], row["work_at"]) for row in rows}


async def read_all_log_ends(db: Database, only: UUID | None = None) -> dict[UUID, UUID]:
    """Return the last event of every channel, or of one."""
    async with db.connection() as conn:
        if only is None:
            rows = await conn.fetch("SELECT channel_id, last_event_id FROM channel_heads")
        else:
            rows = await conn.fetch("SELECT channel_id, last_event_id FROM channel_heads WHERE channel_id = $1", only)
    return {row["channel_id"]: row["last_event_id"] for row in rows}
