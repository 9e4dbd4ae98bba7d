"""Whether events are what their schemas promise. Every house checks all that it wrote, at its end."""

from functools import cache
from typing import Any

import jsonschema_rs
import msgspec

from gatepost.model.event_schema.schema import schema_of
from gatepost.model.event_schema.shapes import SHAPES
from gatepost.store.pool import Database


@cache
def validator_of(type_: str) -> Any:
    """The schema of a type, ready to be asked."""
    return jsonschema_rs.validator_for(schema_of(type_))


@cache
def _validator_of_action(type_: str, action: str) -> Any:
    """That of one action: its complaints name the very field."""
    schema = schema_of(type_)
    places = {branch["properties"]["action"]["const"]: branch for branch in schema["oneOf"]}
    return jsonschema_rs.validator_for(places[action] | {"$defs": schema["$defs"]})


def check_event(event: Any) -> None:
    """Fails with what is wrong with an event."""
    type_, action = event["type"], event["action"]
    assert action in SHAPES.get(type_, {}), f"there is no schema for {type_}, {action}"
    problems = [
        f"{'.'.join(map(str, error.instance_path))}: {error.message}"
        for error in _validator_of_action(type_, action).iter_errors(event)
    ]
    assert not problems, f"{type_}, {action}: {'; '.join(problems)} in {msgspec.json.encode(event).decode()}"


async def check_all_events(db: Database) -> int:
    """Checks every event that a database holds, of all channels; returns how many there are."""
    async with db.connection() as conn:
        rows = await conn.fetch("SELECT body FROM events")
    for row in rows:
        check_event(msgspec.json.decode(row["body"]))
    return len(rows)
