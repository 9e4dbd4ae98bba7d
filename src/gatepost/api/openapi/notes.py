"""One line for each route. A test fails where a line is missing or too many. What the words mean is in `note.py`."""

from typing import Any

from gatepost.api.contract import messages
from gatepost.api.openapi import shapes
from gatepost.api.openapi.error_codes import IDEMPOTENT, NETWORK
from gatepost.api.openapi.old_note import Note
from gatepost.api.openapi.route_docs import RouteDocs, Sample, Wait
from gatepost.api.openapi.send_examples import FILES, SENDS, TITLES
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.store.templates import Synced

_PAGE = ("limit", "cursor")
_SEND = (
    *IDEMPOTENT,
    "invalid_phone",
    "unsupported_on_channel",
    "window_closed",
    "opted_out",
    "template_not_approved",
    "template_variables_mismatch",
    "forbidden_url",
    "plan_quota_exceeded",
)
_TEXT = SENDS["text"]
_HOOK = {"url": "{{webhook_url}}", "events": {"order_notifications": False}, "headers": {"X-Shop": "7"}}
_DELIVERY = {
    "headers": {
        "webhook-id": "evt_01a1dd112a6b7f2e8d1c5e0c7a3b9f10",
        "webhook-timestamp": "1794736800",
        "webhook-signature": "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
    },
    "body": '{"id": "evt_01a1dd112a6b7f2e8d1c5e0c7a3b9f10"}',
}
_BODY = {
    "type": "BODY",
    "text": "Hello {{1}}, your order {{2}} has left our house today.",
    "example": {"body_text": [["Ana", "4711"]]},
}
_READY = _BODY | {"text": "Hello {{1}}, your order {{2}} of list {{$timestamp}} is ready to be fetched."}
_TEMPLATE = {"name": "order_sent_{{$timestamp}}", "language": "en_US", "category": "UTILITY", "components": [_BODY]}
_EDITED = {"components": [_BODY, {"type": "FOOTER", "text": "Thank you for your trust"}]}
_REVIEWED = Wait("/api/v1/templates/{{template_id}}", 'data.status !== "PENDING"')
_APPROVED = Wait("/api/v1/templates/{{sent_template_id}}", 'data.status === "APPROVED"')


def _only(type_: str) -> str | None:
    """The one kind of channel that carries a type; None where both do."""
    can = {name: kind.capabilities for name, kind in NETWORK_KINDS.items()}
    kinds = [name for name in can if type_ in can[name].types | can[name].as_text]
    return kinds[0] if len(kinds) == 1 else None


_EVERY_TYPE = tuple(
    Sample(
        TITLES[type_],
        body,
        folder="message types",
        only=_only(type_),
        after=_APPROVED if type_ == "template" else None,
    )
    for type_, body in SENDS.items()
)
_OFFICIAL: dict[str, Any] = {"only": "official"}
_V1 = "/api/v1"
_HOOKS, _FILES, _TEMPLATES = _V1 + "/webhooks", _V1 + "/media", _V1 + "/templates"

