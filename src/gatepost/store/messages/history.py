"""Reading messages: one by its id, its trace, and pages of a channel's history, the newest first.

    all of a channel      primary key (channel_id, id), backwards
    of one contact        messages_person (contact_id, channel_id, id), backwards
    other filters         checked row by row, for a bounded number of rows; the next page continues there

A filter that matches few messages costs many short pages and never one that reads the whole channel.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model.dates import LAST_ID, IdRange
from gatepost.model.delivery import state_now
from gatepost.model.message import State
from gatepost.store.contacts.rows import find_contacts
from gatepost.store.deliveries.log import find_endpoints
from gatepost.store.pool import Database, Queryable, keys_and_range


class StoredMessage(msgspec.Struct, frozen=True):
    """A message."""

    id: UUID
    contact_id: UUID
    incoming: bool
    bulk: bool
    state: State
    attempt: int
    phone: str
    type: str
    content: str
    client_ref: str | None
    reply_to: UUID | None
    network_id: str | None
    created_at: datetime
    send_at: datetime | None
    expires_at: datetime | None
    next_at: datetime | None
    sending_at: datetime | None
    sent_at: datetime | None
    delivered_at: datetime | None
    read_at: datetime | None
    played_at: datetime | None
    ended_at: datetime | None
    error: str | None
    history: list[str] | None
    target_id: UUID | None
    pricing: str | None
    context: str | None
    reactions: str | None
    edited_at: datetime | None
    deleted_at: datetime | None
    event_ids: list[UUID]
    waits: list[str] | None = None
    sent_by: str | None = None


_COLUMNS = ", ".join(StoredMessage.__struct_fields__)


async def get_message(db: Database, channel_id: UUID, message_id: UUID) -> StoredMessage | None:
    """Return a message of a channel."""
    row = await db.fetchrow(
        f"SELECT {_COLUMNS} FROM messages WHERE channel_id = $1 AND id = $2", channel_id, message_id
    )
    if row is None:
        return None
    fields = dict(row)
    fields["state"] = State(fields["state"])
    return StoredMessage(**fields)


class TracedEvent(msgspec.Struct, frozen=True):
    """An event of a message."""

    id: UUID
    body: str


class TracedAttempt(msgspec.Struct, frozen=True):
    """An attempt to deliver an event to an endpoint."""

    event_id: UUID
    endpoint_id: UUID
    number: int
    at: datetime
    url: str
    status: int | None
    error: str | None
    latency_ms: float


class TracedDelivery(msgspec.Struct, frozen=True):
    """A delivery of an event to an endpoint."""

    event_id: UUID
    endpoint_id: UUID
    state: int
    attempts: int
    next_at: datetime | None


class Trace(msgspec.Struct, frozen=True):
    """Everything that the database knows of a message."""

    events: list[TracedEvent]
    deliveries: list[TracedDelivery]
    attempts: list[TracedAttempt]


async def read_trace(db: Database, channel_id: UUID, event_ids: list[UUID]) -> Trace:
    """Return the events of a message with their deliveries and attempts, also those of deleted endpoints."""
    async with db.connection() as conn:
        kept = {row["id"] for row in await conn.fetch("SELECT id FROM endpoints WHERE channel_id = $1", channel_id)}
        keys = (channel_id, *keys_and_range(event_ids), await find_endpoints(conn, channel_id))
        events = await conn.fetch(
            """SELECT id, body FROM events
               WHERE channel_id = $1 AND id = ANY ($2::uuid[]) AND id BETWEEN $3 AND $4 ORDER BY id""",
            *keys[:4],
        )
        deliveries = await conn.fetch(
            """SELECT event_id, endpoint_id, state, attempts, next_at FROM deliveries
               WHERE channel_id = $1 AND event_id = ANY ($2::uuid[]) AND event_id BETWEEN $3 AND $4
                 AND endpoint_id = ANY ($5::uuid[])""",
            *keys,
        )
        attempts = await conn.fetch(
            """SELECT event_id, endpoint_id, number, at, url, status, error, latency_ms FROM delivery_attempts
               WHERE channel_id = $1 AND event_id = ANY ($2::uuid[]) AND event_id BETWEEN $3 AND $4
                 AND endpoint_id = ANY ($5::uuid[])
               ORDER BY at""",
            *keys,
        )
    traced = [_traced(row, deleted=row["endpoint_id"] not in kept) for row in deliveries]
    return Trace(_structs(TracedEvent, events), traced, _structs(TracedAttempt, attempts))


def _traced(row: Any, *, deleted: bool) -> TracedDelivery:
    fields = dict(row) | {"state": state_now(row["state"], deleted=deleted)}
    return TracedDelivery(**fields | ({"next_at": None} if deleted else {}))


def _structs(kind: Any, rows: Any) -> list[Any]:
    return [kind(**row) for row in rows]


PAGE_SIZE = 4 * 1024 * 1024  # bytes of contents after which a page ends
SCHEDULED = -100  # a filter value like a state; in the rows it is a queued message with a later time
_WIDTH = len(StoredMessage.__struct_fields__)
_STATE = StoredMessage.__struct_fields__.index("state")
_STATES = {state.value: state for state in State}
_FITS = f"""(:incoming::boolean IS NULL OR incoming = :incoming)
            AND (:types::text[] IS NULL OR type = ANY (:types))
            AND (:states::int[] IS NULL
                 OR CASE WHEN state = 0 AND send_at > :now THEN {SCHEDULED} ELSE state END = ANY (:states))"""
# The newest messages, up to PAGE_SIZE bytes and at least one; `found` is how many there are.
_LIGHT = f"""SELECT {_COLUMNS}, found FROM (
    SELECT {_COLUMNS}, count(*) OVER () AS found,
           sum(octet_length(content)) OVER (ORDER BY id DESC) - octet_length(content) AS before"""
_ALL = "channel_id = :channel_id AND id >= :start AND id < :end"
_CONTACT = _ALL + " AND contact_id = :contact_id"


class HistoryFilter(msgspec.Struct, frozen=True):
    """Which messages of a channel; None matches all."""

    span: IdRange = IdRange()
    contact_id: UUID | None = None
    incoming: bool | None = None
    types: tuple[str, ...] | None = None
    states: tuple[int, ...] | None = None

    @property
    def narrow(self) -> bool:
        """Whether rows are filtered by more than contact and time."""
        return (self.incoming, self.types, self.states) != (None, None, None)


class HistoryPage(msgspec.Struct, frozen=True):
    """The messages found, and up to which id all were read; None: to the end."""

    messages: list[StoredMessage]
    reached: UUID | None


async def read_history_page(
    db: Database, channel_id: UUID, filters: HistoryFilter, now: datetime, *, scan: int, limit: int
) -> HistoryPage:
    """Return the newest matching messages, at most `limit`, among the newest `scan`; fewer if they are long."""
    where, place = _place(channel_id, filters)
    rows = await db.fetch(
        f"""{_LIGHT} FROM (SELECT {_COLUMNS} FROM (
                SELECT {_COLUMNS} FROM messages WHERE {where} ORDER BY id DESC LIMIT :scan) m
            WHERE {_FITS} ORDER BY id DESC LIMIT :limit) f) s WHERE before < :size ORDER BY id DESC""",
        **place,
        **_conditions(filters, now),
        scan=scan,
        limit=limit,
        size=PAGE_SIZE,
    )
    found, all_ = _light(rows)
    if len(found) == limit or not all_:
        return HistoryPage(found, found[-1].id)
    if not filters.narrow and len(found) < scan:
        return HistoryPage(found, None)
    end = await db.fetchval(
        f"SELECT id FROM messages WHERE {where} ORDER BY id DESC OFFSET :skip LIMIT 1", **place, skip=scan - 1
    )
    # A message inserted between the two statements moves the end by one; no message is returned twice.
    return HistoryPage(found, end if end is None or not found else min(end, found[-1].id))


async def read_newer(
    db: Database, channel_id: UUID, contact_id: UUID, after: UUID, *, limit: int
) -> list[StoredMessage]:
    """Return the messages of a contact that follow one, the oldest first; fewer if they are long."""
    behind = UUID(int=min(after.int + 1, LAST_ID.int))  # the id comes from a cursor
    where, place = _place(channel_id, HistoryFilter(IdRange(behind), contact_id))
    rows = await db.fetch(
        f"""SELECT {_COLUMNS} FROM (
                SELECT {_COLUMNS}, sum(octet_length(content)) OVER (ORDER BY id) - octet_length(content) AS before
                FROM (SELECT {_COLUMNS} FROM messages WHERE {where} ORDER BY id LIMIT :limit) m) s
            WHERE before < :size ORDER BY id""",
        **place,
        limit=limit,
        size=PAGE_SIZE,
    )
    return [message_of_row(row) for row in rows]


class HistoryTexts(msgspec.Struct, frozen=True):
    """The contents of messages, the newest first, and whether the range has older ones."""

    messages: list[tuple[UUID, str]]
    more: bool

    @property
    def size(self) -> int:
        """Return how many characters they have together."""
        return sum(len(content) for _, content in self.messages)


async def read_texts(db: Database, channel_id: UUID, filters: HistoryFilter, *, limit: int, size: int) -> HistoryTexts:
    """Return the contents of the newest messages in a range: up to a number and a size, at least one."""
    where, place = _place(channel_id, filters)
    rows = await db.fetch(
        f"""SELECT id, content, found FROM (
                SELECT id, content, count(*) OVER () AS found,
                       sum(octet_length(content)) OVER (ORDER BY id DESC) - octet_length(content) AS before
                FROM (SELECT id, content FROM messages WHERE {where} ORDER BY id DESC LIMIT :limit) newest) m
            WHERE before < :size ORDER BY id DESC""",
        **place,
        limit=limit,
        size=size,
    )
    more = bool(rows) and (len(rows) < rows[0]["found"] or len(rows) == limit)
    return HistoryTexts([(row["id"], row["content"]) for row in rows], more)


async def read_contents(db: Database, channel_id: UUID, chosen: Sequence[UUID]) -> list[tuple[UUID, str]]:
    """Return the contents of the given messages."""
    if not chosen:
        return []
    rows = await db.fetch(
        """SELECT m.id, m.content FROM unnest($2::uuid[]) AS chosen (id) CROSS JOIN LATERAL (
               SELECT id, content FROM messages
               WHERE channel_id = $1 AND id = chosen.id AND id BETWEEN $3 AND $4 LIMIT 1) m""",
        channel_id,
        *keys_and_range(chosen),
    )
    return [(row["id"], row["content"]) for row in rows]


async def read_contact_ids(db: Database, channel_id: UUID, chosen: Sequence[UUID]) -> list[UUID]:
    """Return the contacts of the given messages, each once."""
    if not chosen:
        return []
    rows = await db.fetch(
        """SELECT DISTINCT m.contact_id FROM unnest($2::uuid[]) AS chosen (id) CROSS JOIN LATERAL (
               SELECT contact_id FROM messages
               WHERE channel_id = $1 AND id = chosen.id AND id BETWEEN $3 AND $4 LIMIT 1) m""",
        channel_id,
        *keys_and_range(chosen),
    )
    return [row["contact_id"] for row in rows]


async def read_messages(
    db: Database, channel_id: UUID, chosen: Sequence[UUID], filters: HistoryFilter, now: datetime
) -> HistoryPage:
    """Return those of the given messages that match, the newest first, up to a size; and where to continue."""
    if not chosen:
        return HistoryPage([], None)
    keys, first, last = keys_and_range(chosen)
    rows = await db.fetch(
        f"""{_LIGHT} FROM (SELECT m.* FROM unnest(:chosen::uuid[]) AS chosen (id) CROSS JOIN LATERAL (
                SELECT {_COLUMNS} FROM messages
                WHERE channel_id = :channel_id AND id = chosen.id AND id BETWEEN :first AND :last LIMIT 1) m
            WHERE {_FITS}) f) s WHERE before < :size ORDER BY id DESC""",
        **_conditions(filters, now),
        channel_id=channel_id,
        chosen=keys,
        first=first,
        last=last,
        size=PAGE_SIZE,
    )
    found, all_ = _light(rows)
    return HistoryPage(found, None if all_ else found[-1].id)


async def find_contact(db: Database, channel_id: UUID, phone: str) -> UUID | None:
    """Return the contact with this number or alias."""
    found = await find_contacts(db, channel_id, {phone})
    return found[phone].id if phone in found else None


async def has_conversation(db: Queryable, channel_id: UUID, contact_id: UUID) -> bool:
    """Whether the channel has this conversation."""
    row = await db.fetchrow(
        "SELECT 1 FROM conversations WHERE channel_id = $1 AND contact_id = $2", channel_id, contact_id
    )
    return row is not None


def _light(rows: Sequence[Any]) -> tuple[list[StoredMessage], bool]:
    """Return the messages that fit into a page together, and whether those are all."""
    return [message_of_row(row) for row in rows], not rows or rows[0]["found"] == len(rows)


def message_of_row(row: Any) -> StoredMessage:
    """Return a message from a row that begins with exactly its columns, by position: a page has many."""
    values = list(row)[:_WIDTH]
    values[_STATE] = _STATES[values[_STATE]]
    return StoredMessage(*values)


def _place(channel_id: UUID, filters: HistoryFilter) -> tuple[str, dict[str, Any]]:
    """Return the condition that an index serves, and its parameters."""
    place = {"channel_id": channel_id, "start": filters.span.start, "end": filters.span.end}
    return (_ALL, place) if filters.contact_id is None else (_CONTACT, place | {"contact_id": filters.contact_id})


def _conditions(filters: HistoryFilter, now: datetime) -> dict[str, Any]:
    """Return the parameters of `_FITS`."""
    return {"incoming": filters.incoming, "types": filters.types, "states": filters.states, "now": now}
