"""What only linked phones know: people behind private ids, groups, broadcasts and labels."""

from typing import Any

import pytest
import pytest_asyncio

from tests.conformance.conftest import Lines, new_qr_line, quick_network
from tests.conformance.line import Line, new_person, until
from tests.conformance.linked_line import LinkedLine
from tests.conformance.qr_line import QrLine
from tests.conftest import PostgresServer, copied_database
from tests.running_gateway import running_gateway

pytestmark = pytest.mark.asyncio(loop_scope="package")
GROUP = {"kind": "group", "id": "120363000000000001@g.us", "name": "Family"}


@pytest_asyncio.fixture(loop_scope="package", params=["qr", "phone"])
async def line(request: Any, lines: Lines) -> Line:
    """A linked phone."""
    return await lines(request.param)


async def in_messages(line: LinkedLine) -> list[Any]:
    events = [event for event in await line.events() if event["type"] == "message_notification"]
    return [event["data"] for event in events if event["data"]["direction"] == "in"]


async def receive_from_groups(line: LinkedLine, person: str) -> list[Any]:
    """Two messages of a group, a broadcast, and one just for us: returns what is kept of the first three."""
    for chat in (GROUP, GROUP, {"kind": "status", "id": "status@broadcast"}):
        await line.say_in_group(person, "All", chat)
    await line.say(person, "text", {"body": "Just you"})
    (own,) = await line.received(person, 1)
    assert own["data"]["content"] == {"body": "Just you"}
    return [data for data in await in_messages(line) if data["content"] == {"body": "All"}]


async def react_in_group(line: QrLine, message_id: str, emojis: dict[str, str]) -> list[Any]:
    """Members of the group react to a message; returns the reactions that it shows."""
    target = (await line.message(message_id))["network_id"]
    for member, emoji in emojis.items():
        reaction = {"type": "reaction", "content": {"reaction": {"emoji": emoji}}, "target": target, "chat": GROUP}
        await line.arrive({"from": {"phone": member}, **reaction})

    async def shown() -> Any:
        reactions = (await line.message(message_id))["reactions"]
        return reactions if len(reactions) == len(emojis) else None

    return list(await until(shown))


async def test_groups_and_broadcasts_are_left_out(line: LinkedLine) -> None:
    assert await receive_from_groups(line, new_person()) == []
    await line.until_acknowledged()


async def test_groups_and_broadcasts_are_kept_where_somebody_wants_them(postgres_server: PostgresServer) -> None:
    person = new_person()
    async with (
        copied_database(postgres_server, "gatepost") as url,
        running_gateway(url, sandbox=quick_network(), qr__groups=True) as gateway,
    ):
        line = await new_qr_line(gateway)
        kept = await receive_from_groups(line, person)
        refused = await line.call("POST", "/message/send", {"contact": kept[0]["contact"]["id"], "body": "Hello, all"})
        reacted = await react_in_group(line, kept[0]["key"]["id"], {person: "👍", new_person(): "👀"})
    assert (refused.status, refused.json()["error"]["code"]) == (422, "unsupported_on_channel")
    assert [data["contact"]["name"] for data in kept[:2]] == ["Family", "Family"]
    assert kept[0]["conversation"] == kept[1]["conversation"] != kept[2]["conversation"]
    assert all(data["contact"]["phone"] is None for data in kept)
    assert (kept[0]["context"]["author"]["phone"], kept[0]["context"]["chat"]) == (person, GROUP)
    assert {(one["from"], one["emoji"]) for one in reacted} == {(kept[0]["contact"]["id"], emoji) for emoji in "👍👀"}
    assert reacted[0]["author"]["phone"] == person


