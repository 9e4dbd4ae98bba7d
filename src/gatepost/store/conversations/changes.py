"""Conversations: reading one, changing its settings, and what messages do to it.

Lists of them are in `inbox.py`.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids, times
from gatepost.model.event.chats import ChatCreated, ChatUpdated
from gatepost.model.event.contacts import ContactCreated, contact_fields
from gatepost.model.event.parts import EventContact
from gatepost.store.channel_head import ChannelTransaction, EventBuffer
from gatepost.store.contacts.rows import KnownContact
from gatepost.store.labels import CONVERSATION, LabelRow, read_labels_by_contact
from gatepost.store.messages.history import StoredMessage, message_of_row
from gatepost.store.pool import Connection, Database, Queryable, keys_and_range
from gatepost.store.statement import statement

OPEN, CLOSED = "open", "closed"
STATUSES = (OPEN, CLOSED)
SETTINGS = ("status", "archived", "muted", "assignee", "note")  # what people may set


class ConversationRow(msgspec.Struct, frozen=True):
    """A conversation with its contact."""

    contact_id: UUID
    phone: str
    name: str | None
    status: str
    archived: bool
    muted: bool
    assignee: str | None
    note: str | None
    unread: int
    last_message_id: UUID | None
    last_in_at: datetime | None
    created_at: datetime
    updated_at: datetime | None


class ConversationDetails(msgspec.Struct, frozen=True):
    """A conversation with its labels and newest message."""

    conversation: ConversationRow
    labels: Sequence[LabelRow]
    last_message: StoredMessage | None


COLUMNS = ", ".join(ConversationRow.__struct_fields__)  # of a conversation with its contact
ROW_COLUMNS = ", ".join(
    name for name in ConversationRow.__struct_fields__ if name not in ("phone", "name")
)  # its own columns
# The contact of a conversation.
PERSON = """(SELECT phone, COALESCE(given_name, name) AS name FROM contacts
             WHERE channel_id = :channel_id AND id = contact_id LIMIT 1) p"""
_SELECT = f"""SELECT {COLUMNS} FROM (
        SELECT {ROW_COLUMNS} FROM conversations WHERE channel_id = :channel_id AND contact_id = :contact_id) v
    CROSS JOIN LATERAL {PERSON}"""
_MESSAGE = ", ".join(StoredMessage.__struct_fields__)


# Types that refer to another message.
_ABOUT_OTHERS = ("reaction", "edit", "revoke", "system")
_MARKED = 100  # unread messages that are marked as read on the network


class LastIncoming(msgspec.Struct, frozen=True):
    """The newest message of a person; None if there is none since."""

    network_id: str | None
    address: str | None
    earlier: list[str] = []  # the network's ids of unread messages before it


async def get_conversation(db: Database, channel_id: UUID, contact_id: UUID) -> ConversationDetails | None:
    """Return a conversation of a channel."""
    async with db.connection() as conn:
        return await read_conversation(conn, channel_id, contact_id)


async def read_conversation(conn: "Connection[Any]", channel_id: UUID, contact_id: UUID) -> ConversationDetails | None:
    """Do the same on an open connection."""
    conversation = await _find(conn, channel_id, contact_id)
    return (await with_details(conn, channel_id, [conversation]))[0] if conversation else None


async def with_details(
    conn: "Connection[Any]", channel_id: UUID, conversations: Sequence[ConversationRow]
) -> list[ConversationDetails]:
    """Return conversations with their labels and newest messages."""
    labels = await read_labels_by_contact(
        conn, channel_id, [conversation.contact_id for conversation in conversations], CONVERSATION
    )
    newest = await _newest(conn, channel_id, conversations)
    return [
        ConversationDetails(conversation, labels[conversation.contact_id], newest.get(conversation.contact_id))
        for conversation in conversations
    ]


async def _newest(
    conn: "Connection[Any]", channel_id: UUID, conversations: Sequence[ConversationRow]
) -> dict[UUID, StoredMessage]:
    """Return the newest message of each conversation, by its whole key: then either index is right."""
    keys = {row.last_message_id: row.contact_id for row in conversations if row.last_message_id}
    if not keys:
        return {}
    rows = await conn.fetch(
        f"""SELECT m.* FROM unnest($2::uuid[], $3::uuid[]) AS wanted (contact_id, id) CROSS JOIN LATERAL (
                SELECT {_MESSAGE} FROM messages
                WHERE channel_id = $1 AND contact_id = wanted.contact_id AND id = wanted.id
                  AND id BETWEEN $4 AND $5 LIMIT 1) m""",
        channel_id,
        list(keys.values()),
        *keys_and_range(list(keys)),
    )
    return {message.contact_id: message for message in map(message_of_row, rows)}


async def change_conversation(change: ChannelTransaction, contact_id: UUID, changes: Mapping[str, Any]) -> bool:
    """Change settings and emit an event with those that are new. Return False if there is no such conversation."""
    conversation = await _find(change.conn, change.channel_id, contact_id)
    if conversation is None:
        return False
    new = {name: value for name, value in changes.items() if value != getattr(conversation, name)}
    if new:
        changed = msgspec.structs.replace(conversation, **new)
        await change.conn.execute(
            """UPDATE conversations SET status = $3, archived = $4, muted = $5, assignee = $6, note = $7,
                      updated_at = $8
               WHERE channel_id = $1 AND contact_id = $2""",
            change.channel_id,
            contact_id,
            *(getattr(changed, name) for name in SETTINGS),
            change.now,
        )
        _emit_updated(change, changed, list(new))
    return True


async def mark_read(change: ChannelTransaction, contact_id: UUID, since: datetime) -> LastIncoming | None:
    """Mark a conversation as read, and return the person's newest message.

    Both are one commit: a later message neither counts as read nor is shown as read.
    """
    conversation = await _find(change.conn, change.channel_id, contact_id)
    if conversation is None:
        return None
    if conversation.unread:
        await change.conn.execute(
            "UPDATE conversations SET unread = 0, updated_at = $3 WHERE channel_id = $1 AND contact_id = $2",
            change.channel_id,
            contact_id,
            change.now,
        )
        _emit_updated(change, msgspec.structs.replace(conversation, unread=0), ["unread"])
    return await find_last_incoming(change.conn, change.channel_id, contact_id, since, conversation.unread)


def _emit_updated(change: ChannelTransaction, conversation: ConversationRow, changed: Sequence[str]) -> None:
    contact_id = conversation.contact_id
    data = ChatUpdated(
        id=ids.format_id("cv", contact_id),
        contact=EventContact.ref(contact_id, conversation.phone, conversation.name),
        status=conversation.status,
        archived=conversation.archived,
        muted=conversation.muted,
        assignee=conversation.assignee,
        note=conversation.note,
        unread=conversation.unread,
        changed=changed,
    )
    change.event_buffer.add(data, contact_id)


async def _find(conn: "Connection[Any]", channel_id: UUID, contact_id: UUID) -> ConversationRow | None:
    row = await conn.fetchrow(*statement(_SELECT, channel_id=channel_id, contact_id=contact_id))
    return ConversationRow(*row) if row else None


async def find_last_incoming(
    conn: Queryable, channel_id: UUID, contact_id: UUID, since: datetime, unread: int = 1
) -> LastIncoming | None:
    """Return the newest message of a conversation's person; None if there is no such conversation."""
    rows = await conn.fetch(
        """SELECT m.network_id, m.phone FROM conversations c LEFT JOIN LATERAL (
               SELECT network_id, phone FROM messages
               WHERE channel_id = $1 AND contact_id = $2 AND id > $3
                 AND incoming AND network_id IS NOT NULL AND type <> ALL ($4::text[])
               ORDER BY id DESC LIMIT $5) m ON true
           WHERE c.channel_id = $1 AND c.contact_id = $2""",
        channel_id,
        contact_id,
        ids.floor_id(since),
        list(_ABOUT_OTHERS),
        min(max(unread, 1), _MARKED),
    )
    if not rows:
        return None
    newest, *others = rows
    earlier = [row["network_id"] for row in reversed(others) if row["phone"] == newest["phone"]]
    return LastIncoming(newest["network_id"], newest["phone"], earlier)


