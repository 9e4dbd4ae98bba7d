"""Checks events against their schemas. Every `Gateway` checks all events that it wrote when it ends."""

from functools import cache
from typing import Any

import jsonschema_rs
import msgspec

from gatepost.model.event.catalog import EVENTS
from gatepost.model.event.schema import schema_of
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.store.pool import Database


def published_schema(type_: str) -> dict[str, Any]:
    """Return the schema of an event type with the networks that are registered now."""
    return schema_of(type_, NETWORK_KINDS)


@cache
def _validator_of_action(type_: str, action: str, kinds: tuple[str, ...]) -> Any:
    """Return the validator of one action, whose errors name the exact field."""
    schema = schema_of(type_, kinds)
    places = {branch["properties"]["action"]["const"]: branch for branch in schema["oneOf"]}
    return jsonschema_rs.validator_for(places[action] | {"$defs": schema["$defs"]})


def check_event(event: Any) -> None:
    """Fail if an event does not match its schema, with all problems."""
    type_, action = event["type"], event["action"]
    assert action in EVENTS.get(type_, {}), f"there is no schema for {type_}, {action}"
    problems = [
        f"{'.'.join(map(str, error.instance_path))}: {error.message}"
        for error in _validator_of_action(type_, action, tuple(NETWORK_KINDS)).iter_errors(event)
    ]
    assert not problems, f"{type_}, {action}: {'; '.join(problems)} in {msgspec.json.encode(event).decode()}"


async def check_all_events(db: Database) -> int:
    """Check every event in a database, of all channels; return their number."""
    async with db.connection() as conn:
        rows = await conn.fetch("SELECT body FROM events")
    for row in rows:
        check_event(msgspec.json.decode(row["body"]))
    return len(rows)
