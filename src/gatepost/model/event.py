"""Events: the six types, and the JSON that webhook, feed and log all carry."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids, times
from gatepost.model.message import ACK, STATUS, State
from gatepost.model.phone import jid

MESSAGE = "message_notification"
ACKNOWLEDGE = "ack_notification"
CHAT = "chat_notification"
LABEL = "label_notifications"
CONTACT = "contact_notifications"
ORDER = "order_notifications"
TYPES = (MESSAGE, ACKNOWLEDGE, CHAT, LABEL, CONTACT, ORDER)


class ChannelRef(msgspec.Struct, frozen=True):
    """How an event names its channel."""

    id: str
    kind: str
    phone: str


class NewEvent(msgspec.Struct, frozen=True):
    """An event before it has its place in the channel's order."""

    id: UUID
    type: str
    action: str
    data: dict[str, Any]


class _Event(msgspec.Struct, frozen=True):
    id: str
    type: str
    action: str
    timestamp: str
    sequence: int
    channel: ChannelRef
    data: dict[str, Any]


_encode = msgspec.json.Encoder().encode


def render(event: NewEvent, sequence: int, channel: ChannelRef, at: datetime) -> str:
    """The event as the world sees it. Rendered once, inside the commit that it tells of."""
    body = _Event(ids.show("evt", event.id), event.type, event.action, times.show(at), sequence, channel, event.data)
    return _encode(body).decode()


def message_key(phone: str, id_: UUID, *, incoming: bool) -> dict[str, Any]:
    """The seed's key: chat, direction, id."""
    return {"remoteJid": jid(phone), "fromMe": not incoming, "id": ids.message_id(id_)}


def message_data(
    *,
    id_: UUID,
    phone: str,
    contact_id: UUID,
    name: str | None,
    incoming: bool,
    type_: str,
    content: str,
    timestamp: datetime,
    reply_to: UUID | None,
    client_ref: str | None,
    scheduled: bool = False,
) -> dict[str, Any]:
    """The data of `message_notification`."""
    data: dict[str, Any] = {
        "key": message_key(phone, id_, incoming=incoming),
        "direction": "in" if incoming else "out",
        "type": type_,
        "content": msgspec.Raw(content.encode()),
        "timestamp": times.show(timestamp),
        "contact": {"id": ids.show("ct", contact_id), "phone": phone, "name": name},
        "conversation": {"id": ids.show("cv", contact_id)},
        "context": {"reply_to": ids.message_id(reply_to)} if reply_to else None,
    }
    if not incoming:
        data["status"] = "SCHEDULED" if scheduled else STATUS[State.QUEUED]
        data["client_ref"] = client_ref
    return data


def ack_data(
    *,
    id_: UUID,
    phone: str,
    state: State,
    previous: str,
    client_ref: str | None,
    error: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The data of `ack_notification` for a message."""
    data: dict[str, Any] = {
        "key": message_key(phone, id_, incoming=False),
        "status": STATUS[state],
        "ack": ACK[state],
        "previous": previous,
        "client_ref": client_ref,
    }
    if error:
        data["error"] = error
    return data
