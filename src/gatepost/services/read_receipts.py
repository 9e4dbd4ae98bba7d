"""Sends read receipts and typing indicators to a person."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from gatepost.model.errors import Conflict
from gatepost.model.person import person_at
from gatepost.networks.base import NetworkActions
from gatepost.services.lookup import existing, read_id
from gatepost.services.network_errors import network_call
from gatepost.store.channels import ChannelConfig
from gatepost.store.conversations.changes import find_last_incoming
from gatepost.store.messages.history import StoredMessage
from gatepost.store.pool import Database

# Returns the channel's network, or the way to it if another process holds its link; None if it is not connected.
Speak = Callable[[ChannelConfig], Awaitable[NetworkActions | None]]
MEMORY = timedelta(days=30)  # no network accepts read receipts for older messages


async def show_read(speak: Speak, channel: ChannelConfig, message: StoredMessage) -> None:
    """Mark an incoming message as read on the network; an official one also marks the earlier ones."""
    if not message.incoming or message.network_id is None:
        raise Conflict("Only an incoming message can be marked as read; this one was sent by the channel.")
    network = await connected(speak, channel)
    with network_call():
        await network.mark_read(message.network_id, person_at(message.phone))


async def show_typing(db: Database, speak: Speak, channel: ChannelConfig, conversation: str, now: datetime) -> None:
    """Show 'typing…' under the person's newest message in a conversation. The network also marks it as read."""
    contact_id = read_id("cv", conversation)
    incoming = existing("cv", await find_last_incoming(db, channel.id, contact_id, now - MEMORY))
    if incoming.network_id is None or incoming.address is None:
        days = MEMORY.days
        raise Conflict(f"Typing is shown under a message of the person, and none has come within {days} days.")
    network = await connected(speak, channel)
    with network_call():
        await network.mark_read(incoming.network_id, person_at(incoming.address), typing=True)


async def connected(speak: Speak, channel: ChannelConfig) -> NetworkActions:
    """Return the channel's network, or raise if it is not connected."""
    network = await speak(channel)
    if network is None:
        raise Conflict(
            "The channel is not connected to its network at the moment. GET /api/v1/channel shows its state.",
            "channel_not_connected",
        )
    return network