async def test_a_number_becomes_known(line: LinkedLine) -> None:
    person = new_person()
    await line.say_hidden(person, "Guess who", "Eva")

    async def hidden() -> Any:
        return [data for data in await in_messages(line) if data["content"] == {"body": "Guess who"}]

    (first,) = await until(hidden)
    assert first["contact"]["phone"] is None
    assert first["key"]["remoteJid"].endswith("@lid")
    assert (await line.message(first["key"]["id"]))["contact"]["phone"] is None
    await line.reveal(person, "Eva")

    async def known() -> Any:
        return [event["data"] for event in await line.events(person) if event["action"] == "updated"]

    (seen,) = await until(known)
    assert (seen["id"], seen["changed"], seen["joined"]) == (first["contact"]["id"], ["phone"], [])
    await line.say(person, "text", {"body": "It is me"})
    (second,) = await line.received(person, 1)
    assert second["data"]["conversation"] == first["conversation"]


async def test_two_who_turn_out_to_be_one(line: LinkedLine) -> None:
    person = new_person()
    ours = await line.send(person, body="Hello")
    await line.until_status(ours, "READ")
    target = await line.say_hidden(person, "Who is there?")

    async def hidden() -> Any:
        return [data for data in await in_messages(line) if data["content"] == {"body": "Who is there?"}]

    (first,) = await until(hidden)
    assert first["conversation"] != (await line.message(ours))["conversation"]
    await line.reveal(person, "Eva")

    async def joined() -> Any:
        return [event["data"] for event in await line.events(person) if event["data"].get("joined")]

    (seen,) = await until(joined)
    assert seen["joined"] == [first["contact"]["id"]]
    for message_id in (ours, first["key"]["id"]):
        stored = await line.message(message_id)
        assert (stored["conversation"], stored["contact"]["id"]) == (seen["conversation"], seen["id"])
    await line.say(person, "revoke", {}, target=target)  # they may still delete what they wrote under the other name

    async def deleted() -> Any:
        return (await line.message(first["key"]["id"]))["deleted_at"]

    await until(deleted)


async def test_labels(line: LinkedLine) -> None:
    person = new_person()
    await line.say(person, "text", {"body": "Hello"})
    (event,) = await line.received(person, 1)
    await line.label("7", "changed", name="Paid", color=3)
    await line.label("7", "assigned", person=person)
    await until_labels(line, 2)
    (made,) = await line.get("/labels")
    conversation = await line.get(f"/conversations/{event['data']['conversation']['id']}")
    assert (made["name"], [one["name"] for one in conversation["labels"]]) == ("Paid", ["Paid"])
    # A linked phone synchronizes state: of two changes to one label in one synchronization only the last arrives.
    await line.label("7", "changed", name="Paid twice", color=3)
    await line.label("7", "removed", person=person)
    await until_labels(line, 4)
    await line.label("7", "deleted")
    found = await until_labels(line, 5)
    assert [one["action"] for one in found] == ["created", "assigned", "updated", "removed", "deleted"]
    assert found[1]["data"]["conversation"] == event["data"]["conversation"]
    assert (found[0]["data"]["name"], found[0]["data"]["color"]) == ("Paid", "#8fa832")
    assert found[2]["data"]["name"] == "Paid twice"
    assert await line.get("/labels") == []


async def until_labels(line: LinkedLine, number: int) -> list[Any]:
    async def seen() -> Any:
        found = [one for one in await line.events() if one["type"] == "label_notifications"]
        return found if len(found) == number else None

    return list(await until(seen))


async def test_a_vote_names_our_poll(line: LinkedLine) -> None:
    person = new_person()
    poll = await line.send(
        person, type="poll", poll={"question": "When?", "options": ["Now", "Later"], "multiple": False}
    )
    await line.until_status(poll, "READ")
    await line.say(person, "poll_vote", {"poll": {"options": ["Now"]}}, target=poll)
    (event,) = await line.received(person, 1)
    assert event["data"]["content"] == {"poll": {"options": ["Now"], "message_id": poll}}


async def test_nothing_waits_to_be_delivered_again(line: LinkedLine) -> None:
    person = new_person()
    await line.say(person, "text", {"body": "The last word"})
    await line.received(person, 1)
    await line.until_acknowledged()
