"""Conversations as people manage them: one to look at, what they set about it, and its messages.

Lists of them are in `inbox.py`.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import event as events
from gatepost.store.channel_transaction import ChannelTransaction
from gatepost.store.conversations.last_incoming import LastIncoming, find_heard
from gatepost.store.labels import CONVERSATION, LabelRow, labels_of
from gatepost.store.messages.history import stored
from gatepost.store.messages.read import StoredMessage
from gatepost.store.pool import Connection, Database, keys_and_span

OPEN, CLOSED = "open", "closed"
STATUSES = (OPEN, CLOSED)
SETTINGS = ("status", "archived", "muted", "assignee", "note")  # what people may set


class ConversationRow(msgspec.Struct, frozen=True):
    """A conversation's own row, with whom it is."""

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
    """A conversation with all that is shown of it."""

    talk: ConversationRow
    labels: Sequence[LabelRow]
    last_message: StoredMessage | None


TALK = ", ".join(ConversationRow.__struct_fields__)  # of a conversation with its person
ROW = ", ".join(name for name in ConversationRow.__struct_fields__ if name not in ("phone", "name"))  # its own columns
# Whom a conversation is with.
PERSON = """(SELECT phone, COALESCE(given_name, name) AS name FROM contacts
             WHERE channel_id = $1 AND id = contact_id LIMIT 1) p"""
_TALK = f"""SELECT {TALK} FROM (
        SELECT {ROW} FROM conversations WHERE channel_id = $1 AND contact_id = $2) v CROSS JOIN LATERAL {PERSON}"""
_MESSAGE = ", ".join(StoredMessage.__struct_fields__)


async def get_conversation(db: Database, channel_id: UUID, contact_id: UUID) -> ConversationDetails | None:
    """One conversation of a channel."""
    async with db.connection() as conn:
        return await read_conversation(conn, channel_id, contact_id)


async def read_conversation(conn: "Connection[Any]", channel_id: UUID, contact_id: UUID) -> ConversationDetails | None:
    """The same where a connection is at hand."""
    talk = await _find(conn, channel_id, contact_id)
    return (await complete(conn, channel_id, [talk]))[0] if talk else None


async def complete(
    conn: "Connection[Any]", channel_id: UUID, talks: Sequence[ConversationRow]
) -> list[ConversationDetails]:
    """Conversations with their labels and newest messages."""
    labels = await labels_of(conn, channel_id, [talk.contact_id for talk in talks], CONVERSATION)
    newest = await _newest(conn, channel_id, talks)
    return [ConversationDetails(talk, labels[talk.contact_id], newest.get(talk.contact_id)) for talk in talks]


async def _newest(
    conn: "Connection[Any]", channel_id: UUID, talks: Sequence[ConversationRow]
) -> dict[UUID, StoredMessage]:
    """The newest message of each conversation, by whole keys: either index of messages is right then."""
    keys = {talk.last_message_id: talk.contact_id for talk in talks if talk.last_message_id}
    if not keys:
        return {}
    rows = await conn.fetch(
        f"""SELECT m.* FROM unnest($2::uuid[], $3::uuid[]) AS wanted (contact_id, id) CROSS JOIN LATERAL (
                SELECT {_MESSAGE} FROM messages
                WHERE channel_id = $1 AND contact_id = wanted.contact_id AND id = wanted.id
                  AND id BETWEEN $4 AND $5 LIMIT 1) m""",
        channel_id,
        list(keys.values()),
        *keys_and_span(list(keys)),
    )
    return {message.contact_id: message for message in map(stored, rows)}


async def change_conversation(change: ChannelTransaction, contact_id: UUID, wishes: Mapping[str, Any]) -> bool:
    """Sets what people wish, and tells which of it is new; False when there is no such conversation."""
    talk = await _find(change.conn, change.channel_id, contact_id)
    if talk is None:
        return False
    new = {name: value for name, value in wishes.items() if value != getattr(talk, name)}
    if new:
        changed = msgspec.structs.replace(talk, **new)
        await change.conn.execute(
            """UPDATE conversations SET status = $3, archived = $4, muted = $5, assignee = $6, note = $7,
                      updated_at = $8
               WHERE channel_id = $1 AND contact_id = $2""",
            change.channel_id,
            contact_id,
            *(getattr(changed, name) for name in SETTINGS),
            change.now,
        )
        _tell(change, changed, list(new))
    return True


async def read_all(change: ChannelTransaction, contact_id: UUID, since: datetime) -> LastIncoming | None:
    """Nothing is unread any more; returns the newest message of the person, which was read by that.

    Both in one commit: a message that comes later is neither counted as read nor shown as read.
    """
    talk = await _find(change.conn, change.channel_id, contact_id)
    if talk is None:
        return None
    if talk.unread:
        await change.conn.execute(
            "UPDATE conversations SET unread = 0, updated_at = $3 WHERE channel_id = $1 AND contact_id = $2",
            change.channel_id,
            contact_id,
            change.now,
        )
        _tell(change, msgspec.structs.replace(talk, unread=0), ["unread"])
    return await find_heard(change.conn, change.channel_id, contact_id, since)


def _tell(change: ChannelTransaction, talk: ConversationRow, changed: Sequence[str]) -> None:
    fields = {name: getattr(talk, name) for name in (*SETTINGS, "unread")}
    data = events.chat_data(talk.contact_id, talk.phone, talk.name, {**fields, "changed": list(changed)})
    change.event_buffer.add(events.CHAT, "updated", data, talk.contact_id)


async def _find(conn: "Connection[Any]", channel_id: UUID, contact_id: UUID) -> ConversationRow | None:
    row = await conn.fetchrow(_TALK, channel_id, contact_id)
    return ConversationRow(*row) if row else None
