"""Events: the six types, and the JSON that webhook, feed and log all carry."""

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
OPERATIONAL = "endpoint_notification"  # how the channel's own endpoints fare; beside the six, and off unless asked for
ALL_TYPES = (*TYPES, OPERATIONAL)


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
    conversation_id: UUID | None = None  # None: the channel as a whole
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
    """The event as the world sees it. Rendered once, inside the commit that it tells of."""
    body = _Event(ids.show("evt", event.id), event.type, event.action, times.show(at), sequence, channel, event.data)
    return _encode(body).decode()


def render_test(event: NewEvent, channel: ChannelRef, at: datetime) -> str:
    """An event that happened nowhere, to try an endpoint with: it says so itself, and has no place in the order."""
    body = _TestEvent(ids.show("evt", event.id), event.type, event.action, times.show(at), 0, channel, event.data)
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
    status: State = State.QUEUED,
    context: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The data of `message_notification`."""
    data: dict[str, Any] = {
        "key": message_key(phone, id_, incoming=incoming),
        "direction": "in" if incoming else "out",
        "type": type_,
        "content": msgspec.Raw(content.encode()),
        "timestamp": times.show(timestamp),
        "contact": contact_ref(contact_id, phone, name),
        "conversation": {"id": ids.show("cv", contact_id)},
        "context": context_shown(reply_to, context),
    }
    if not incoming:
        data["status"] = "SCHEDULED" if scheduled else STATUS[status]
        data["client_ref"] = client_ref
    return data


def change_data(change: str, **more: Any) -> dict[str, Any]:
    """What `updated` says besides the message as it is now: how it changed, and by whom or why."""
    return {"change": change, **more}


def contact_ref(contact_id: UUID, address: str, name: str | None) -> dict[str, Any]:
    """How an event names a contact. Somebody who is known by another id only has no phone."""
    return {"id": ids.show("ct", contact_id), "phone": shown_phone(address), "name": name}


def contact_data(
    contact_id: UUID, address: str, name: str | None, at: datetime, noted: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The data of `contact_notifications` for a contact that is new; `noted` is what people wrote down of them."""
    return {**_contact(contact_id, address, name), "created_at": times.show(at), **(noted or {})}


def contact_change_data(
    contact_id: UUID, address: str, name: str | None, fields: Mapping[str, Any], *, joined: tuple[UUID, ...] = ()
) -> dict[str, Any]:
    """The data of `contact_notifications` for a contact that changed; `fields` say how it is now."""
    return {**_contact(contact_id, address, name), **fields, "joined": [ids.show("ct", id_) for id_ in joined]}


def contact_gone_data(contact_id: UUID, address: str, name: str | None) -> dict[str, Any]:
    """The data of `contact_notifications` for a contact that was deleted."""
    return _contact(contact_id, address, name)


def _contact(contact_id: UUID, address: str, name: str | None) -> dict[str, Any]:
    return {**contact_ref(contact_id, address, name), "conversation": {"id": ids.show("cv", contact_id)}}


def chat_data(contact_id: UUID, address: str, name: str | None, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The data of `chat_notification`: a conversation, with the fields that it is told for."""
    return {"id": ids.show("cv", contact_id), "contact": contact_ref(contact_id, address, name), **fields}


def label_data(label_id: UUID, name: str, color: str) -> dict[str, Any]:
    """The data of `label_notifications`, and how everything else names a label."""
    return {"id": ids.show("lb", label_id), "name": name, "color": shown_color(color)}


def label_use_data(
    label: Mapping[str, Any], target: str, contact_id: UUID, address: str, name: str | None
) -> dict[str, Any]:
    """The same for a label that is put on somebody or taken off."""
    on = {"target": target, "contact": contact_ref(contact_id, address, name)}
    return {**label, **on, "conversation": {"id": ids.show("cv", contact_id)}}


def context_shown(reply_to: UUID | None, context: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What a message answers, and where it came from: forwarded, an advertisement, a product."""
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
    """The data of `ack_notification` for a message; `told` is what the network said besides: pricing, conversation."""
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
    """The data of `ack_notification` for a channel's connection."""
    return {"state": state, "previous": previous, "reason": reason, **(details or {})}


def order_data(
    id_: UUID, contact: dict[str, Any], contact_id: UUID, order: Mapping[str, Any], at: datetime
) -> dict[str, Any]:
    """The data of `order_notifications`."""
    return {
        "id": ids.show("ord", id_),
        "message": ids.message_id(id_),
        "contact": contact,
        "conversation": {"id": ids.show("cv", contact_id)},
        **order,
        "created_at": times.show(at),
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
    """The data of `endpoint_notification`; `exhausted` deliveries were given up, the last that of `event_id`."""
    data = {
        "id": ids.show("we", endpoint_id),
        "url": url,
        "state": state,
        "previous": previous,
        "reason": reason,
        "failing_since": times.show_maybe(failing_since),
        "failures": failures,
    }
    return {**data, "exhausted": exhausted, "event": ids.show("evt", event_id)} if event_id else data
