"""Every action has a strict schema, and an example that fits it because the code of real events made it."""

import importlib
import pkgutil
from typing import Any, get_args

import jsonschema_rs
import msgspec
import pytest

import gatepost.model.event
from gatepost.model import event, ids
from gatepost.model.event.catalog import EVENTS, AnyEvent
from gatepost.model.event.parts import AT
from gatepost.model.event.schema import CHANNEL, components, example_of, new_example, schema_of
from gatepost.store.channel_head import EventBuffer
from tests.events import check_event, published_schema
from tests.for_each import for_each

ACTIONS = [(type_, action) for type_, actions in EVENTS.items() for action in actions]
KINDS = ("official", "qr")


def read(type_: str, action: str) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(example_of(type_, action))
    return found


def test_every_struct_is_listed_under_its_own_type_and_action() -> None:
    listed = [struct for actions in EVENTS.values() for struct in actions.values()]
    assert tuple(EVENTS) == event.ALL_TYPES
    assert set(listed) == set(get_args(AnyEvent))
    assert len(listed) == len(get_args(AnyEvent))  # no two structs have the same type and action
    assert listed == [EVENTS[struct.TYPE][struct.ACTION] for struct in listed]


def test_every_struct_with_an_action_is_listed() -> None:
    """A struct that is not in the union could not be emitted: `EventBuffer.add` does not accept it."""
    names = [module.name for module in pkgutil.iter_modules(gatepost.model.event.__path__)]
    modules = [importlib.import_module(f"gatepost.model.event.{name}") for name in names]
    declared = {value for module in modules for value in vars(module).values() if hasattr(value, "ACTION")}
    assert declared == set(get_args(AnyEvent))
    buffer: Any = EventBuffer.add
    assert buffer.__annotations__["data"] == AnyEvent


def test_the_actions_are_those_of_the_contract() -> None:
    """What customers subscribe to: an action may be added, never removed or renamed."""
    assert {type_: set(actions) for type_, actions in EVENTS.items()} == {
        "message_notification": {"created", "updated"},
        "ack_notification": {"message", "connection"},
        "chat_notification": {"created", "updated"},
        "label_notifications": {"created", "updated", "deleted", "assigned", "removed"},
        "contact_notifications": {"created", "updated", "deleted"},
        "order_notifications": {"created", "updated"},
        "system_notification": {
            *(f"endpoint_{what}" for what in ("failing", "paused", "resumed", "disabled", "enabled", "exhausted")),
            *(f"template_{what}" for what in ("approved", "rejected", "paused", "disabled")),
            "number_quality_changed",
            "number_tier_changed",
        },
    }


@for_each("type_", event.ALL_TYPES)
def test_a_network_is_in_the_schema_by_its_name(type_: str) -> None:
    schema = schema_of(type_, ["official", "pigeons"])
    assert schema["$defs"]["ChannelRef"]["properties"]["kind"]["enum"] == ["official", "pigeons"]


@for_each("type_", event.ALL_TYPES)
def test_schemas_are_valid_themselves(type_: str) -> None:
    schema = published_schema(type_)
    jsonschema_rs.meta.validate(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert [branch["properties"]["action"]["const"] for branch in schema["oneOf"]] == list(EVENTS[type_])


@for_each(("type_", "action"), ACTIONS)
def test_examples_fit(type_: str, action: str) -> None:
    found = read(type_, action)
    assert (found["type"], found["action"]) == (type_, action)
    check_event(found)
    assert found in published_schema(type_)["examples"]


@for_each(("type_", "action"), ACTIONS)
def test_test_events_fit(type_: str, action: str) -> None:
    made = new_example(type_, action, ids.new_id(AT))
    found = msgspec.json.decode(event.render_test(made, CHANNEL, AT))
    assert (found["test"], found["sequence"]) == (True, 0)
    check_event(found)


@for_each(("type_", "action"), ACTIONS)
def test_a_field_more_or_less_does_not_fit(type_: str, action: str) -> None:
    found, fits = read(type_, action), jsonschema_rs.validator_for(published_schema(type_)).is_valid
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
    branches = {branch["properties"]["action"]["const"]: branch for branch in published_schema(type_)["oneOf"]}
    name = branches[action]["properties"]["data"]["$ref"].rpartition("/")[2]
    required: list[str] = published_schema(type_)["$defs"][name]["required"]
    return required


def test_the_same_schemas_for_a_larger_document() -> None:
    whole, parts = components("#/$defs/{name}", KINDS)
    fits = jsonschema_rs.validator_for(whole | {"$defs": parts}).is_valid
    for type_, action in ACTIONS:
        assert fits(read(type_, action)), (type_, action)
    assert not fits(read(*ACTIONS[0]) | {"type": ACTIONS[-1][0]})


def test_a_failed_one_is_recognised_by_its_fields() -> None:
    wrong = read(event.ORDER, "created")
    wrong["data"]["items"][0]["price"] = 7.99
    with pytest.raises(AssertionError, match=r"order_notifications, created.*7\.99"):
        check_event(wrong)
