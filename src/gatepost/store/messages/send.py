"""What the owner of a channel reads and writes to send messages. Every write carries the owner's epoch."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model.event import ChannelRef
from gatepost.model.message import State
from gatepost.store.channel_head import HeadLocked, Lease, channel_transaction
from gatepost.store.channels import close_unopened
from gatepost.store.contacts.identify import ContactResolver
from gatepost.store.contacts.large_merge import LargeMerge, merge_in_parts
from gatepost.store.messages.progress import ChannelProgress, is_progress, write_progress
from gatepost.store.messages.status import ParkedStatus, StatusChange, save_waits, take_parked, write_changes
from gatepost.store.pool import Connection, Database, keys_and_range

_DAY = timedelta(hours=24)


class QuotedMessage(msgspec.Struct, frozen=True):
    """An earlier message that another one answers or refers to."""

    network_id: str
    incoming: bool
    text: str


class QueuedMessage(msgspec.Struct):
    """A message in the owner's queue."""

    id: UUID
    contact_id: UUID
    phone: str
    type: str
    content: str
    bulk: bool
    fail_unknown: bool
    attempt: int
    state: State
    created_at: datetime
    expires_at: datetime
    send_at: datetime | None
    next_at: datetime | None
    reply_to: QuotedMessage | None
    last_in_at: datetime | None
    opened_at: datetime | None
    target: QuotedMessage | None = None
    sending_at: datetime | None = None  # of its last attempt
    not_before: float = 0.0  # on the owner's monotonic clock
    turn: int = 0  # its place in the owner's queue
    waits_since: datetime | None = None  # since when its delays are not saved yet; None: from the start
    unknown_noted: bool = False  # whether its row has an unknown outcome
    history: list[str] | None = None  # its failed attempts when it was read
    limited_since: float | None = None  # on the same clock: since when it is refused in a way that has a time limit
    size: int = 0  # of its content: bytes
    tries: int = 0  # attempts with an unknown outcome, or with a temporary error of its own
    unsent: dict[str, UUID] = {}  # of `reply_to` and `target`, the messages that were not sent when it was read


QUEUE_COLUMNS = """m.id, m.contact_id, m.phone, m.type, m.content, m.bulk, m.fail_unknown, m.attempt, m.state,
              m.created_at, m.expires_at, m.send_at, m.next_at, m.sending_at, m.reply_to, m.target_id AS target,
              m.history, v.last_in_at, v.opened_at, octet_length(m.content) AS size"""
_FIELDS = (
    "id",
    "contact_id",
    "phone",
    "type",
    "content",
    "bulk",
    "fail_unknown",
    "attempt",
    "state",
    "created_at",
    "expires_at",
    "send_at",
    "next_at",
    "sending_at",
    "reply_to",
    "target",
    "history",
    "last_in_at",
    "opened_at",
    "size",
)
_QUOTED_BYTES = 64 << 10  # of a content from which a quote is made: those of texts are shorter
PAGE_BYTES = 4 << 20  # of contents that are read at once; a page has at least one message
# A contact that was deleted meanwhile has no conversation, and still gets the accepted messages.
ITS_CONVERSATION = """LEFT JOIN LATERAL (SELECT last_in_at, opened_at FROM conversations
                               WHERE channel_id = :channel_id AND contact_id = m.contact_id LIMIT 1) v ON true"""


def within_bytes(page: str, order: str = "id") -> str:
    """Return the statement that reads the first messages of a page, up to `PAGE_BYTES` of contents."""
    return f"""SELECT * FROM (SELECT p.*, sum(size) OVER (ORDER BY {order}) - size AS bytes_before FROM ({page}) p) q
               WHERE bytes_before < {PAGE_BYTES} ORDER BY {order}"""


def is_cut(page: Sequence[QueuedMessage], limit: int) -> bool:
    """Return whether there may be more messages after those of a page."""
    return len(page) == limit or sum(message.size for message in page) >= PAGE_BYTES


