"""An example of every answer, made from the types of `shapes.py`: each field by its name here, or else by its type.

"Contact.id" goes before "id"; a type that is not here gives its plainest value. So a new route has an example at once,
and a better one with a line below.
"""

import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from gatepost.api.openapi.parameters import EXAMPLES
from gatepost.api.openapi.route_docs import RouteDocs
from gatepost.model.event_schema.examples import example_of

_AT, _LATER = "2026-11-15T10:00:00.123Z", "2026-11-16T10:00:00.123Z"
_ID, _CONTACT = EXAMPLES["message_id"], EXAMPLES["contact_id"]
_EVENT = msgspec.json.decode(example_of("message_notification", "created"))
_ENDPOINT, _URL = EXAMPLES["endpoint_id"], EXAMPLES["webhook_url"]
_KEY = {"remoteJid": f"{EXAMPLES['phone']}@s.whatsapp.net", "fromMe": True, "id": _ID}
_POSTED = {"url": _URL, "headers": {"webhook-id": _EVENT["id"]}, "body": '{"id": "evt_…"}'}

VALUES: dict[str, Any] = {
    # things by their ids
    "Key": _KEY,
    "Event": _EVENT,
    "Contact.id": _CONTACT,
    "ContactRef.id": _CONTACT,
    "Conversation.id": EXAMPLES["conversation_id"],
    "ReadConversation.id": EXAMPLES["conversation_id"],
    "ConversationRef.id": EXAMPLES["conversation_id"],
    "Order.id": EXAMPLES["order_id"],
    "Media.id": EXAMPLES["media_id"],
    "TemplateShown.id": EXAMPLES["template_id"],
    "Webhook.id": _ENDPOINT,
    "NewWebhook.id": _ENDPOINT,
    "EndpointRef.id": _ENDPOINT,
    "Recovery.id": EXAMPLES["recovery_id"],
    "Recovery.endpoint": _ENDPOINT,
    "Delivery.id": EXAMPLES["delivery_id"],
    "WholeDelivery.id": EXAMPLES["delivery_id"],
    "Retry.id": EXAMPLES["delivery_id"],
    "EventRef.id": _EVENT["id"],
    "Channel.id": EXAMPLES["channel_id"],
    # words that mean the same everywhere
    "phone": EXAMPLES["phone"],
    "name": "Ana Maria",
    "url": _URL,
    "error": None,
    "reason": None,
    "color": "#1d56a8",
    "paging": None,
    "latency_ms": 41.7,
    "version": 1,
    # messages
    "Message.type": "text",
    "Message.content": {"body": "Hello from Gatepost"},
    "Message.direction": "out",
    "Message.status": "DELIVERED",
    "Message.ack": 2,
    "Message.context": None,
    "Message.reply_to": None,
    "Message.about": None,
    "Message.reactions": [],
    "Message.edited_at": None,
    "Message.deleted_at": None,
    "Message.network_id": "wamid.HBgNNTUxMTk5OTk5ODg4OA==",
    "BatchResult.results": [{"success": True, "message": "Message queued", "data": {"key": _KEY, "status": "PENDING"}}],
    "BatchResult.refused": 0,
    "BatchResult.batch_id": "bat_019355d0a1b07c3e9f6a2b4c8d0e1f23",
    "CanceledMessages.canceled": 11_998,
    "CanceledMessages.too_late": 2,
    "CanceledMessages.done": True,
    "CanceledMessages.cursor": None,
    "Step.step": "accepted",
    "Trace.waiting": None,
    "Trace.events": [{"id": _EVENT["id"], "type": "message_notification", "action": "created"}],
    # people and orders
    "custom": {"city": "Lisbon"},
    "username": None,
    "opted_out": False,
    "opted_out_at": None,
    "assignee": "Anna",
    "note": "Wants it on Friday",
    "archived": False,
    "muted": False,
    "Checked.contact": _CONTACT,
    "Order.message": _ID,
    "Order.items": [
        {"product_id": "rye", "name": "Rye bread", "quantity": 2, "price": "4.50", "total": "9.00", "currency": "EUR"}
    ],
    "Order.note": None,
    "total": "9.00",
    "currency": "EUR",
    "catalog_id": "194836987003835",
    # usage and the channel
    "Usage.plan": {
        "name": "starter",
        "title": "Starter",
        "month": "2026-11",
        "limit": 12_000,
        "used": 4711,
        "left": 7289,
        "resets_at": "2026-12-01T00:00:00.000Z",
    },
    "Usage.storage": {"limit": 2_147_483_648, "used": 48_211, "left": 2_147_435_437},
    "trial": {"active": True, "ends_at": "2026-11-29T10:00:00.000Z"},
    "addons": [],
    "api_access": False,
    "tier": {"limit": 1000, "used": 12, "free": 988, "free_at": None, "since": None, "waiting": 0},
    "throughput": {"limit": 80, "used": 3, "free": 77},
    "pair": {"seconds": 6, "burst": 45, "free_at": None, "waiting": 0},
    "api": {"rate": 200, "burst": 400},
    "days": [
        {
            "date": "2026-11-15",
            "out": {"total": 2, "types": {"text": 2}},
            "in": {"total": 1, "types": {"image": 1}},
        }
    ],
    "Channel.phone": "15550001111",
    "Channel.name": "The bakery",
    "Channel.quality": "GREEN",
    "Channel.status": "CONNECTED",
    "Channel.capabilities": {"types": ["text", "image", "template"], "as_text": [], "edit": False, "delete": False},
    "Channel.limits": {"throughput": 80, "pair_seconds": 6, "pair_burst": 45, "tier": 1000, "window": 1},
    "Channel.queued": 0,
    "Channel.waiting": None,
    "Connection.state": "connected",
    "Connecting.connection": {"state": "connecting", "reason": None},
    "Code.code": "2@liXrE1wq0mA=",
    "Code.until": _LATER,
    "PairingCode.code": "ABCD-1234",
    "Profile.about": "Open until six",
    "Profile.address": "Rua Augusta 1, Lisbon",
    "Profile.description": "Bread, baked at night",
    "Profile.email": "hello@shop.example.com",
    "Profile.websites": ["https://shop.example.com"],
    "Profile.vertical": "RETAIL",
    "Profile.profile_picture_url": None,
    "Health.throughput": 80,
    "Health.tier": 1000,
    "Health.status": "CONNECTED",
    "Health.quality": "GREEN",
    "Health.name_status": "APPROVED",
    "Health.can_send": "AVAILABLE",
    "Health.problems": [],
    # templates and files
    "TemplateShown.network_id": "1407680676729941",
    "TemplateShown.name": "order_sent",
    "TemplateShown.language": "en_US",
    "TemplateShown.category": "UTILITY",
    "TemplateShown.status": "PENDING",
    "TemplateShown.quality": "UNKNOWN",
    "TemplateShown.parameter_format": "POSITIONAL",
    "TemplateShown.components": [{"type": "BODY", "text": "Your order has left our house today."}],
    "Preview.header": None,
    "Preview.body": "Hello Ana, your order 4711 has left our house today.",
    "Preview.footer": None,
    "Preview.buttons": [],
    "Media.state": "ready",
    "mime_type": "application/pdf",
    "size": 48_211,
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "filename": "bill-1001.pdf",
    # webhooks
    "Webhook.events": {"message_notification": True, "order_notifications": False},
    "NewWebhook.events": {"message_notification": True, "order_notifications": False},
    "headers": {"X-Shop": "7"},
    "public_key": None,
    "NewWebhook.secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "operational": False,
    "ordered": False,
    "batch": None,
    "rate_limit": None,
    "until": None,
    "failing_since": None,
    "failures": 0,
    "succeeded_at": _AT,
    "next_probe_at": None,
    "Verdict.timestamp": _AT,
    "Trial.status": 200,
    "Attempt.status": 200,
    "LastAttempt.status": 200,
    "DeliveryAttempt.status": 200,
    "DeliveryAttempt.batch": [],
    "Attempt.event": _EVENT["id"],
    "Attempt.delivery": {"state": "delivered", "next_at": None},
    "Attempt.request": _POSTED,
    "Trial.request": _POSTED,
    "SentRequest.headers": {"webhook-id": _EVENT["id"]},
    "SentRequest.body": '{"id": "evt_…"}',
    "GivenAnswer.headers": [["content-type", "text/plain"]],
    "GivenAnswer.body": "thank you",
    "answer": {"headers": [["content-type", "text/plain"]], "body": "thank you"},
    "EventRef.type": "message_notification",
    "EventRef.action": "created",
    "EventRef.sequence": 4711,
    "Delivery.status": "delivered",
    "WholeDelivery.status": "delivered",
    "next_attempt_at": None,
    "Delivery.waiting": None,
    "WholeDelivery.waiting": None,
    "Retried.refused": 0,
    "Recovery.until": _LATER,
    "Recovery.types": None,
    "Recovery.statuses": None,
    "Recovery.progress": 0.0,
    "Recovery.recovered": 0,
    "Recovery.ended_at": None,
}
_SAID = {
    "POST /api/v1/message/send": "Message queued",
    "POST /api/v1/messages/batch": "1 of 1 messages accepted",
    "POST /api/v1/messages/cancel": "11,998 messages canceled",
    "POST /api/v1/contacts": "Contact created",
    "POST /api/v1/templates": "Template handed in for review",
    "POST /api/v1/webhooks": "Webhook created",
    "POST /api/v1/media": "File stored",
}
_TEXTS: dict[str, Any] = {
    "application/x-ndjson": '{"id": "…"}\n',
    "text/csv": "phone,name\n5511999998888,Ana Maria\n",
    "text/event-stream": f"id: {_EVENT['id']}\nevent: {_EVENT['type']}\ndata: {{…}}\n\n",
    "text/html": "<!doctype html>…",
    "text/css": "body { … }",
    "text/javascript": '"use strict"; …',
    "text/plain": "",
    "image/svg+xml": '<svg xmlns="http://www.w3.org/2000/svg">…</svg>',
    "image/png": "(a picture)",
    "application/json": {"…": "…"},
    "application/schema+json": {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"},
    "*/*": "(the bytes of the file)",
}


def sample_answer(route: str, docs: RouteDocs, data: Any) -> dict[str, Any]:
    """The whole answer of a route whose `data` is of that type."""
    message = docs.message if docs.message != "OK" else _SAID.get(route, "OK")
    answer: dict[str, Any] = {"success": True, "message": message, "data": None if data is None else sample(data)}
    return answer | ({"paging": {"next": None}} if docs.paged else {})


def shown_as(kind: str) -> dict[str, Any]:
    """The example of an answer that is no JSON of ours, by its media type."""
    plain = kind.split(";", maxsplit=1)[0]
    return {"example": _TEXTS[plain]} if plain in _TEXTS else {}


def sample(type_: Any) -> Any:
    """A value of a type."""
    origin, inner = get_origin(type_), get_args(type_)
    if origin is Annotated:
        examples = type_.__metadata__[0].examples
        return examples[0] if examples else _AT if type_.__metadata__[0].extra_json_schema else sample(inner[0])
    if origin is Literal:
        return inner[0]
    if origin in (Union, types.UnionType):
        return sample(inner[0])
    if origin is list:
        return [sample(inner[0])]
    if isinstance(type_, type) and issubclass(type_, msgspec.Struct):
        return VALUES.get(type_.__name__) or _struct(type_)
    return {} if origin is dict else _PLAIN.get(type_)


_PLAIN: dict[Any, Any] = {str: "…", int: 1, float: 0.5, bool: True}


def _struct(type_: type[msgspec.Struct]) -> dict[str, Any]:
    hints, owner = get_type_hints(type_, include_extras=True), type_.__name__
    fields = [field.name for field in msgspec.structs.fields(type_) if field.default is not msgspec.UNSET]
    return {name: _field(owner, name, hints[name]) for name in fields}


def _field(owner: str, name: str, type_: Any) -> Any:
    if get_origin(type_) is Annotated and type_.__metadata__[0].examples:
        return type_.__metadata__[0].examples[0]
    for place in (f"{owner}.{name}", name):
        if place in VALUES:
            return VALUES[place]
    return sample(type_)
