"""One person is one conversation, whatever they are called today."""

from typing import Any

import pytest

from tests.conformance.conftest import over
from tests.conformance.line import Line, new_person, until

pytestmark = pytest.mark.asyncio(loop_scope="package")


async def until_contact(line: Line, person: str, field: str) -> Any:
    """The news that something of a contact changed."""

    async def look() -> Any:
        seen = [event for event in await line.events(person) if event["type"] == "contact_notifications"]
        return [event["data"] for event in seen if field in event["data"].get("changed", ())]

    return (await until(look))[-1]


async def test_a_new_name(line: Line) -> None:
    person = new_person()
    for number, name in enumerate(("Ana", "Ana Maria"), 1):
        await line.say(person, "text", {"body": "Hello"}, name=name)
        first, *rest = await line.received(person, number)
    (second,) = rest
    assert [event["data"]["contact"]["name"] for event in (first, second)] == ["Ana", "Ana Maria"]
    assert first["data"]["contact"]["id"] == second["data"]["contact"]["id"]
    seen = await until_contact(line, person, "name")
    assert (seen["id"], seen["name"]) == (first["data"]["contact"]["id"], "Ana Maria")


@over("cloud", "qr")  # the library says nothing of it
async def test_a_new_number(line: Line) -> None:
    old, new = new_person(), new_person()
    await line.say(old, "text", {"body": "I am moving"}, name="Ana")
    (event,) = await line.received(old, 1)
    await line.change_number(old, new)
    seen = await until_contact(line, new, "phone")
    assert (seen["id"], seen["phone"]) == (event["data"]["contact"]["id"], new)
    await line.say(new, "text", {"body": "Here I am"})
    (moved,) = [e for e in await line.received(new, 1) if e["data"]["content"] == {"body": "Here I am"}]
    assert moved["data"]["contact"]["id"] == event["data"]["contact"]["id"]
    assert moved["data"]["conversation"] == event["data"]["conversation"]
    sent = await line.send(new, body="Welcome")
    message = await line.until_status(sent, "READ")
    assert message["conversation"] == event["data"]["conversation"]
    assert (await line.taken_once(sent)).to == new


async def test_a_new_number_that_wrote_before_is_joined(line: Line) -> None:
    old, new = new_person(), new_person()
    ours = await line.send(new, body="Who are you?")
    await line.until_status(ours, "READ")
    await line.say(old, "text", {"body": "It is me"})
    (event,) = await line.received(old, 1)
    await line.change_number(old, new)
    seen = await until_contact(line, new, "history")
    assert seen["joined"] == [event["data"]["contact"]["id"]]
    assert (await line.message(ours))["conversation"] == seen["conversation"]
    assert (await line.message(event["data"]["key"]["id"]))["conversation"] == seen["conversation"]
