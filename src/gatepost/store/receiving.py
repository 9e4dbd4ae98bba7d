"""The commit that takes in what the network reports: statuses and messages of people, with their events."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import event as events
from gatepost.model import ids
from gatepost.model.event import ChannelRef, NewEvent
from gatepost.model.message import State
from gatepost.store.contacts import Contact, ensure_contacts
from gatepost.store.heads import lock_head
from gatepost.store.pool import Connection, Database, keys_and_span
from gatepost.store.statuses import Change, park, write_changes

_NETWORK_MEMORY = timedelta(days=30)


class Report(msgspec.Struct, frozen=True):
    """A status, in our words."""

    network_id: str
    state: State
    message_id: UUID | None
    error: dict[str, Any] | None
    attempt: int | None = None  # which of our attempts it speaks of, where the network told


class Message(msgspec.Struct, frozen=True):
    """A message of a person, under an id that is the same each time it is reported."""

    id: UUID
    network_id: str
    phone: str
    name: str | None
    type: str
    content: str
    at: datetime
    reply_to: str | None
    moved: bool = False  # its own time was too far off, so its id is not the same each time


async def receive_updates(
    db: Database,
    channel: ChannelRef,
    channel_id: UUID,
    reports: Sequence[Report],
    messages: Sequence[Message],
    now: datetime,
) -> None:
    """Takes in a batch. What is known already changes nothing and makes no event."""
    async with db.transaction() as conn:
        head = await lock_head(conn, channel_id)
        changes = await _apply(conn, channel_id, reports, now)
        fresh = await _unknown_messages(conn, channel_id, messages, now)
        event_ids = ids.next_ids(head.last_event_id, now, len(fresh))
        told = await _store_messages(conn, channel_id, fresh, event_ids, now) if fresh else []
        await write_changes(conn, head, channel, changes, now, told=told)


async def _apply(conn: "Connection[Any]", channel_id: UUID, reports: Sequence[Report], now: datetime) -> list[Change]:
    """Finds each report's message — by our own id, else by the network's — and lets the report change it."""
    if not reports:
        return []
    changes = await _changes_by_id(conn, channel_id, [r.message_id for r in reports if r.message_id])
    strays = [r for r in reports if r.message_id not in changes]
    by_network = await _changes_by_network_id(conn, channel_id, {r.network_id for r in strays}, now) if strays else {}
    parked = []
    for report in reports:
        change = changes.get(report.message_id) if report.message_id else None
        change = change or by_network.get(report.network_id)
        if change is None:
            parked.append(report)
            continue
        change = changes.setdefault(change.id, change)
        if report.state is State.FAILED and (report.attempt or change.attempt) < change.attempt:
            continue  # an earlier attempt failed, whose answer was lost; the message is being sent again
        change.learn(report.network_id)
        change.step(report.state, report.error)
    await _park(conn, channel_id, parked, now)
    return [change for change in changes.values() if change.changed]


async def _changes_by_id(conn: "Connection[Any]", channel_id: UUID, message_ids: Sequence[UUID]) -> dict[UUID, Change]:
    if not message_ids:
        return {}
    rows = await conn.fetch(
        """SELECT id, state, attempt, phone, client_ref, network_id FROM messages
           WHERE channel_id = $1 AND id = ANY ($2::uuid[]) AND id BETWEEN $3 AND $4 AND NOT incoming""",
        channel_id,
        *keys_and_span(message_ids),
    )
    return {row["id"]: Change.of(row) for row in rows}


async def _changes_by_network_id(
    conn: "Connection[Any]", channel_id: UUID, network_ids: set[str], now: datetime
) -> dict[str, Change]:
    rows = await _find_by_network_id(conn, channel_id, network_ids, now)
    return {row["network_id"]: Change.of(row) for row in rows if not row["incoming"]}


async def _find_by_network_id(
    conn: "Connection[Any]", channel_id: UUID, network_ids: set[str], now: datetime
) -> list[Any]:
    """The fall-back look-up. Thirty days back at most: no network speaks of older messages."""
    rows: list[Any] = await conn.fetch(
        """SELECT m.* FROM unnest($2::text[]) AS wanted (network_id) CROSS JOIN LATERAL (
               SELECT id, state, attempt, phone, client_ref, network_id, incoming FROM messages
               WHERE channel_id = $1 AND network_id = wanted.network_id AND id > $3 LIMIT 1) m""",
        channel_id,
        sorted(network_ids),
        ids.floor_id(now - _NETWORK_MEMORY),
    )
    return rows


async def _park(conn: "Connection[Any]", channel_id: UUID, reports: Sequence[Report], now: datetime) -> None:
    if reports:
        await conn.execute(
            """INSERT INTO parked_statuses (channel_id, network_id, id, status)
               SELECT $1, * FROM unnest($2::text[], $3::uuid[], $4::text[]) ON CONFLICT DO NOTHING""",
            channel_id,
            [r.network_id for r in reports],
            [ids.new_id(now) for _ in reports],
            [park(r.state, r.error) for r in reports],
        )


async def _unknown_messages(
    conn: "Connection[Any]", channel_id: UUID, messages: Sequence[Message], now: datetime
) -> list[Message]:
    """Leaves out what was taken in before, and doubles within the batch."""
    if not messages:
        return []
    unique = {message.network_id if message.moved else message.id: message for message in messages}
    rows = await conn.fetch(
        "SELECT id FROM messages WHERE channel_id = $1 AND id = ANY ($2::uuid[]) AND id BETWEEN $3 AND $4",
        channel_id,
        *keys_and_span([message.id for message in unique.values()]),
    )
    known: set[UUID | str] = {row["id"] for row in rows}
    moved = {message.network_id for message in unique.values() if message.moved}
    if moved:
        known |= {row["network_id"] for row in await _find_by_network_id(conn, channel_id, moved, now)}
    return [message for key, message in unique.items() if key not in known]


async def _store_messages(
    conn: "Connection[Any]", channel_id: UUID, fresh: Sequence[Message], event_ids: Sequence[UUID], now: datetime
) -> list[NewEvent]:
    names = {m.phone: m.name for m in fresh if m.name}
    people = await ensure_contacts(conn, channel_id, [m.phone for m in fresh], now, names)
    replies = {m.reply_to for m in fresh if m.reply_to}
    originals = await _find_by_network_id(conn, channel_id, replies, now) if replies else []
    quoted = {row["network_id"]: row["id"] for row in originals}
    await conn.execute(
        """INSERT INTO messages (channel_id, incoming, bulk, state, created_at, id, contact_id, phone, type, content,
                                 network_id, reply_to, sent_at, event_ids)
           SELECT $1, true, false, $2, $3, id, contact_id, phone, type, content, network_id, reply_to, sent_at,
                  ARRAY[event_id]
           FROM unnest($4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[], $10::uuid[],
                       $11::timestamptz[], $12::uuid[])
             AS m (id, contact_id, phone, type, content, network_id, reply_to, sent_at, event_id)""",
        channel_id,
        State.RECEIVED,
        now,
        [m.id for m in fresh],
        [people[m.phone].id for m in fresh],
        [m.phone for m in fresh],
        [m.type for m in fresh],
        [m.content for m in fresh],
        [m.network_id for m in fresh],
        [quoted.get(m.reply_to) for m in fresh],
        [m.at for m in fresh],
        event_ids,
    )
    await _note_last_in(conn, channel_id, fresh, people)
    return [
        _created(event_id, m, people[m.phone], quoted.get(m.reply_to))
        for event_id, m in zip(event_ids, fresh, strict=True)
    ]


async def _note_last_in(
    conn: "Connection[Any]", channel_id: UUID, fresh: Sequence[Message], people: dict[str, Contact]
) -> None:
    """The customer-service window counts from the newest message of the person."""
    newest: dict[UUID, datetime] = {}
    for message in fresh:
        contact_id = people[message.phone].id
        newest[contact_id] = max(message.at, newest.get(contact_id, message.at))
    await conn.executemany(  # in this order: sending opens conversations without the channel's lock, in key order too
        """UPDATE conversations SET last_in_at = GREATEST(last_in_at, $3)
           WHERE channel_id = $1 AND contact_id = $2""",
        [(channel_id, contact_id, newest[contact_id]) for contact_id in sorted(newest)],
    )


def _created(event_id: UUID, message: Message, contact: Contact, reply_to: UUID | None) -> NewEvent:
    data = events.message_data(
        id_=message.id,
        phone=message.phone,
        contact_id=contact.id,
        name=contact.name,
        incoming=True,
        type_=message.type,
        content=message.content,
        timestamp=message.at,
        reply_to=reply_to,
        client_ref=None,
    )
    return NewEvent(event_id, events.MESSAGE, "created", data)
