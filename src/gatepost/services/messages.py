"""One message by its id."""

from uuid import UUID

from gatepost.model import ids
from gatepost.model.errors import NotFound
from gatepost.store.messages.history import StoredMessage, get_message
from gatepost.store.pool import Database


async def access_message(db: Database, channel_id: UUID, text: str) -> StoredMessage:
    """Return the message of a channel with that id."""
    message_id = ids.parse_id("", text)
    message = await get_message(db, channel_id, message_id) if message_id else None
    if message is None:
        raise NotFound("There is no such message on this channel.")
    return message
