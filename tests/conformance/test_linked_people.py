"""What only linked phones know: people behind private ids, groups, broadcasts and labels."""

from typing import Any

import pytest
import pytest_asyncio

from tests.conformance.conftest import new_qr_line, quick_network
from tests.conformance.line import new_person, until
from tests.conformance.qr_line import QrLine
from tests.conftest import PostgresServer, copied_database
from tests.house import House, running_house

pytestmark = pytest.mark.asyncio(loop_scope="module")
GROUP = {"kind": "group", "id": "120363000000000001@g.us", "name": "Family"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def line(house: House) -> QrLine:
    """A linked phone."""
    return await new_qr_line(house)


async def in_messages(line: QrLine) -> list[Any]:
    events = [event for event in await line.events() if event["type"] == "message_notification"]
    return [event["data"] for event in events if event["data"]["direction"] == "in"]


async def hear_a_group(line: QrLine, person: str) -> list[Any]:
    """Two messages of a group, a broadcast, and one just for us: returns what is kept of the first three."""
    for chat in (GROUP, GROUP, {"kind": "status", "id": "status@broadcast"}):
        await line.arrive({"from": {"phone": person, "name": "Ana"}, "content": {"body": "All"}, "chat": chat})
    await line.say(person, "text", {"body": "Just you"})
    (own,) = await line.heard(person, 1)
    assert own["data"]["content"] == {"body": "Just you"}
    return [data for data in await in_messages(line) if data["content"] == {"body": "All"}]


async def test_groups_and_broadcasts_are_left_out(line: QrLine) -> None:
    assert await hear_a_group(line, new_person()) == []
    await line.until_acknowledged()


async def test_groups_and_broadcasts_are_kept_where_somebody_wants_them(postgres_server: PostgresServer) -> None:
    person = new_person()
    async with (
        copied_database(postgres_server, "gatepost") as url,
        running_house(url, sandbox=quick_network(), qr__groups=True) as house,
    ):
        kept = await hear_a_group(await new_qr_line(house), person)
    assert [data["contact"]["name"] for data in kept[:2]] == ["Family", "Family"]
    assert kept[0]["conversation"] == kept[1]["conversation"] != kept[2]["conversation"]
    assert all(data["contact"]["phone"] is None for data in kept)
    assert (kept[0]["context"]["author"]["phone"], kept[0]["context"]["chat"]) == (person, GROUP)


async def test_a_number_becomes_known(line: QrLine) -> None:
    person = new_person()
    await line.arrive({"from": {"phone": person, "name": "Eva", "hidden": True}, "content": {"body": "Guess who"}})

    async def hidden() -> Any:
        return [data for data in await in_messages(line) if data["content"] == {"body": "Guess who"}]

    (first,) = await until(hidden)
    assert first["contact"]["phone"] is None
    assert first["key"]["remoteJid"].endswith("@lid")
    assert (await line.message(first["key"]["id"]))["contact"]["phone"] is None
    await line.phone_does("contacts", {"phone": person, "hidden": False})

    async def known() -> Any:
        return [event["data"] for event in await line.events(person) if event["action"] == "updated"]

    (told,) = await until(known)
    assert (told["id"], told["changed"], told["joined"]) == (first["contact"]["id"], ["phone"], [])
    await line.say(person, "text", {"body": "It is me"})
    (second,) = await line.heard(person, 1)
    assert second["data"]["conversation"] == first["conversation"]


async def test_two_who_turn_out_to_be_one(line: QrLine) -> None:
    person = new_person()
    ours = await line.send(person, body="Hello")
    await line.until_status(ours, "READ")
    target = await line.arrive({"from": {"phone": person, "hidden": True}, "content": {"body": "Who is there?"}})

    async def hidden() -> Any:
        return [data for data in await in_messages(line) if data["content"] == {"body": "Who is there?"}]

    (first,) = await until(hidden)
    assert first["conversation"] != (await line.message(ours))["conversation"]
    await line.phone_does("contacts", {"phone": person, "name": "Eva", "hidden": False})

    async def joined() -> Any:
        return [event["data"] for event in await line.events(person) if event["data"].get("joined")]

    (told,) = await until(joined)
    assert told["joined"] == [first["contact"]["id"]]
    for message_id in (ours, first["key"]["id"]):
        stored = await line.message(message_id)
        assert (stored["conversation"], stored["contact"]["id"]) == (told["conversation"], told["id"])
    await line.say(person, "revoke", {}, target=target)  # they may still delete what they wrote under the other name

    async def deleted() -> Any:
        return (await line.message(first["key"]["id"]))["deleted_at"]

    await until(deleted)


async def test_labels(line: QrLine) -> None:
    person = new_person()
    await line.say(person, "text", {"body": "Hello"})
    (event,) = await line.heard(person, 1)
    label = {"id": "7", "name": "Paid", "color": 3}
    await line.phone_does("labels", {**label, "action": "changed"})
    await line.phone_does("labels", {"id": "7", "action": "assigned", "person": person})
    await line.phone_does("labels", {"id": "7", "action": "removed", "person": person})
    await line.phone_does("labels", {"id": "7", "action": "deleted"})

    async def told() -> Any:
        found = [one for one in await line.events() if one["type"] == "label_notifications"]
        return found if len(found) == 4 else None

    found = await until(told)
    assert [one["action"] for one in found] == ["created", "assigned", "removed", "deleted"]
    assert found[1]["data"]["conversation"] == event["data"]["conversation"]
    assert (found[0]["data"]["name"], found[0]["data"]["color"]) == ("Paid", "#8fa832")


async def test_a_vote_names_our_poll(line: QrLine) -> None:
    person = new_person()
    poll = await line.send(
        person, type="poll", poll={"question": "When?", "options": ["Now", "Later"], "multiple": False}
    )
    await line.until_status(poll, "READ")
    await line.say(person, "poll_vote", {"poll": {"options": ["Now"]}}, target=poll)
    (event,) = await line.heard(person, 1)
    assert event["data"]["content"] == {"poll": {"options": ["Now"], "message_id": poll}}


async def test_nothing_waits_to_be_told_again(line: QrLine) -> None:
    person = new_person()
    await line.say(person, "text", {"body": "The last word"})
    await line.heard(person, 1)
    await line.until_acknowledged()
