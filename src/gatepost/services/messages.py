"""One message by its id, and to edit or delete a sent one for everyone: linked phones can, official numbers cannot."""

from datetime import datetime
from uuid import UUID

import msgspec

from gatepost.model.errors import Conflict, Invalid
from gatepost.model.field_readers import read_text
from gatepost.model.message import State
from gatepost.model.person import person_at
from gatepost.networks.base import MessageEditor
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.services.lookup import existing, read_id
from gatepost.services.network_errors import network_call
from gatepost.services.read_receipts import Speak, connected
from gatepost.store.channels import ChannelConfig
from gatepost.store.messages.amend import amend_own
from gatepost.store.messages.history import StoredMessage, get_message
from gatepost.store.pool import Database

_LEFT = (State.SENT, State.DELIVERED, State.READ, State.PLAYED)


async def access_message(db: Database, channel_id: UUID, text: str) -> StoredMessage:
    """Return the message of a channel with that id."""
    return existing("", await get_message(db, channel_id, read_id("", text)))


class MessageChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The new text of a message."""

    body: str


async def edit_message(
    db: Database, speak: Speak, channel: ChannelConfig, message: StoredMessage, change: MessageChange, now: datetime
) -> None:
    """Edit a text message on the person's phone, then in the database."""
    link, network_id = await _access(speak, channel, message, "edit")
    if message.type != "text":
        raise Conflict("Only a text can be edited; this message is of another type.")
    read_text("body", change.body, "text.body")
    content = {"body": change.body}
    with network_call():
        await link.edit(network_id, person_at(message.phone), "text", msgspec.json.encode(content).decode())
    await _note(db, channel, message.id, "edit", {"edit": {"type": "text", "content": content}}, now)


async def delete_message(
    db: Database, speak: Speak, channel: ChannelConfig, message: StoredMessage, now: datetime
) -> None:
    """Delete a message on the person's phone, then mark it as deleted in the database."""
    link, network_id = await _access(speak, channel, message, "delete")
    with network_call():
        await link.delete(network_id, person_at(message.phone))
    await _note(db, channel, message.id, "revoke", {}, now)


async def _access(speak: Speak, channel: ChannelConfig, message: StoredMessage, what: str) -> tuple[MessageEditor, str]:
    """Return the editor of the message's network and its id there, or raise if it cannot be changed."""
    if not getattr(NETWORK_KINDS[channel.kind].capabilities, what):
        raise Invalid(f"This network cannot {what} a message that was sent.", "unsupported_on_channel")
    if message.incoming or message.network_id is None or message.state not in _LEFT:
        raise Conflict("Only a message that has left this channel can be changed.")
    if message.deleted_at is not None:
        raise Conflict("The message was deleted before.")
    editor = (await connected(speak, channel)).editor
    assert editor is not None  # its capabilities say so
    return editor, message.network_id


async def _note(
    db: Database, channel: ChannelConfig, message_id: UUID, type_: str, content: dict[str, object], now: datetime
) -> None:
    await amend_own(db, channel.ref, channel.id, message_id, type_, content, now)
