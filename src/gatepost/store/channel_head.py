"""The head of a channel: its order of events, its owner's lease, and the transaction that changes the channel."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from gatepost.model import ids
from gatepost.model.errors import GatepostError, NotFound, Unavailable, account_moving
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


async def renew_reads(conn: "Connection[Any]", channel_id: UUID) -> None:
    """Make the batches that wait for the head read contacts and endpoints again. The caller holds the head.

    They have read them before they had the lock (`messages/accept_rows.py`, `messages/accept_plain.py`).
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


_EARLY = timedelta(seconds=1)  # nodes know the database's time to within milliseconds; a late sweep costs more


async def find_unowned_channels(db: Database, now: datetime, limit: int, *, avoid: Sequence[UUID] = ()) -> list[UUID]:
    """Return channels that have work and no owner, except some, those waiting longest first."""
    rows = await db.fetch(
        """SELECT channel_id FROM channel_heads
           WHERE has_work AND work_at <= $1 AND (owner IS NULL OR expires_at < now()) AND channel_id <> ALL ($3::uuid[])
           ORDER BY work_at LIMIT $2""",
        now + _EARLY,
        limit,
        avoid,
    )
    return [row["channel_id"] for row in rows]


async def claim_channels(db: Database, channels: Sequence[UUID], owner: UUID, ttl: float) -> list[Lease]:
    """Take those of the channels that have no owner, except heads that are locked now.

    The exclusive lock excludes every write of the last owner. It is taken first: an UPDATE that waits for a lock could
    find an older version of the row (`messages/accept_plain.py` says what follows).
    """
    async with db.transaction() as conn:
        rows = await conn.fetch(
            """SELECT channel_id, epoch + 1 AS epoch, owner FROM channel_heads
               WHERE channel_id = ANY ($1::uuid[]) AND (owner IS NULL OR expires_at < now())
               ORDER BY channel_id FOR UPDATE SKIP LOCKED""",
            sorted(channels),
        )
        await _take_locked(conn, [row["channel_id"] for row in rows], owner, ttl)
    return [Lease(*row.values()) for row in rows]


async def claim_channel(
    db: Database, channel_id: UUID, owner: UUID, ttl: float, *, patience: float = 1.0
) -> Lease | None:
    """Take one channel, and wait for its lock as others do. None: it has an owner, or the lock took too long."""
    try:
        async with db.transaction() as conn:
            await conn.execute("SELECT set_config('lock_timeout', $1, true)", f"{max(1, round(patience * 1000))}ms")
            row = await conn.fetchrow(
                """SELECT channel_id, epoch + 1 AS epoch, owner FROM channel_heads
                   WHERE channel_id = $1 AND (owner IS NULL OR expires_at < now()) FOR UPDATE""",
                channel_id,
            )
            if row is None:
                return None
            await _take_locked(conn, [channel_id], owner, ttl)
    except Unavailable as error:
        if isinstance(error.__cause__, asyncpg.LockNotAvailableError):
            return None
        raise
    return Lease(*row.values())


async def _take_locked(conn: "Connection[Any]", channels: Sequence[UUID], owner: UUID, ttl: float) -> None:
    if channels:
        await conn.execute(
            """UPDATE channel_heads SET owner = $2, epoch = epoch + 1, expires_at = now() + $3
               WHERE channel_id = ANY ($1::uuid[])""",
            channels,
            owner,
            timedelta(seconds=ttl),
        )


async def end_stalled_sessions(db: Database, seconds: float) -> int:
    """Terminate our sessions that have waited this long for the rest of a statement. Return how many.

    The process of such a session was stopped between two messages of one statement. The server's limit for idle
    transactions does not apply there, so that the session would hold its locks forever.
    """
    return await db.fetchval(  # type: ignore[no-any-return]
        """SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM pg_stat_activity
           WHERE datname = current_database() AND usename = current_user
             AND application_name = current_setting('application_name') AND pid <> pg_backend_pid()
             AND state = 'active' AND wait_event = 'ClientRead'
             AND state_change < clock_timestamp() - $1::interval""",
        timedelta(seconds=seconds),
    )


async def renew_leases(
    db: Database, owner: UUID, channels: Sequence[UUID], ttl: float, *, skip_locked: bool = False
) -> set[UUID]:
    """Renew the leases that are still ours and return them. A lease that another process took is not renewed.

    With `skip_locked`, heads that are locked are left out. The heads are locked by a statement of their own: one that
    waits for a head and then updates it can deadlock with others that wait for it (`messages/accept_plain.py`).
    """
    skip = "SKIP LOCKED" if skip_locked else ""
    async with db.transaction() as conn:
        rows = await conn.fetch(
            f"""SELECT channel_id FROM channel_heads WHERE owner = $1 AND channel_id = ANY ($2::uuid[])
                ORDER BY channel_id FOR NO KEY UPDATE {skip}""",
            owner,
            sorted(channels),
        )
        renewed = [row["channel_id"] for row in rows]
        await conn.execute(
            "UPDATE channel_heads SET expires_at = now() + $2 WHERE channel_id = ANY ($1::uuid[])",
            renewed,
            timedelta(seconds=ttl),
        )
    return set(renewed)


class LogEnd(msgspec.Struct, frozen=True):
    """The end of a channel's log: the number of events, and when an owner was last requested."""

    seq: int
    work_at: datetime | None


async def release_channel(db: Database, lease: Lease, *, seen: LogEnd | None, work_at: datetime | None) -> bool:
    """Release a channel. With `seen`, only if nothing has happened since, so that no work is missed."""
    return await db.changes(
        """UPDATE channel_heads SET owner = NULL, expires_at = NULL,
                  work_at = CASE WHEN $3::bigint IS NULL THEN work_at ELSE $4::timestamptz END
           WHERE channel_id = $1 AND epoch = $2
             AND ($3::bigint IS NULL OR (seq = $3 AND work_at IS NOT DISTINCT FROM $5::timestamptz)) RETURNING 1""",
        lease.channel_id,
        lease.epoch,
        seen and seen.seq,
        work_at,
        seen and seen.work_at,
    )


async def release_all(db: Database, owner: UUID, *, keep: Sequence[UUID] = ()) -> int:
    """Release all channels that a stopped owner still holds, except some. Return how many."""
    rows = await db.fetch(
        """UPDATE channel_heads SET owner = NULL, expires_at = NULL
           WHERE owner = $1 AND channel_id <> ALL ($2::uuid[]) RETURNING channel_id""",
        owner,
        keep,
    )
    return len(rows)


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
