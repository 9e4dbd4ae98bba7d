"""The schema of the body of a send, with the details that its type does not have."""

from typing import Any

from gatepost.model.limits import limit

Schema = dict[str, Any]


def text(name: str, description: str = "") -> Schema:
    """Return the schema of a text with the limit of this name."""
    row = limit(name)
    shown: Schema = {"type": "string", "description": description or row.note}
    bounds = {"minLength": row.min, "maxLength": row.max}
    return shown | {word: figure for word, figure in bounds.items() if figure is not None}


def object_of(required: str, description: str, /, **fields: Schema) -> Schema:
    """Return the schema of an object with exactly these fields."""
    shown: Schema = {"type": "object", "description": description, "additionalProperties": False, "properties": fields}
    return shown | ({"required": required.split()} if required else {})


def list_of(name: str, items: Schema, description: str = "") -> Schema:
    """Return the schema of a list with the limit of this name."""
    row = limit(name)
    bounds = {"minItems": row.min, "maxItems": row.max}
    shown: Schema = {"type": "array", "items": items, "description": description or row.note}
    return shown | {word: figure for word, figure in bounds.items() if figure is not None}


def or_null(schema: Schema) -> Schema:
    """Return the schema with null allowed, which counts as not given."""
    return {"anyOf": [schema, {"type": "null"}]}


_ID: Schema = {"type": "string", "pattern": "^[0-9A-Fa-f]{32}$"}
_ANY: Schema = {"type": "object"}
_MEDIA: Schema = {
    "type": "object",
    "description": "A file: the `id` of an upload, or the `link` of a public address.",
    "properties": {"id": {"type": "string"}, "link": text("media.link")},
    "additionalProperties": False,
    "minProperties": 1,
    "maxProperties": 1,
}
_ROW = object_of(
    "id title",
    "A row of a list.",
    id=text("list.row_id"),
    title=text("list.row_title"),
    description=text("list.row_description"),
)
_CARD: Schema = {
    "type": "object",
    "required": ["name", "phones"],
    "properties": {"name": _ANY, "phones": list_of("contacts.entries", _ANY)},
}
_FIELDS: dict[str, Schema] = {
    "body": {"type": "string", "maxLength": limit("text.body").max, "description": "The text."},
    "preview_url": {"type": "boolean", "description": "Lets the network show a preview of the first link."},
    "reply_to": _ID | {"description": "The message of this channel that this one answers."},
    "client_ref": text("send.client_ref"),
    "send_at": {"type": "string", "format": "date-time", "description": "When to send, at most 30 days ahead."},
    "media": _MEDIA,
    "caption": text("media.caption"),
    "filename": text("media.filename"),
    "voice": {"type": "boolean", "description": "Shows an audio file as a voice message."},
    "location": object_of(
        "latitude longitude",
        "A place on the map.",
        latitude={"type": "number", "minimum": -90, "maximum": 90},
        longitude={"type": "number", "minimum": -180, "maximum": 180},
        name=text("location.name"),
        address=text("location.address"),
    ),
    "contacts": list_of("contacts.count", _CARD),
    "buttons": list_of(
        "buttons.count",
        object_of("id title", "A button.", id=text("buttons.id"), title=text("buttons.title")),
    ),
    "header": _ANY | {"description": "Shown above the text: `type`, and `text` or `media`."},
    "footer": text("interactive.footer"),
    "button": text("list.button"),
    "sections": {
        "type": "array",
        "description": "Of a list: `title` and `rows`. Of a product list: `title` and `products`.",
        "items": {
            "type": "object",
            "properties": {
                "title": text("list.section_title"),
                "rows": list_of("list.rows", _ROW),
                "products": {"type": "array", "items": {"type": "string"}},
            },
        },
    },
    "cta": object_of("text url", "A button that opens a page.", text=text("cta_url.text"), url=text("cta_url.url")),
    "product": object_of(
        "catalog_id retailer_id",
        "A product of a catalogue.",
        catalog_id=text("product.catalog_id"),
        retailer_id=text("product.retailer_id"),
    ),
    "catalog_id": text("product.catalog_id"),
    "thumbnail": text("product.retailer_id"),
    "template": {
        "type": "object",
        "description": "A template by `name` and `language`, and what is to be filled in.",
        "required": ["name", "language"],
        "properties": {"name": {"type": "string"}, "language": {"type": "string"}},
    },
    "reaction": object_of(
        "message_id emoji",
        "An emoji on a message; the empty text takes it back.",
        message_id=_ID,
        emoji={"type": "string"},
    ),
    "poll": object_of(
        "question options",
        "A question with answers to choose from.",
        question=text("poll.question"),
        options=list_of("poll.options", text("poll.option")),
        multiple={"type": "boolean"},
    ),
    "fallback": {"const": "text", "description": "Sends choices as numbered text where the channel has no buttons."},
}
_PLAIN: dict[str, Schema] = {
    "phone": {
        "type": "string",
        "pattern": "^[1-9][0-9]{6,14}$",
        "description": "The recipient: digits with the country code.",
    },
    "ttl": {"type": "integer", "minimum": 1, "maximum": limit("send.ttl").max, "default": 86_400},
}


def describe_batch(schema: Schema) -> Schema:
    """Return the schema of a batch of sends, whose items its type does not describe."""
    sends = {"type": "array", "items": {"$ref": "#/components/schemas/SendRequest"}, "minItems": 1, "maxItems": 1000}
    return schema | {"properties": {"messages": sends}}


def describe_send(schema: Schema) -> Schema:
    """Return the schema of a send, with limits and descriptions of each field."""
    fields = {name: or_null(field) for name, field in _FIELDS.items()} | _PLAIN
    return schema | {"properties": {name: fields.get(name, its) for name, its in schema["properties"].items()}}