async def read_queue(db: Database, channel_id: UUID, *, bulk: bool, after: UUID, limit: int) -> list[QueuedMessage]:
    """Return the unsettled messages after the cursor, in the order of acceptance."""
    rows = await db.fetch(
        within_bytes(
            f"""SELECT {QUEUE_COLUMNS} FROM messages m {ITS_CONVERSATION}
                WHERE m.channel_id = :channel_id AND m.id > :after AND NOT m.incoming AND m.state IN (0, 1)
                  AND m.bulk = :bulk AND m.send_at IS NULL
                ORDER BY m.id LIMIT :limit"""
        ),
        channel_id=channel_id,
        after=after,
        bulk=bulk,
        limit=limit,
    )
    return await queued_messages(db, channel_id, rows)


async def read_scheduled(
    db: Database, channel_id: UUID, until: datetime, loaded: Sequence[UUID], limit: int
) -> list[QueuedMessage]:
    """Return the scheduled messages that are due, or the first of them, except those `loaded` already."""
    due = await db.fetch(
        """SELECT message_id FROM scheduled_messages WHERE channel_id = $1 AND send_at <= $2
             AND message_id NOT IN (SELECT unnest($3::uuid[])) ORDER BY send_at, message_id LIMIT $4""",
        channel_id,
        until,
        list(loaded),
        limit,
    )
    if not due:
        return []
    keys, first, last = keys_and_range([row["message_id"] for row in due])
    rows = await db.fetch(
        within_bytes(
            f"""SELECT {QUEUE_COLUMNS} FROM messages m {ITS_CONVERSATION}
                WHERE m.channel_id = :channel_id AND m.id = ANY (:keys::uuid[]) AND m.id BETWEEN :first AND :last
                  AND m.state IN (0, 1)""",
            "send_at, id",
        ),
        channel_id=channel_id,
        keys=keys,
        first=first,
        last=last,
    )
    page = await queued_messages(db, channel_id, rows)
    if not is_cut(page, len(keys)):
        await _forget_settled(db, channel_id, until, set(keys) - {message.id for message in page})
    return page


async def _forget_settled(db: Database, channel_id: UUID, until: datetime, settled: set[UUID]) -> None:
    """Delete scheduled rows of messages that a status has settled meanwhile."""
    if settled:
        await db.execute(
            "DELETE FROM scheduled_messages WHERE channel_id = $1 AND send_at <= $2 AND message_id = ANY ($3::uuid[])",
            channel_id,
            until,
            sorted(settled),
        )


class SendStart(msgspec.Struct, frozen=True):
    """Where a new owner begins."""

    floor: UUID
    opened: list[datetime]


async def read_start(db: Database, channel_id: UUID, now: datetime) -> SendStart:
    """Return the floor that the last owner saved, and the conversations opened in the last 24 hours."""
    async with db.connection() as conn:
        floor = await conn.fetchval("SELECT send_floor FROM channel_heads WHERE channel_id = $1", channel_id)
        rows = await conn.fetch(
            "SELECT opened_at FROM conversations WHERE channel_id = $1 AND opened_at > $2 ORDER BY opened_at",
            channel_id,
            now - _DAY,
        )
    return SendStart(floor, [row["opened_at"] for row in rows])


async def read_states(db: Database, channel_id: UUID, message_ids: Sequence[UUID]) -> dict[UUID, State]:
    """Return the current states of messages with an unknown outcome."""
    rows = await db.fetch(
        """SELECT id, state FROM messages
           WHERE channel_id = $1 AND id = ANY ($2::uuid[]) AND id BETWEEN $3 AND $4""",
        channel_id,
        *keys_and_range(message_ids),
    )
    return {row["id"]: State(row["state"]) for row in rows}


class SendResult(msgspec.Struct, frozen=True):
    """The result of an attempt: sent, final, or to be retried at `next_at` (state QUEUED)."""

    message_id: UUID
    attempt: int
    state: State
    network_id: str | None = None
    error: dict[str, Any] | None = None
    next_at: datetime | None = None
    send_at: datetime | None = None
    alias: str | None = None  # the recipient's number as the network writes it, if that differs
    details: dict[str, Any] | None = None
    unopened: bool = False  # its intent opened a conversation, which the network refused
    waits: str | None = None  # of a message that ends without an attempt: its delays
    tries: int = 0  # of an attempt that failed: as in QueuedMessage


def is_plain_result(result: SendResult) -> bool:
    """Return whether a message was sent, and nothing more is to be saved than that, unless its alias is new."""
    more = result.send_at or result.unopened or result.waits or (result.alias and not result.alias.isprintable())
    return result.state is State.SENT and not more and is_progress(result)