NOTES: dict[str, RouteDocs] = {
    "GET /healthz": Note(dict[str, bool]),
    "GET /readyz": Note(dict[str, bool], extra={503: dict[str, bool]}),
    "GET /openapi.json": Note(binary=("application/json",)),
    "GET /docs": Note(binary=("text/html; charset=utf-8",)),
    "GET /docs/page.css": Note(binary=("text/css; charset=utf-8",)),
    "GET /docs/page.js": Note(binary=("text/javascript; charset=utf-8",)),
    "GET /docs/events": Note(binary=("text/html; charset=utf-8",)),
    "GET /docs/events/{schema_name}": Note(binary=("application/schema+json",)),
    f"GET {_V1}/collection": Note(binary=("application/json",)),
    f"POST {_V1}/message/send": Note(
        messages.Accepted,
        errors=_SEND,
        example=SENDS["text"],
        examples=SENDS,
        keeps={"message_id": "data.key.id"},
        headers=("Idempotency-Key",),
        more=(
            Sample("Send a message later", _TEXT | {"send_at": "{{later}}"}, {"scheduled_id": "data.key.id"}),
            *_EVERY_TYPE,
        ),
    ),
    f"POST {_V1}/messages/batch": Note(
        messages.BatchResult,
        errors=(*IDEMPOTENT, "plan_quota_exceeded"),
        example={"messages": [_TEXT, _TEXT | {"body": "And another"}]},
        headers=("Idempotency-Key",),
        keeps={"batch_id": "data.batch_id"},
    ),
    f"POST {_V1}/messages/cancel": Note(
        messages.CanceledMessages,
        errors=("not_found", "invalid_cursor", "overloaded"),
        example={"client_ref_prefix": "spring-sale-", "send_from": "2026-11-15"},
        more=(Sample("Cancel a batch", {"batch_id": "{{batch_id}}"}),),
    ),
    f"POST {_HOOKS}": Note(
        shapes.NewWebhook,
        errors=(*IDEMPOTENT, "forbidden_url", "wrong_state"),
        example=_HOOK,
        keeps={"endpoint_id": "data.id"},
        headers=("Idempotency-Key",),
    ),
    f"GET {_HOOKS}": Note(list[shapes.Webhook]),
    f"GET {_HOOKS}/{{endpoint_id}}": Note(shapes.Webhook),
    f"PATCH {_HOOKS}/{{endpoint_id}}": Note(shapes.Webhook, errors=("forbidden_url",), example={"active": False}),
    f"DELETE {_HOOKS}/{{endpoint_id}}": Note(),
    f"GET {_HOOKS}/{{endpoint_id}}/attempts": Note(list[shapes.Attempt], query=_PAGE),
    f"POST {_HOOKS}/{{endpoint_id}}/rotate-secret": Note(
        shapes.NewWebhook, errors=("wrong_state",), example={"overlap": 3600}
    ),
    f"POST {_HOOKS}/{{endpoint_id}}/verify": Note(shapes.Verdict, example=_DELIVERY),
    f"POST {_HOOKS}/{{endpoint_id}}/test": Note(shapes.Trial, example={"type": "message_notification"}),
    f"POST {_FILES}": Note(
        shapes.Media,
        query=("filename",),
        errors=(
            *IDEMPOTENT,
            "malformed_upload",
            "media_too_large",
            "storage_full",
            "unsupported_media_type",
            "storage_unavailable",
            "overloaded",
        ),
        upload="Hello from Gatepost",
        keeps={"media_id": "data.id"},
        more=tuple(
            Sample(f"Upload a file: {type_}", keeps={f"{type_}_id": "data.id"}, upload=text, upload_type=kind)
            for type_, (kind, text) in FILES.items()
        ),
        headers=("Idempotency-Key",),
    ),
    f"GET {_FILES}/{{media_id}}": Note(shapes.Media),
    f"GET {_FILES}/{{media_id}}/content": Note(
        binary=("*/*",),
        errors=("wrong_state", "range_not_satisfiable", "storage_unavailable"),
        extra={206: None, 304: None},
    ),
    f"DELETE {_FILES}/{{media_id}}": Note(errors=("storage_unavailable",)),
    f"GET {_V1}/events": Note(list[shapes.Event], query=("after", "types", "limit", "wait"), errors=("overloaded",)),
    f"GET {_V1}/events/stream": Note(
        query=("after", "types", "seconds"),
        asks={"seconds": "1"},
        headers=("Last-Event-ID",),
        errors=("overloaded",),
        binary=("text/event-stream",),
    ),
    f"GET {_TEMPLATES}": Note(
        list[shapes.TemplateShown],
        query=("status", "category", "language", "name", *_PAGE),
        errors=("unsupported_on_channel",),
        **_OFFICIAL,
    ),
    f"POST {_TEMPLATES}": Note(
        shapes.TemplateShown,
        errors=(*IDEMPOTENT, *NETWORK),
        example=_TEMPLATE,
        keeps={"template_id": "data.id"},
        more=(
            Sample(
                "Create a template to send",
                # the network refuses the text of another template
                _TEMPLATE | {"name": "order_ready_{{$timestamp}}", "components": [_READY]},
                {"sent_template_id": "data.id", "template_name": "data.name"},
            ),
        ),
        headers=("Idempotency-Key",),
        **_OFFICIAL,
    ),
    f"GET {_TEMPLATES}/{{template_id}}": Note(shapes.TemplateShown, **_OFFICIAL),
    f"PATCH {_TEMPLATES}/{{template_id}}": Note(
        shapes.TemplateShown, errors=NETWORK, example=_EDITED, after=_REVIEWED, **_OFFICIAL
    ),
    f"DELETE {_TEMPLATES}/{{template_id}}": Note(errors=NETWORK, **_OFFICIAL),
    f"POST {_TEMPLATES}/sync": Note(Synced, errors=NETWORK, **_OFFICIAL),
    f"POST {_TEMPLATES}/{{template_id}}/preview": Note(
        shapes.Preview,
        errors=("template_variables_mismatch",),
        example={"variables": ["Ana", "4711"]},
        **_OFFICIAL,
    ),
    "GET /callbacks/cloud/{channel_id}": Note(
        query=("hub.mode", "hub.challenge", "hub.verify_token"), errors=("invalid_signature",), binary=("text/plain",)
    ),
    "POST /callbacks/cloud/{channel_id}": Note(
        errors=("invalid_signature", "malformed_json", "body_too_large", "overloaded"), binary=("text/plain",)
    ),
}
