"""What messages do to conversations: a new one comes into being, the newest message is noted, a closed one reopens."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import event as events
from gatepost.model import times
from gatepost.store.channel_head import EventBuffer
from gatepost.store.contacts.rows import KnownContact
from gatepost.store.pool import Connection


def newest_of(contact_ids: Sequence[UUID], message_ids: Sequence[UUID]) -> tuple[list[UUID], list[UUID]]:
    """Each contact once, in key order, with the newest of its messages."""
    newest: dict[UUID, UUID] = {}
    for contact_id, message_id in zip(contact_ids, message_ids, strict=True):
        newest[contact_id] = max(message_id, newest.get(contact_id, message_id))
    return sorted(newest), [newest[contact_id] for contact_id in sorted(newest)]


def tell_made(made: Sequence[KnownContact], event_buffer: EventBuffer, now: datetime) -> None:
    """Tells of people whom the channel meets for the first time."""
    for contact in made:
        event_buffer.add(
            events.CONTACT, "created", events.contact_data(contact.id, contact.phone, contact.called, now), contact.id
        )
        fields = {"status": "open", "created_at": times.show(now)}
        event_buffer.add(
            events.CHAT, "created", events.chat_data(contact.id, contact.phone, contact.called, fields), contact.id
        )


class ConversationActivity(msgspec.Struct):
    """What one batch brought into a conversation."""

    contact: KnownContact
    last_message_id: UUID
    last_in_at: datetime | None = None  # None: nothing that the person wrote
    unread: int = 0


async def tell_reopened(
    conn: "Connection[Any]", channel_id: UUID, heard: Sequence[ConversationActivity], event_buffer: EventBuffer
) -> None:
    """Tells of conversations that were closed or archived until now. The caller holds the head, so it stays true."""
    speaking = {one.contact.id: one.contact for one in heard if one.unread}
    if not speaking:
        return
    rows = await conn.fetch(
        """SELECT c.* FROM unnest($2::uuid[]) AS wanted (id) CROSS JOIN LATERAL (
               SELECT contact_id, status, archived FROM conversations
               WHERE channel_id = $1 AND contact_id = wanted.id AND (status <> 'open' OR archived) LIMIT 1) c""",
        channel_id,
        sorted(speaking),
    )
    for row in rows:
        contact = speaking[row["contact_id"]]
        changed = [name for name, was in (("status", row["status"] != "open"), ("archived", row["archived"])) if was]
        fields = {"status": "open", "archived": False, "changed": changed}
        event_buffer.add(
            events.CHAT, "updated", events.chat_data(contact.id, contact.phone, contact.called, fields), contact.id
        )


async def note_heard(conn: "Connection[Any]", channel_id: UUID, heard: Sequence[ConversationActivity]) -> None:
    """Notes what came: the window counts from the newest message of the person, and what they wrote is unread."""
    await conn.executemany(  # in this order: sending opens conversations without the channel's lock, in key order too
        """UPDATE conversations SET last_in_at = GREATEST(last_in_at, $3),
                  last_message_id = GREATEST(last_message_id, $4), unread = unread + $5,
                  status = CASE WHEN $5 > 0 THEN 'open' ELSE status END,
                  archived = archived AND $5 = 0
           WHERE channel_id = $1 AND contact_id = $2""",
        [
            (channel_id, one.contact.id, one.last_in_at, one.last_message_id, one.unread)
            for one in sorted(heard, key=lambda one: one.contact.id)
        ],
    )
