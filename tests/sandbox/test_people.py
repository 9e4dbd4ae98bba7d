"""Characters, scripts and speaking as a person."""

import json
from typing import Any

import pytest

from gatepost_sandbox.people import CHARACTERS

from .driver import NUMBER, PHONE, START, Driver, Receiver

ANA = "5511999990000"


async def be(sandbox: Driver, **person: Any) -> Any:
    return await sandbox.control("PUT", f"people/{ANA}", person)


@pytest.mark.parametrize(
    ("character", "labels"),
    [
        ("normal", ["sent", "delivered", "read"]),
        ("quick", ["sent", "delivered", "read"]),
        ("slow", ["sent", "delivered", "read"]),
        ("in_chat", ["sent", "read"]),
        ("silent", ["sent", "delivered"]),
        ("offline", ["sent"]),
        ("absent", ["failed"]),
        ("blocked", ["failed"]),
    ],
)
async def test_characters(sandbox: Driver, receiver: Receiver, character: str, labels: list[str]) -> None:
    await be(sandbox, character=character)
    assert (await sandbox.text(ANA)).status == 200
    await sandbox.advance(100)
    assert receiver.labels() == labels
    assert [update["errors"][0]["code"] for update in receiver.updates() if "errors" in update] == (
        [131026] if labels == ["failed"] else []
    )


async def test_quick_and_slow_change_the_pace(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.control("PATCH", "settings", {"delays": {"jitter": 0}})
    for character, seconds in (("quick", 0.16), ("slow", 8.0)):
        await be(sandbox, character=character)
        await sandbox.text(ANA)
        await sandbox.advance(seconds - 0.01)
        assert receiver.labels()[-1] == "delivered"
        await sandbox.advance(0.01)
        assert receiver.labels()[-1] == "read"


async def test_a_default_character_for_strangers(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.control("PATCH", "settings", {"default_character": "silent"})
    await sandbox.text(ANA)
    await sandbox.advance(10)
    assert receiver.labels() == ["sent", "delivered"]


async def test_saying_something(sandbox: Driver, receiver: Receiver) -> None:
    said = {"phone_number_id": NUMBER, "from": ANA, "text": "hello there", "name": "Ana"}
    wamid = (await sandbox.control("POST", "say", said))["wamid"]
    await sandbox.advance(0)
    [change] = json.loads(receiver.bodies[0])["entry"][0]["changes"]
    assert change["value"] == {
        "messaging_product": "whatsapp",
        "metadata": {"display_phone_number": PHONE, "phone_number_id": NUMBER},
        "contacts": [{"profile": {"name": "Ana"}, "wa_id": ANA}],
        "messages": [
            {
                "from": ANA,
                "id": wamid,
                "timestamp": str(int(START)),
                "type": "text",
                "text": {"body": "hello there"},
            }
        ],
    }
    [entry] = await sandbox.ledger(kind="incoming")
    assert (entry["from"], entry["to"], entry["wamid"]) == (ANA, PHONE, wamid)


async def test_saying_something_to_nobody(sandbox: Driver) -> None:
    reply = await sandbox.call("POST", "/control/say", {"phone_number_id": "999", "from": ANA, "text": "hi"})
    assert (reply.status, reply.json) == (404, {"error": "there is no number '999'"})
    reply = await sandbox.call("POST", "/control/say", {"phone_number_id": NUMBER, "from": "+1", "text": "hi"})
    assert reply.status == 400


async def test_a_scripted_answer_quotes_the_message(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.control("PATCH", "settings", {"delays": {"jitter": 0}})
    replies = [{"pattern": "(?i)order", "text": "got {text}", "delay": 5, "times": 1}, {"text": "what?"}]
    await be(sandbox, name="Ana", replies=replies)
    wamid = (await sandbox.text(ANA, "Your ORDER")).wamid
    await sandbox.advance(5.79)
    assert receiver.labels() == ["sent", "delivered", "read"]
    await sandbox.advance(0.01)
    answer = receiver.updates()[-1]
    assert answer["text"] == {"body": "got Your ORDER"}
    assert answer["context"] == {"from": PHONE, "id": wamid}
    await sandbox.text(ANA, "another order")
    await sandbox.advance(10)
    assert receiver.updates()[-1]["text"] == {"body": "what?"}


async def test_a_silent_person_may_answer_and_an_offline_one_does_not(sandbox: Driver, receiver: Receiver) -> None:
    await be(sandbox, character="silent", replies=[{"text": "yes"}])
    await sandbox.text(ANA)
    await sandbox.advance(10)
    assert receiver.labels() == ["sent", "delivered", "text"]
    await be(sandbox, character="offline", replies=[{"text": "yes"}])
    await sandbox.text(ANA)
    await sandbox.advance(10)
    assert receiver.labels()[3:] == ["sent"]


async def test_the_echo_person(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.text("15555550123", "ping")
    await sandbox.advance(10)
    assert receiver.updates()[-1]["text"] == {"body": "echo: ping"}
    await sandbox.control("PATCH", "settings", {"echo_suffix": ""})
    await sandbox.text("15555550123", "ping")
    await sandbox.advance(10)
    assert receiver.labels()[4:] == ["sent", "delivered", "read"]


async def test_people_are_listed_and_forgotten(sandbox: Driver) -> None:
    made = await be(sandbox, character="slow")
    assert made["name"] == "Person 0000"
    assert await sandbox.control("GET", "people") == [made]
    assert await sandbox.control("GET", f"people/{ANA}") == made
    await sandbox.control("DELETE", f"people/{ANA}")
    assert await sandbox.control("GET", "people") == []
    assert (await sandbox.control("GET", f"people/{ANA}"))["character"] == "normal"
    assert (await sandbox.call("DELETE", f"/control/people/{ANA}")).status == 404


@pytest.mark.parametrize("person", [{"character": "moody"}, {"replies": [{"pattern": "(", "text": "x"}]}, {"nick": 1}])
async def test_impossible_people(sandbox: Driver, person: Any) -> None:
    reply = await sandbox.call("PUT", f"/control/people/{ANA}", person)
    assert reply.status == 400
    assert reply.json["error"]


def test_every_character_is_tried() -> None:
    marks = test_characters.pytestmark  # type: ignore[attr-defined]
    assert {case[0] for case in marks[0].args[1]} == set(CHARACTERS)
