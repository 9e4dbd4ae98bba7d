"""One message by its id."""

from uuid import UUID

from gatepost.services.lookup import existing, read_id
from gatepost.store.messages.history import StoredMessage, get_message
from gatepost.store.pool import Database


async def access_message(db: Database, channel_id: UUID, text: str) -> StoredMessage:
    """Return the message of a channel with that id."""
    return existing("", await get_message(db, channel_id, read_id("", text)))
