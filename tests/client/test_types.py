"""The client's types are those of the OpenAPI document."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from gatepost_client import types
from gatepost_client.events import Event
from scripts.client_types import NAMES, TARGET, current_document, generate, place_of

DOCUMENT: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(current_document()))


def test_types_are_up_to_date() -> None:
    assert TARGET.read_text() == generate(DOCUMENT), "run `make client`"


def examples() -> list[tuple[str, Any]]:
    """Return the name of a type with each example of an answer that has it."""
    return [
        (NAMES[place_of(method, path)], content["example"]["data"])
        for path, operations in DOCUMENT["paths"].items()
        for method, operation in operations.items()
        if place_of(method, path) in NAMES
        for status, response in operation["responses"].items()
        if status.startswith("2")
        for kind, content in response["content"].items()
        if kind == "application/json"
    ]


def test_every_example_of_the_document_can_be_read() -> None:
    found = examples()
    assert {name for name, _ in found} == set(NAMES.values())
    for name, data in found:
        for item in data if isinstance(data, list) else [data]:
            assert msgspec.convert(item, getattr(types, name))


def test_a_newer_gateway_may_add_fields_and_values() -> None:
    label = {"id": "lb_1", "name": "New", "color": "#aabbcc", "created_at": "2026-11-15T10:00:00Z"}
    read = msgspec.convert(label | {"updated_at": "2026-11-15T10:00:00Z", "icon": "star"}, types.Label)
    assert read.name == "New"
    sent = {"key": {"id": "1", "remoteJid": "1@s", "fromMe": True}, "status": "SOMETHING_NEW"}
    assert msgspec.convert(sent, types.Sent).status == "SOMETHING_NEW"


@pytest.mark.parametrize(("type_", "action"), [("weather_notification", "created"), ("chat_notification", "sung")])
def test_an_unknown_event_keeps_its_data(type_: str, action: str) -> None:
    channel = types.EventChannel(id="ch_1", kind="qr", phone="1")
    event = Event(
        id="evt_1", type=type_, action=action, timestamp=datetime.now(UTC), sequence=1, channel=channel, data={"a": 1}
    )
    assert (event.details, event.message, event.status, event.connection) == (None, None, None, None)
    assert event.data == {"a": 1}


def test_a_field_that_changes_makes_the_types_stale() -> None:
    changed: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(DOCUMENT))
    label = changed["paths"]["/api/v1/labels"]["post"]["responses"]["201"]["content"]["application/json"]
    component = label["schema"]["properties"]["data"]["$ref"].rpartition("/")[2]
    changed["components"]["schemas"][component]["properties"]["icon"] = {"type": "string"}
    assert "    icon: str | None = None\n" in generate(changed)


def test_an_answer_that_is_gone_is_found() -> None:
    changed: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(DOCUMENT))
    del changed["paths"]["/api/v1/usage"]
    with pytest.raises(ValueError, match="no answer for: Usage"):
        generate(changed)
