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


async def write_hidden(line: Line, person: str, body: str) -> Any:
    """Let a person with a hidden number write; return the event's data."""
    await line.say_hidden(person, body, "Eva")

    async def look() -> Any:
        events = [event["data"] for event in await line.events() if event["type"] == "message_notification"]
        return [data for data in events if data["content"] == {"body": body}]

    (data,) = await until(look)
    return data


async def test_a_person_whose_number_is_hidden_gets_messages(line: Line) -> None:
    person = new_person()
    written = await write_hidden(line, person, f"Where is my order {person}?")
    contact = written["contact"]["id"]
    assert written["contact"]["phone"] is None
    first = await line.send(contact=contact, body="On its way", reply_to=written["key"]["id"])
    second = await line.send(contact=contact, type="location", location={"latitude": 1.5, "longitude": 2.5})
    reaction = {"message_id": written["key"]["id"], "emoji": "👍"}
    third = await line.send(contact=contact, type="reaction", reaction=reaction)
    for message_id in (first, second):
        message = await line.until_status(message_id, "READ")
        assert (message["conversation"], message["contact"]["id"]) == (written["conversation"], contact)
        assert message["contact"]["phone"] is None
        assert message["key"]["remoteJid"] == written["key"]["remoteJid"]
        assert (await line.taken_once(message_id)).to == person

    async def reacted() -> Any:
        return [taken for taken in await line.taken() if taken.id == third]

    (reaction_sent,) = await until(reacted)
    assert (reaction_sent.to, reaction_sent.type) == (person, "reaction")

    async def shown_reactions() -> Any:
        return (await line.message(written["key"]["id"]))["reactions"]

    assert await until(shown_reactions) == [{"emoji": "👍", "from": "me"}]
    events = [event["data"] for event in await line.events() if event["type"] == "message_notification"]
    (shown,) = [data for data in events if data["key"]["id"] == first]
    assert shown["contact"] == {"id": contact, "phone": None, "name": "Eva"}


async def test_a_contact_with_a_number_gets_messages_by_its_id(line: Line) -> None:
    person = new_person()
    await line.say(person, "text", {"body": "Hello"})
    (event,) = await line.received(person, 1)
    sent = await line.send(contact=event["data"]["contact"]["id"], body="Welcome")
    message = await line.until_status(sent, "READ")
    assert (message["contact"]["phone"], (await line.taken_once(sent)).to) == (person, person)


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