def _progress(lease: Lease, channel: ChannelRef, results: Sequence[SendResult]) -> ChannelProgress:
    return ChannelProgress(channel, results, lease.epoch, [result.alias for result in results])


async def mark_results(
    db: Database, lease: Lease, channel: ChannelRef, results: Sequence[SendResult], now: datetime
) -> list[State]:
    """Save the results of a channel with their events. Return the state of each message after that."""
    if all(map(is_plain_result, results)):
        batch = {lease.channel_id: _progress(lease, channel, results)}
        if written := await write_progress(db, batch, now, wait=True):
            return written[lease.channel_id]
    mark = partial(mark_any_results, db, lease, channel, results, now)
    return await merge_in_parts(db, lease.channel_id, mark)


async def mark_results_together(
    db: Database, batches: Mapping[Lease, tuple[ChannelRef, Sequence[SendResult]]], now: datetime
) -> dict[Lease, list[State]]:
    """Save the results of several channels in one commit, without waiting for a lock. Return the channels saved.

    Results that are not plain are saved only alone, and those with a large merge only by `mark_results`.
    """
    leases: dict[UUID, Lease] = {}
    for lease, (_, results) in batches.items():
        if all(map(is_plain_result, results)):
            leases.setdefault(lease.channel_id, lease)  # an outdated lease of the same channel is left out too
    plain = {id_: _progress(lease, *batches[lease]) for id_, lease in leases.items()}
    written = await write_progress(db, plain, now, wait=False) if plain else {}
    saved = {leases[channel_id]: states for channel_id, states in written.items()}
    if saved or len(batches) > 1:
        return saved
    ((lease, (channel, results)),) = batches.items()
    with suppress(HeadLocked, LargeMerge):
        saved[lease] = await mark_any_results(db, lease, channel, results, now, wait=False)
    return saved


async def mark_any_results(
    db: Database,
    lease: Lease,
    channel: ChannelRef,
    results: Sequence[SendResult],
    now: datetime,
    *,
    wait: bool = True,
    whole: bool = False,
    late: bool = False,
) -> list[State]:
    """Save results of all kinds. Without `wait`, raise HeadLocked if another transaction has the channel.

    Unless `whole`, raise LargeMerge if it merges contacts with very many messages.
    With `late`, the channel may have another owner by now: that the network took a message is as true as in a status.
    """
    options = {"sending": False, "tasks": False, "wait": wait}
    epoch = None if late else lease.epoch
    async with channel_transaction(db, channel, lease.channel_id, now, epoch=epoch, **options) as transaction:
        conn = transaction.conn
        current = await _current(conn, lease.channel_id, results)
        if await _save_aliases(ContactResolver(transaction, whole=whole), results, current):
            current = await _current(conn, lease.channel_id, results)  # contacts may have been merged
        known = [r.network_id for r in results if r.network_id]
        some_parked = any(row["some_parked"] for row in current.values())
        parked = await take_parked(conn, lease.channel_id, known) if some_parked else {}
        changes = [change for r in results if (change := _change_for(current[r.message_id], r, parked, now))]
        await write_changes(transaction, changes, by_owner=not late)
        ended = [(r.send_at, r.message_id) for r in results if r.send_at and r.state is not State.QUEUED]
        await unschedule(conn, lease.channel_id, ended)
        await save_waits(conn, lease.channel_id, [(r.message_id, r.waits) for r in results if r.waits])
        unopened = {current[r.message_id]["contact_id"] for r in results if r.unopened}
        if unopened:
            await close_unopened(conn, lease.channel_id, sorted(unopened))
    after = {change.id: change.state for change in changes}
    return [after.get(r.message_id, State(current[r.message_id]["state"])) for r in results]


async def _current(conn: "Connection[Any]", channel_id: UUID, results: Sequence[SendResult]) -> dict[UUID, Any]:
    rows = await conn.fetch(
        """SELECT id, contact_id, state, attempt, phone, client_ref, network_id, target_id,
                  EXISTS (SELECT 1 FROM parked_statuses WHERE channel_id = $1) AS some_parked
           FROM messages WHERE channel_id = $1 AND id = ANY ($2::uuid[]) AND id BETWEEN $3 AND $4""",
        channel_id,
        *keys_and_range([result.message_id for result in results]),
    )
    return {row["id"]: row for row in rows}


