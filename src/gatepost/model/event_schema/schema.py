"""The shapes as JSON Schema (2020-12). Strict: a field that nobody described is a mistake of ours, and found."""

from collections.abc import Mapping
from typing import Any

import msgspec

from gatepost.model.event import ALL_TYPES
from gatepost.model.event_schema.examples import example_of
from gatepost.model.event_schema.shapes import SHAPES, Data, EventChannel, EventId, Time

Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
WORDS = {
    "message_notification": "Messages, in and out.",
    "ack_notification": "Statuses of messages, and of the channel's connection.",
    "chat_notification": "Conversations.",
    "label_notifications": "Labels, and whom they are on.",
    "contact_notifications": "Contacts.",
    "order_notifications": "Orders.",
    "endpoint_notification": "How the channel's own webhook endpoints fare.",
}
assert tuple(SHAPES) == tuple(WORDS) == ALL_TYPES


def schema_of(type_: str) -> Schema:
    """The schema of one type with all its actions, complete in itself."""
    kinds: list[type[Data]] = [EventChannel, *SHAPES[type_].values()]
    shapes, parts = _described(kinds, "#/$defs/{name}")
    refs = dict(zip(SHAPES[type_], shapes[1:], strict=True))
    return {
        "$schema": DIALECT,
        "$id": f"/docs/events/{type_}.json",
        "title": type_,
        "description": WORDS[type_],
        "oneOf": [envelope(type_, action, shapes[0], refs[action]) for action in refs],
        "examples": [msgspec.json.decode(example_of(type_, action)) for action in refs],
        "$defs": parts,
    }


def envelope(type_: str, action: str, channel: Schema, data: Schema) -> Schema:
    """What all events share, around the data of one action."""
    properties = {
        "id": _plain(EventId),
        "type": {"const": type_},
        "action": {"const": action},
        "timestamp": _plain(Time),
        "sequence": {
            "type": "integer",
            "minimum": 0,
            "description": "Counts the channel's events without a gap; 0 in a test event.",
        },
        "channel": channel,
        "data": data,
        "test": {"const": True, "description": "Only in an event that was made to try an endpoint."},
    }
    required = [name for name in properties if name != "test"]
    return {
        "title": f"{type_}, {action}",
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def components(ref_template: str) -> tuple[Schema, dict[str, Schema]]:
    """The schema of any event whatever, and the parts that it names, for a larger document."""
    used: dict[type[Data], None] = {EventChannel: None}
    used |= {kind: None for actions in SHAPES.values() for kind in actions.values()}
    kinds = list(used)
    shapes, parts = _described(kinds, ref_template)
    refs = dict(zip(kinds, shapes, strict=True))
    whole = [
        envelope(type_, action, refs[EventChannel], refs[kind])
        for type_, actions in SHAPES.items()
        for action, kind in actions.items()
    ]
    return {
        "description": "A change on the channel. Webhooks, the feed and the log contain the same event.",
        "oneOf": whole,
    }, parts


def _described(kinds: list[type[Data]], ref_template: str) -> tuple[list[Schema], dict[str, Schema]]:
    shapes, parts = msgspec.json.schema_components(kinds, ref_template=ref_template)
    return list(shapes), dict(parts)


def _plain(kind: Any) -> Mapping[str, Any]:
    """A plain type has no parts."""
    schema: Schema = msgspec.json.schema(kind)
    return schema