def newest_by_contact(contact_ids: Sequence[UUID], message_ids: Sequence[UUID]) -> tuple[list[UUID], list[UUID]]:
    """Return each contact once, in key order, with the newest of its messages."""
    newest: dict[UUID, UUID] = {}
    for contact_id, message_id in zip(contact_ids, message_ids, strict=True):
        newest[contact_id] = max(message_id, newest.get(contact_id, message_id))
    return sorted(newest), [newest[contact_id] for contact_id in sorted(newest)]


def emit_created(made: Sequence[KnownContact], event_buffer: EventBuffer, now: datetime) -> None:
    """Emit the events of new contacts and their conversations."""
    for contact in made:
        person = (contact.id, contact.phone, contact.display_name)
        event_buffer.add(ContactCreated(*contact_fields(*person), times.format_time(now)), contact.id)
        event_buffer.add(ChatCreated.of(*person, now), contact.id)


class ConversationActivity(msgspec.Struct):
    """The new messages of one batch in a conversation."""

    contact: KnownContact
    last_message_id: UUID
    last_in_at: datetime | None = None  # None: the person wrote nothing
    unread: int = 0


async def emit_reopened(change: ChannelTransaction, activities: Sequence[ConversationActivity]) -> None:
    """Emit events of conversations that were closed or archived until now."""
    speaking = {one.contact.id: one.contact for one in activities if one.unread}
    if not speaking:
        return
    rows = await change.conn.fetch(
        """SELECT c.* FROM unnest($2::uuid[]) AS wanted (id) CROSS JOIN LATERAL (
               SELECT contact_id, status, archived FROM conversations
               WHERE channel_id = $1 AND contact_id = wanted.id AND (status <> 'open' OR archived) LIMIT 1) c""",
        change.channel_id,
        sorted(speaking),
    )
    for row in rows:
        contact = speaking[row["contact_id"]]
        changed = [name for name, was in (("status", row["status"] != "open"), ("archived", row["archived"])) if was]
        person = EventContact.ref(contact.id, contact.phone, contact.display_name)
        data = ChatUpdated(
            id=ids.format_id("cv", contact.id), contact=person, status="open", archived=False, changed=changed
        )
        change.event_buffer.add(data, contact.id)


async def record_activity(
    conn: "Connection[Any]", channel_id: UUID, activities: Sequence[ConversationActivity]
) -> None:
    """Save the newest messages, the time that the customer-service window counts from, and what is unread."""
    await conn.executemany(  # in key order, as sending opens conversations without the channel's lock
        """UPDATE conversations SET last_in_at = GREATEST(last_in_at, $3),
                  last_message_id = GREATEST(last_message_id, $4), unread = unread + $5,
                  status = CASE WHEN $5 > 0 THEN 'open' ELSE status END,
                  archived = archived AND $5 = 0
           WHERE channel_id = $1 AND contact_id = $2""",
        [
            (channel_id, one.contact.id, one.last_in_at, one.last_message_id, one.unread)
            for one in sorted(activities, key=lambda one: one.contact.id)
        ],
    )
