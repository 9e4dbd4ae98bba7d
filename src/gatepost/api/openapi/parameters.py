"""The parameters of paths and queries, by name. A name has the same meaning everywhere."""

from typing import Any

from gatepost.model.event import ALL_TYPES

Schema = dict[str, Any]
_HEX = "0199a1b2c3d47e5f8a9b0c1d2e3f4a5b"
PREFIXES = {  # parameter → prefix of its ids
    "conversation_id": "cv",
    "contact_id": "ct",
    "label_id": "lb",
    "note_id": "nt",
    "draft_id": "drf",
    "order_id": "ord",
    "media_id": "med",
    "template_id": "tpl",
    "endpoint_id": "we",
    "recovery_id": "rec",
    "channel_id": "ch",
    "user_id": "usr",
    "key_id": "key",
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
    "token": "Q0n2m2sQxgR5bXmE4n1oY0o3u6YkzPpF8x7Q2b1w9dA",
    **dict.fromkeys(("image_id", "video_id", "audio_id", "document_id", "sticker_id"), "med_" + _HEX),
} | {name: f"{prefix}_{_HEX}" for name, prefix in PREFIXES.items()}


def path_parameter(name: str) -> Schema:
    """Return the OpenAPI description of a path parameter."""
    prefix = PREFIXES.get(name)
    schema: Schema = {"type": "string", "minLength": 1}
    if prefix:
        schema = {"type": "string", "pattern": f"^{prefix}_[0-9a-f]{{32}}$"}
    elif name == "schema_name":
        schema = {"type": "string", "enum": [f"{type_}.json" for type_ in ALL_TYPES]}
    elif name == "delivery_id":
        schema = {"type": "string", "pattern": "^dl_[0-9a-f]{64}$"}
    elif name == "token":
        schema = {"type": "string", "pattern": "^[0-9A-Za-z_-]{43}$"}
    elif name == "message_id":
        schema = {"type": "string", "pattern": "^[0-9A-F]{32}$"}
    shown: Schema = {"name": name, "in": "path", "required": True, "schema": schema}
    return shown | ({"example": EXAMPLES[name]} if name in EXAMPLES else {})


CHANNEL: Schema = {
    "name": "channel",
    "in": "query",
    "description": "With a session: the channel, where the header `Gatepost-Channel` cannot be sent.",
    "schema": {"type": "string", "pattern": "^ch_[0-9a-f]{32}$"},
}
HEADERS: dict[str, Schema] = {
    "Gatepost-Channel": {
        "name": "Gatepost-Channel",
        "in": "header",
        "description": "With a session: the channel to act on. A key belongs to one channel.",
        "schema": {"type": "string", "pattern": "^ch_[0-9a-f]{32}$"},
    },
    "Gatepost-CSRF": {
        "name": "Gatepost-CSRF",
        "in": "header",
        "description": "With a session: the `csrf_token` of `GET /api/v1/session`.",
        "schema": {"type": "string", "pattern": "^[0-9A-Za-z_-]{43}$"},
    },
    "Idempotency-Key": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "Makes it safe to repeat a request: for seven days, the same key and body are executed once.",
        "schema": {"type": "string", "pattern": "^[!#-~]{1,255}$"},
    },
    "Last-Event-ID": {
        "name": "Last-Event-ID",
        "in": "header",
        "description": "The id of the last event that you received. It takes precedence over `after`.",
        "schema": {"type": "string", "pattern": "^evt_[0-9a-f]{32}$"},
    },
}
