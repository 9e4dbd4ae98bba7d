"""Every action has a strict schema, and an example that fits it because the code of real events made it."""

from typing import Any

import jsonschema_rs
import msgspec
import pytest

from gatepost.model import event, ids
from gatepost.model.event_schema.examples import AT, CHANNEL, MAKERS, example_of, new_example
from gatepost.model.event_schema.schema import components, schema_of
from gatepost.model.event_schema.shapes import SHAPES
from tests.events import check_event, validator_of
from tests.for_each import for_each

ACTIONS = [(type_, action) for type_, actions in SHAPES.items() for action in actions]


def read(type_: str, action: str) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(example_of(type_, action))
    return found


def test_every_type_and_action_is_there() -> None:
    assert tuple(SHAPES) == event.ALL_TYPES
    assert {type_: set(actions) for type_, actions in MAKERS.items()} == {t: set(a) for t, a in SHAPES.items()}


@for_each("type_", event.ALL_TYPES)
def test_schemas_are_valid_themselves(type_: str) -> None:
    schema = schema_of(type_)
    jsonschema_rs.meta.validate(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert [branch["properties"]["action"]["const"] for branch in schema["oneOf"]] == list(SHAPES[type_])


@for_each(("type_", "action"), ACTIONS)
def test_examples_fit(type_: str, action: str) -> None:
    found = read(type_, action)
    assert (found["type"], found["action"]) == (type_, action)
    check_event(found)
    assert found in schema_of(type_)["examples"]


@for_each(("type_", "action"), ACTIONS)
def test_test_events_fit(type_: str, action: str) -> None:
    made = new_example(type_, action, ids.new_id(AT))
    found = msgspec.json.decode(event.render_test(made, CHANNEL, AT))
    assert (found["test"], found["sequence"]) == (True, 0)
    check_event(found)


@for_each(("type_", "action"), ACTIONS)
def test_a_field_more_or_less_does_not_fit(type_: str, action: str) -> None:
    found, fits = read(type_, action), validator_of(type_).is_valid
    assert not fits(found | {"more": 1})
    assert not fits(found | {"data": found["data"] | {"more": 1}})
    assert not fits(found | {"action": "sung"})
    for name in found:
        assert not fits({field: value for field, value in found.items() if field != name}), name
    required = set(_required(type_, action))
    for name in found["data"]:
        fewer = {field: value for field, value in found["data"].items() if field != name}
        assert fits(found | {"data": fewer}) is (name not in required), name


def _required(type_: str, action: str) -> list[str]:
    branches = {branch["properties"]["action"]["const"]: branch for branch in schema_of(type_)["oneOf"]}
    name = branches[action]["properties"]["data"]["$ref"].rpartition("/")[2]
    required: list[str] = schema_of(type_)["$defs"][name]["required"]
    return required


def test_the_same_schemas_for_a_larger_document() -> None:
    whole, parts = components("#/$defs/{name}")
    fits = jsonschema_rs.validator_for(whole | {"$defs": parts}).is_valid
    for type_, action in ACTIONS:
        assert fits(read(type_, action)), (type_, action)
    assert not fits(read(*ACTIONS[0]) | {"type": ACTIONS[-1][0]})


def test_one_that_failed_is_told_apart_by_its_words() -> None:
    wrong = read(event.ORDER, "created")
    wrong["data"]["items"][0]["price"] = 7.99
    with pytest.raises(AssertionError, match=r"order_notifications, created.*7\.99"):
        check_event(wrong)
