"""Events: their types, and the JSON that is used in webhooks, the feed and the log."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids, times
from gatepost.model.label import shown_color
from gatepost.model.message import ACK, STATUS, State
from gatepost.model.person import jid, shown_phone

MESSAGE = "message_notification"
ACKNOWLEDGE = "ack_notification"
CHAT = "chat_notification"
LABEL = "label_notifications"
CONTACT = "contact_notifications"
ORDER = "order_notifications"
TYPES = (MESSAGE, ACKNOWLEDGE, CHAT, LABEL, CONTACT, ORDER)
OPERATIONAL = "endpoint_notification"  # the health of the channel's own endpoints; not sent unless subscribed to
ALL_TYPES = (*TYPES, OPERATIONAL)


class ChannelRef(msgspec.Struct, frozen=True):
    """The channel of an event."""

    id: str
    kind: str
    phone: str


class NewEvent(msgspec.Struct, frozen=True):
    """An event that has no sequence number in its channel yet."""

    id: UUID
    type: str
    action: str
    data: dict[str, Any]
    conversation_id: UUID | None = None  # None: the event is about the whole channel
    message_id: UUID | None = None  # of a `message_notification`


class _Event(msgspec.Struct, frozen=True):
    id: str
    type: str
    action: str
    timestamp: str
    sequence: int
    channel: ChannelRef
    data: dict[str, Any]


class _TestEvent(_Event, frozen=True):
    test: bool = True


_encode = msgspec.json.Encoder().encode


def render(event: NewEvent, sequence: int, channel: ChannelRef, at: datetime) -> str:
    """Return the public JSON of an event. It is rendered once, in the transaction that it reports."""
    body = _Event(
        ids.format_id("evt", event.id), event.type, event.action, times.format_time(at), sequence, channel, event.data
    )
    return _encode(body).decode()


def render_test(event: NewEvent, channel: ChannelRef, at: datetime) -> str:
    """Return the JSON of a test event for an endpoint. It is marked as a test and has no sequence number."""
    body = _TestEvent(
        ids.format_id("evt", event.id), event.type, event.action, times.format_time(at), 0, channel, event.data
    )
    return _encode(body).decode()


def message_key(phone: str, id_: UUID, *, incoming: bool) -> dict[str, Any]:
    """Return the key of a message in the seed's format: chat, direction, id."""
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
    status: State = State.QUEUED,
    context: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the data of `message_notification`."""
    data: dict[str, Any] = {
        "key": message_key(phone, id_, incoming=incoming),
        "direction": "in" if incoming else "out",
        "type": type_,
        "content": msgspec.Raw(content.encode()),
        "timestamp": times.format_time(timestamp),
        "contact": contact_ref(contact_id, phone, name),
        "conversation": {"id": ids.format_id("cv", contact_id)},
        "context": context_shown(reply_to, context),
    }
    if not incoming:
        data["status"] = "SCHEDULED" if scheduled else STATUS[status]
        data["client_ref"] = client_ref
    return data


def change_data(change: str, **more: Any) -> dict[str, Any]:
    """Return the extra fields of action `updated`: what changed, and by whom or why."""
    return {"change": change, **more}


def contact_ref(contact_id: UUID, address: str, name: str | None) -> dict[str, Any]:
    """Return the contact of an event. Its phone is null if only another address is known."""
    return {"id": ids.format_id("ct", contact_id), "phone": shown_phone(address), "name": name}


def contact_data(
    contact_id: UUID, address: str, name: str | None, at: datetime, noted: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the data of `contact_notifications` for a new contact. `noted` holds the fields that were set for it."""
    return {**_contact(contact_id, address, name), "created_at": times.format_time(at), **(noted or {})}


def contact_change_data(
    contact_id: UUID, address: str, name: str | None, fields: Mapping[str, Any], *, joined: tuple[UUID, ...] = ()
) -> dict[str, Any]:
    """Return the data of `contact_notifications` for a changed contact. `fields` holds the new values."""
    return {**_contact(contact_id, address, name), **fields, "joined": [ids.format_id("ct", id_) for id_ in joined]}


def contact_gone_data(contact_id: UUID, address: str, name: str | None) -> dict[str, Any]:
    """Return the data of `contact_notifications` for a deleted contact."""
    return _contact(contact_id, address, name)


def _contact(contact_id: UUID, address: str, name: str | None) -> dict[str, Any]:
    return {**contact_ref(contact_id, address, name), "conversation": {"id": ids.format_id("cv", contact_id)}}


def chat_data(contact_id: UUID, address: str, name: str | None, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of `chat_notification`: a conversation with the fields that the event reports."""
    return {"id": ids.format_id("cv", contact_id), "contact": contact_ref(contact_id, address, name), **fields}


def label_data(label_id: UUID, name: str, color: str) -> dict[str, Any]:
    """Return the data of `label_notifications`, which is also the form of a label elsewhere."""
    return {"id": ids.format_id("lb", label_id), "name": name, "color": shown_color(color)}


def label_use_data(
    label: Mapping[str, Any], target: str, contact_id: UUID, address: str, name: str | None
) -> dict[str, Any]:
    """Return the data of `label_notifications` for a label that was added or removed."""
    on = {"target": target, "contact": contact_ref(contact_id, address, name)}
    return {**label, **on, "conversation": {"id": ids.format_id("cv", contact_id)}}


def context_shown(reply_to: UUID | None, context: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the context of a message: the message it replies to, and its origin (forwarded, an ad, a product)."""
    shown = {"reply_to": ids.message_id(reply_to)} if reply_to else {}
    return {**shown, **(context or {})} or None


def ack_data(
    *,
    id_: UUID,
    phone: str,
    state: State,
    previous: str,
    client_ref: str | None,
    error: dict[str, Any] | None = None,
    told: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the data of `ack_notification` for a message. `told` holds the network's extras: pricing, conversation."""
    data: dict[str, Any] = {
        "key": message_key(phone, id_, incoming=False),
        "status": STATUS[state],
        "ack": ACK[state],
        "previous": previous,
        "client_ref": client_ref,
    }
    if error:
        data["error"] = error
    return {**data, **told} if told else data


def connection_data(
    state: str, previous: str, reason: str | None, details: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the data of `ack_notification` for a channel's connection."""
    return {"state": state, "previous": previous, "reason": reason, **(details or {})}


def order_data(
    id_: UUID, contact: dict[str, Any], contact_id: UUID, order: Mapping[str, Any], at: datetime
) -> dict[str, Any]:
    """Return the data of `order_notifications`."""
    return {
        "id": ids.format_id("ord", id_),
        "message": ids.message_id(id_),
        "contact": contact,
        "conversation": {"id": ids.format_id("cv", contact_id)},
        **order,
        "created_at": times.format_time(at),
    }


def endpoint_data(
    endpoint_id: UUID,
    url: str,
    state: str,
    *,
    previous: str,
    reason: str | None,
    failing_since: datetime | None,
    failures: int,
    exhausted: int | None = None,
    event_id: UUID | None = None,
) -> dict[str, Any]:
    """Return the data of `endpoint_notification`. `exhausted` deliveries have failed, the last one for `event_id`."""
    data = {
        "id": ids.format_id("we", endpoint_id),
        "url": url,
        "state": state,
        "previous": previous,
        "reason": reason,
        "failing_since": times.format_optional_time(failing_since),
        "failures": failures,
    }
    return {**data, "exhausted": exhausted, "event": ids.format_id("evt", event_id)} if event_id else data
