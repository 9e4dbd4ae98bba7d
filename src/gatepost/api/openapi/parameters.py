"""The parameters of paths and queries by their names: one name means one thing everywhere."""

from typing import Any

from gatepost.model.event import ALL_TYPES

Schema = dict[str, Any]
_HEX = "0199a1b2c3d47e5f8a9b0c1d2e3f4a5b"
PREFIXES = {  # parameter → how its ids begin
    "conversation_id": "cv",
    "contact_id": "ct",
    "label_id": "lb",
    "order_id": "ord",
    "media_id": "med",
    "template_id": "tpl",
    "endpoint_id": "we",
    "recovery_id": "rec",
    "channel_id": "ch",
}
EXAMPLES = {
    "message_id": _HEX.upper(),
    "phone": "5511999998888",
    "webhook_url": "https://shop.example.com/hooks",
    "later": "2030-01-01T09:00:00Z",
    "$timestamp": "1794736800",
    "other_id": "ct_" + _HEX,
    "label": "lb_" + _HEX,
    "schema_name": f"{ALL_TYPES[0]}.json",
    "delivery_id": f"dl_{_HEX}{_HEX}",
    "template_name": "order_sent",
    **dict.fromkeys(("image_id", "video_id", "audio_id", "document_id", "sticker_id"), "med_" + _HEX),
} | {name: f"{prefix}_{_HEX}" for name, prefix in PREFIXES.items()}


def path_parameter(name: str) -> Schema:
    """A variable part of a path."""
    prefix = PREFIXES.get(name)
    schema: Schema = {"type": "string", "minLength": 1}
    if prefix:
        schema = {"type": "string", "pattern": f"^{prefix}_[0-9a-f]{{32}}$"}
    elif name == "schema_name":
        schema = {"type": "string", "enum": [f"{type_}.json" for type_ in ALL_TYPES]}
    elif name == "delivery_id":
        schema = {"type": "string", "pattern": "^dl_[0-9a-f]{64}$"}
    elif name == "message_id":
        schema = {"type": "string", "pattern": "^[0-9A-F]{32}$"}
    shown: Schema = {"name": name, "in": "path", "required": True, "schema": schema}
    return shown | ({"example": EXAMPLES[name]} if name in EXAMPLES else {})


def _text(description: str, **more: Any) -> Schema:
    return {"description": description, "schema": {"type": "string", **more}}


QUERY: dict[str, Schema] = {
    "limit": {
        "description": "How many at most.",
        "schema": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
    },
    "cursor": _text("`paging.next` of the page before."),
    "after": _text("The id of an event: what follows it is wanted."),
    "types": _text(f"Event types with commas between: {', '.join(ALL_TYPES)}."),
    "wait": {
        "description": "Seconds to wait for an event where there is none yet.",
        "schema": {"type": "integer", "minimum": 0, "maximum": 30, "default": 0},
    },
    "seconds": {
        "description": "Seconds after which the stream ends. Without it: when you leave.",
        "schema": {"type": "integer", "minimum": 1, "maximum": 3600},
    },
    "filename": _text("The name of the file, where the body is its bare bytes."),
    "format": _text("What the answer is written as."),
    "status": _text("Only those with this status."),
    "endpoint": _text("Only those of this webhook endpoint, by its id."),
    "from": _text("From this date or time on."),
    "to": _text("Up to this date or time, and without it."),
    "tz": _text("Where dates begin at midnight: a name such as `America/Sao_Paulo`. Without it: UTC."),
    "phone": _text("Only those of this number."),
    "conversation": _text("Only those of this conversation."),
    "direction": _text("`in` or `out`.", enum=["in", "out"]),
    "type": _text("Only those of this type."),
    "q": _text("Words to search for."),
    "label": _text("Only those with this label, by its id."),
    "opted_out": _text("`true`: only those who want no marketing.", enum=["true", "false"]),
    "archived": _text("`true`: only what is archived; `false`: only what is not.", enum=["true", "false"]),
    "unread": _text("`true`: only what is unread; `false`: only what is read.", enum=["true", "false"]),
    "since": _text("Only those with a message since this date or time."),
    "category": _text("Only those of this category."),
    "language": _text("Only those in this language."),
    "name": _text("Only those with this in their name."),
    "hub.mode": _text("`subscribe`."),
    "hub.challenge": _text("What is given back."),
    "hub.verify_token": _text("The channel's verify token."),
}


def query_parameter(name: str) -> Schema:
    """A parameter of a query."""
    return {"name": name, "in": "query", **QUERY.get(name, {"schema": {"type": "string"}})}


HEADERS: dict[str, Schema] = {
    "Idempotency-Key": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "Makes it safe to repeat the request: for seven days, the same key and body are done once.",
        "schema": {"type": "string", "pattern": "^[!#-~]{1,255}$"},
    },
    "Last-Event-ID": {
        "name": "Last-Event-ID",
        "in": "header",
        "description": "The id of the last event that you have; goes before `after`.",
        "schema": {"type": "string", "pattern": "^evt_[0-9a-f]{32}$"},
    },
}
