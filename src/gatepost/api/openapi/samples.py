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

_AT = "2026-11-15T10:00:00.123Z"
_EVENT = msgspec.json.decode(example_of("message_notification", "created"))
_ENDPOINT, _URL = EXAMPLES["endpoint_id"], EXAMPLES["webhook_url"]
_POSTED = {"url": _URL, "headers": {"webhook-id": _EVENT["id"]}, "body": '{"id": "evt_…"}'}

VALUES: dict[str, Any] = {
    "Event": _EVENT,
    "Media.id": EXAMPLES["media_id"],
    "TemplateShown.id": EXAMPLES["template_id"],
    "Webhook.id": _ENDPOINT,
    "NewWebhook.id": _ENDPOINT,
    # words that mean the same everywhere
    "url": _URL,
    "error": None,
    "reason": None,
    "latency_ms": 41.7,
    "version": 1,
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
    "Attempt.event": _EVENT["id"],
    "Attempt.delivery": {"state": "delivered", "next_at": None},
    "Attempt.request": _POSTED,
    "Trial.request": _POSTED,
    "answer": {"headers": [["content-type", "text/plain"]], "body": "thank you"},
}
_SAID = {
    "POST /api/v1/message/send": "Message queued",
    "POST /api/v1/messages/batch": "1 of 1 messages accepted",
    "POST /api/v1/messages/cancel": "11,998 messages canceled",
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
    fields = [field for field in msgspec.structs.fields(type_) if field.default is not msgspec.UNSET]
    return {field.encode_name: _field(owner, field.name, hints[field.name]) for field in fields}


def _field(owner: str, name: str, type_: Any) -> Any:
    if get_origin(type_) is Annotated and type_.__metadata__[0].examples:
        return type_.__metadata__[0].examples[0]
    for place in (f"{owner}.{name}", name):
        if place in VALUES:
            return VALUES[place]
    return sample(type_)
