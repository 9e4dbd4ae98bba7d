"""The lines for history, conversations, contacts, labels, orders, usage, and the log of deliveries."""

from gatepost.api.openapi import delivery_shapes, desk_shapes, shapes
from gatepost.api.openapi.error_codes import IDEMPOTENT, NETWORK
from gatepost.api.openapi.old_note import Note
from gatepost.api.openapi.route_docs import RouteDocs, Sample, Wait

_V1 = "/api/v1"
_PAGE = ("limit", "cursor")
_HISTORY = ("from", "to", "tz", "phone", "conversation", "direction", "status", "type", "q")
_TALK, _PERSON = _V1 + "/conversations/{conversation_id}", _V1 + "/contacts/{contact_id}"
_HOOK = _V1 + "/webhooks/{endpoint_id}"
_ORDER = _V1 + "/orders/{order_id}"
_CONNECTED = Wait("/api/v1/channel", '["connected", "limited"].includes(data.connection.state)', tries=0)
_SETTLED = Wait("/api/v1/deliveries/{{delivery_id}}", 'data.status !== "pending"')
_NDJSON, _CSV = "application/x-ndjson", "text/csv; charset=utf-8"

NOTES: dict[str, RouteDocs] = {
    f"GET {_V1}/messages": Note(
        list[shapes.Message],
        query=(*_HISTORY, *_PAGE),
        errors=("invalid_phone",),
        asks={"direction": "in", "limit": "1"},
        keeps={"incoming_id": "data[0].key.id", "phone": "data[0].contact.phone"},
        turn=-1,
    ),
    f"GET {_V1}/messages/export": Note(
        query=(*_HISTORY, "format"),
        errors=("invalid_phone",),
        asks={"format": "csv"},
        binary=(_NDJSON + "; charset=utf-8", _CSV),
    ),
    f"GET {_V1}/conversations": Note(
        list[desk_shapes.Conversation],
        query=("status", "archived", "unread", "label", "phone", "since", "tz", *_PAGE),
        errors=("invalid_phone",),
        keeps={"conversation_id": "data[0].id"},
    ),
    f"GET {_TALK}": Note(desk_shapes.Conversation),
    f"PATCH {_TALK}": Note(
        desk_shapes.Conversation, example={"status": "closed", "assignee": "Anna", "note": "Wants it on Friday"}
    ),
    f"GET {_TALK}/messages": Note(list[shapes.Message], query=_PAGE),
    f"POST {_TALK}/read": Note(desk_shapes.ReadConversation),
    f"POST {_TALK}/typing": Note(errors=NETWORK, needs=("incoming_id",), after=_CONNECTED),
    f"GET {_V1}/contacts": Note(
        list[desk_shapes.Contact],
        query=("q", "phone", "label", "opted_out", *_PAGE),
        errors=("invalid_phone",),
        asks={"phone": "{{phone}}"},
        keeps={"contact_id": "data[0].id"},
    ),
    f"POST {_V1}/contacts": Note(
        desk_shapes.Contact,
        errors=(*IDEMPOTENT, "invalid_phone", "contact_exists"),
        example={"phone": "1555{{$timestamp}}", "name": "Anna Lee", "custom": {"city": "Lisbon"}},
        keeps={"other_id": "data.id"},
        more=(Sample("Create another contact", {"phone": "1666{{$timestamp}}"}, {"spare_id": "data.id"}),),
        headers=("Idempotency-Key",),
    ),
    f"POST {_V1}/contacts/check": Note(
        list[desk_shapes.Checked],
        errors=("invalid_phone", *NETWORK),
        example={"phones": ["{{phone}}"]},
        after=_CONNECTED,
        only="qr",
    ),
    f"POST {_V1}/contacts/import": Note(
        errors=(
            *IDEMPOTENT,
            "malformed_upload",
            "invalid_field",
            "body_too_large",
            "unsupported_media_type",
            "overloaded",
        ),
        headers=("Idempotency-Key",),
        upload="phone,name,city\n1777{{$timestamp}},Ben Cole,Porto\n",
        upload_type="text/csv",
        binary=(_NDJSON,),
    ),
    f"GET {_V1}/contacts/export": Note(query=("format", "label", "opted_out"), binary=(_NDJSON, _CSV)),
    f"GET {_PERSON}": Note(desk_shapes.Contact),
    f"PATCH {_PERSON}": Note(
        desk_shapes.Contact, errors=("wrong_state",), example={"name": "Anna B. Lee", "custom": {"city": "Porto"}}
    ),
    f"DELETE {_PERSON}": Note(errors=("wrong_state",), uses={"contact_id": "spare_id"}),
    f"POST {_PERSON}/merge": Note(desk_shapes.Contact, errors=("wrong_state",), example={"with": "{{other_id}}"}),
    f"GET {_V1}/orders": Note(
        list[desk_shapes.Order],
        query=("from", "to", "tz", "status", "phone", *_PAGE),
        errors=("invalid_phone",),
        keeps={"order_id": "data[0].id"},
    ),
    f"GET {_ORDER}": Note(desk_shapes.Order),
    f"PATCH {_ORDER}": Note(desk_shapes.Order, errors=("wrong_state",), example={"status": "confirmed"}),
    f"GET {_V1}/usage": Note(desk_shapes.Usage),
    f"POST {_HOOK}/recover": Note(
        delivery_shapes.Recovery,
        errors=(*IDEMPOTENT, "wrong_state"),
        example={"since": "2026-01-01"},
        keeps={"recovery_id": "data.id"},
        headers=("Idempotency-Key",),
    ),
    f"GET {_HOOK}/recoveries": Note(list[delivery_shapes.Recovery], query=_PAGE),
    f"GET {_HOOK}/recoveries/{{recovery_id}}": Note(delivery_shapes.Recovery),
    f"GET {_V1}/deliveries": Note(
        list[delivery_shapes.Delivery],
        query=("endpoint", "status", "type", "from", "to", "tz", *_PAGE),
        keeps={"delivery_id": "data[0].id"},
        asks={"endpoint": "{{endpoint_id}}"},
        after=Wait("/api/v1/deliveries?endpoint={{endpoint_id}}", "data.length > 0"),
        folder="webhooks",
    ),
    f"GET {_V1}/deliveries/{{delivery_id}}": Note(delivery_shapes.WholeDelivery, folder="webhooks"),
    f"POST {_V1}/deliveries/{{delivery_id}}/retry": Note(
        delivery_shapes.Delivery, errors=("wrong_state",), after=_SETTLED, folder="webhooks"
    ),
    f"POST {_V1}/deliveries/retry": Note(
        delivery_shapes.Retried, example={"ids": ["{{delivery_id}}"]}, folder="webhooks"
    ),
}
