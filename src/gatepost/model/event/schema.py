"""The structs as JSON Schema (2020-12), with an example of each action."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.event.catalog import EVENTS, TYPE_DESCRIPTIONS, AnyEvent
from gatepost.model.event.envelope import ChannelRef, Event, NewEvent, render
from gatepost.model.event.parts import AT, EVENT_ID, EventObject

Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
CHANNEL = ChannelRef(ids.format_id("ch", ids.derived_id(AT, "channel")), "official", "15550001111")


def example_of(type_: str, action: str) -> bytes:
    """Return the example of an action as an endpoint receives it."""
    return render(new_example(type_, action, EVENT_ID), 4711, CHANNEL, AT).encode()


def new_example(type_: str, action: str, id_: UUID) -> NewEvent:
    """Return the example of an action as an event with this id."""
    return NewEvent(id_, EVENTS[type_][action].example())


def schema_of(type_: str, kinds: Iterable[str]) -> Schema:
    """Return the schema of a type with all its actions. `kinds` are the names of the networks."""
    actions = EVENTS[type_].values()
    cases, parts = _describe(actions, kinds, "#/$defs/{name}")
    return {
        "$schema": DIALECT,
        "$id": f"/docs/events/{type_}.json",
        "title": type_,
        "description": TYPE_DESCRIPTIONS[type_],
        "oneOf": cases,
        "examples": [msgspec.json.decode(example_of(type_, event.ACTION)) for event in actions],
        "$defs": parts,
    }


def components(ref_template: str, kinds: Iterable[str]) -> tuple[Schema, dict[str, Schema]]:
    """Return the schema of any event, and the parts that it refers to, for a larger document."""
    events = [event for actions in EVENTS.values() for event in actions.values()]
    cases, parts = _describe(events, kinds, ref_template)
    description = "A change on the channel. Webhooks, the feed and the log contain the same event."
    return {"description": description, "oneOf": cases}, parts


def _describe(
    events: Iterable[type[AnyEvent]], kinds: Iterable[str], ref_template: str
) -> tuple[list[Schema], dict[str, Schema]]:
    """Return the schema of each event, and the parts that they refer to."""
    structs = list(events)
    refs, parts = msgspec.json.schema_components([*structs, Event], ref_template=ref_template)
    envelope = parts.pop(Event.__name__)
    del parts[EventObject.__name__]
    parts[ChannelRef.__name__]["properties"]["kind"]["enum"] = list(kinds)
    return [_case(event, envelope, ref) for event, ref in zip(structs, refs, strict=False)], parts


def _case(event: type[AnyEvent], envelope: Schema, data: Schema) -> Schema:
    known = {"type": {"const": event.TYPE}, "action": {"const": event.ACTION}, "data": data}
    return {
        **envelope,
        "title": f"{event.TYPE}, {event.ACTION}",
        "description": event.__doc__,
        "properties": envelope["properties"] | known,
    }
