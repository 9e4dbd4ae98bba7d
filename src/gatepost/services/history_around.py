"""A conversation around one of its messages, and pages of it in both directions."""

from datetime import datetime
from uuid import UUID

import msgspec

from gatepost.model.dates import IdRange
from gatepost.services.messages import access_message
from gatepost.store.messages.history import HistoryFilter, StoredMessage, read_history_page, read_newer
from gatepost.store.pool import Database


class ConversationPosition(msgspec.Struct, frozen=True, array_like=True):
    """A position in a conversation, and the direction to read in."""

    contact_id: UUID
    message_id: UUID
    newer: bool


class ConversationPart(msgspec.Struct, frozen=True):
    """Some messages of a conversation, the newest first, and where it continues; None: it does not."""

    messages: list[StoredMessage]
    older: ConversationPosition | None
    newer: ConversationPosition | None


async def read_around(db: Database, channel_id: UUID, text: str, limit: int, now: datetime) -> ConversationPart:
    """Return a message with its neighbours: half of the page is newer, the rest is the message and older ones."""
    message = await access_message(db, channel_id, text)
    newer = await _read_newer(db, channel_id, ConversationPosition(message.contact_id, message.id, True), limit // 2)
    behind = ConversationPosition(message.contact_id, UUID(int=message.id.int + 1), False)
    older = await _read_older(db, channel_id, behind, limit - len(newer.messages), now)
    return ConversationPart(newer.messages + older.messages, older.older, newer.newer)


async def read_on(
    db: Database, channel_id: UUID, position: ConversationPosition, limit: int, now: datetime
) -> ConversationPart:
    """Return the next messages in the direction of a position."""
    if position.newer:
        return await _read_newer(db, channel_id, position, limit)
    return await _read_older(db, channel_id, position, limit, now)


async def _read_newer(db: Database, channel_id: UUID, position: ConversationPosition, limit: int) -> ConversationPart:
    contact_id = position.contact_id
    found = await read_newer(db, channel_id, contact_id, position.message_id, limit=limit + 1)
    messages = found[:limit][::-1]
    last = messages[0].id if messages else position.message_id
    more = len(found) > limit or bool(await read_newer(db, channel_id, contact_id, last, limit=1))
    back = ConversationPosition(contact_id, messages[-1].id, False) if messages else None
    return ConversationPart(messages, back, ConversationPosition(contact_id, last, True) if more else None)


async def _read_older(
    db: Database, channel_id: UUID, position: ConversationPosition, limit: int, now: datetime
) -> ConversationPart:
    contact_id = position.contact_id
    filter_ = HistoryFilter(IdRange(end=position.message_id), contact_id)
    page = await read_history_page(db, channel_id, filter_, now, scan=limit, limit=limit)
    back = ConversationPosition(contact_id, page.messages[0].id, True) if page.messages else None
    older = None if page.reached is None else ConversationPosition(contact_id, page.reached, False)
    return ConversationPart(page.messages, older, back)