def _change_for(
    row: Any, result: SendResult, parked: dict[str, list[ParkedStatus]], now: datetime
) -> StatusChange | None:
    """Return the change of the row; None if a status or a cancel came first."""
    change = StatusChange.of(row)
    if result.state in (State.QUEUED, State.FAILED):
        if change.state is not State.SENDING or row["attempt"] != result.attempt:
            return None
        change.note(result.attempt, result.error, now, result.tries)
    if result.state is State.QUEUED:
        change.requeue(result.next_at)
        return change
    if result.network_id:
        change.learn(result.network_id)
    change.step(result.state, result.error, result.details)
    for status in parked.get(result.network_id or "", ()):
        change.step(status.state, status.error, status.details)
    return change if change.changed else None


async def unschedule(conn: "Connection[Any]", channel_id: UUID, done: Sequence[tuple[datetime, UUID]]) -> None:
    """Delete the scheduled rows of settled messages."""
    if done:
        await conn.execute(
            """DELETE FROM scheduled_messages
               WHERE channel_id = $1 AND send_at = ANY ($2::timestamptz[]) AND message_id = ANY ($3::uuid[])""",
            channel_id,
            [send_at for send_at, _ in done],
            [message_id for _, message_id in done],
        )


async def _save_aliases(people: ContactResolver, results: Sequence[SendResult], current: Mapping[UUID, Any]) -> bool:
    """Save a recipient's number as the network writes it, so that an answer finds the same contact."""
    aliases = sorted({(r.alias, current[r.message_id]["phone"]) for r in results if r.alias})
    await people.same(*aliases)
    people.emit_changes()
    return bool(aliases)


async def queued_messages(db: Database, channel_id: UUID, rows: Sequence[Any]) -> list[QueuedMessage]:
    """Return messages for the queue, with the network's ids of the messages they refer to."""
    named = [id_ for row in rows for id_ in (row["reply_to"], row["target"]) if id_]
    quoted = await _quoted(db, channel_id, named)
    queue = []
    for row in rows:
        fields = {name: row[name] for name in _FIELDS}
        fields["state"] = State(fields["state"])
        fields["tries"] = _tries(fields["attempt"], fields["history"])
        wanted = {name: fields[name] for name in ("reply_to", "target") if fields[name]}
        fields |= {name: quoted.get(id_) for name, id_ in wanted.items()}
        fields["unsent"] = {name: id_ for name, id_ in wanted.items() if id_ not in quoted}
        queue.append(QueuedMessage(**fields))
    return queue


def _tries(attempt: int, history: Sequence[str] | None) -> int:
    """Return the tries of a message: the outcome of attempts after the last one that failed is unknown."""
    last = msgspec.json.decode(history[-1]) if history else {"attempt": 0}
    return int(last.get("tries", 0)) + attempt - int(last["attempt"])


async def find_unsent(db: Database, channel_id: UUID, message: QueuedMessage) -> None:
    """Look again for the messages that a queued one refers to: they may have been sent since it was read."""
    quoted = await _quoted(db, channel_id, list(message.unsent.values()))
    for name, id_ in message.unsent.items():
        setattr(message, name, quoted.get(id_))


async def _quoted(db: Database, channel_id: UUID, message_ids: Sequence[UUID]) -> dict[UUID, QuotedMessage]:
    if not message_ids:
        return {}
    rows = await db.fetch(
        f"""SELECT id, network_id, incoming, type,
                   CASE WHEN octet_length(content) <= {_QUOTED_BYTES} THEN content ELSE '{{}}' END AS content
            FROM messages WHERE channel_id = $1 AND id = ANY ($2::uuid[]) AND id BETWEEN $3 AND $4""",
        channel_id,
        *keys_and_range(message_ids),
    )
    return {
        row["id"]: QuotedMessage(row["network_id"], row["incoming"], _quote_text(row["type"], row["content"]))
        for row in rows
        if row["network_id"]
    }


def _quote_text(type_: str, content: str) -> str:
    """Return the text that a linked phone shows as the quote."""
    fields = msgspec.json.decode(content)
    words = fields.get("body") or fields.get("caption") if isinstance(fields, dict) else None
    return str(words or f"[{type_}]")[:200]
