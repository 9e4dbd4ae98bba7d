"""Every type in: stored once, reported in the right shape; files fetched; changes applied to what they are about."""

import hashlib
from typing import Any

import pytest

from tests.conformance.conftest import over
from tests.conformance.line import Line, new_person, until
from tests.conformance.samples import CARD, FILE_SENDS, FILES, PLACE

pytestmark = pytest.mark.asyncio(loop_scope="package")
ITEMS = [
    {"retailer_id": "tea", "quantity": 2, "price": "30.10", "currency": "USD"},
    {"retailer_id": "cup", "quantity": 1, "price": "5", "currency": "USD"},
]
TYPES: dict[str, dict[str, Any]] = {
    "text": {"body": "Olá, tem chá? 🍵\nSim"},
    "location": {"location": PLACE},
    "contacts": {"contacts": [CARD]},
    "button_reply": {"reply": {"id": "y", "title": "Yes"}},
    "list_reply": {"reply": {"id": "t", "title": "Tea", "description": "green"}},
    "order": {"order": {"catalog_id": "c1", "text": "Please wrap it", "items": ITEMS}},
    "hologram": {"beams": [1, 2.5], "deep": {"er": None}},
}

OF_THE_SANDBOX = ("order", "hologram")


async def check_kept(line: Line, event: Any, type_: str, content: Any) -> None:
    """The event has the content, and so has the stored message."""
    data = event["data"]
    assert (data["direction"], data["type"], data["content"]) == ("in", type_, content)
    stored = await line.message(data["key"]["id"])
    assert (stored["direction"], stored["status"], stored["type"]) == ("in", "RECEIVED", type_)
    assert stored["content"] == content
    assert stored["conversation"] == data["conversation"]


async def until_changed(line: Line, person: str, change: str, number: int = 1) -> list[Any]:
    """The changes of one kind that were reported for a person's messages, once there are so many."""

    async def look() -> list[Any] | None:
        seen = [event for event in await line.events(person) if event["action"] == "updated"]
        found = [event["data"] for event in seen if event["data"].get("change") == change]
        return found if len(found) >= number else None

    found = await until(look)
    assert found is not None
    assert len(found) == number
    return found


@pytest.mark.parametrize("type_", [type_ for type_ in TYPES if type_ not in OF_THE_SANDBOX])
async def test_types(line: Line, type_: str) -> None:
    await comes(line, type_)


@over("cloud", "qr")  # phones name an order's lines elsewhere (test_phone_alone), and have no word for what is unknown
@pytest.mark.parametrize("type_", OF_THE_SANDBOX)
async def test_types_that_phones_say_otherwise(line: Line, type_: str) -> None:
    await comes(line, type_)


async def comes(line: Line, type_: str) -> None:
    person = new_person()
    network_id = await line.say(person, type_, TYPES[type_], name="Ana")
    (event,) = await line.received(person, 1)
    await check_kept(line, event, type_, TYPES[type_])
    data = event["data"]
    assert data["key"] == {"remoteJid": f"{person}@s.whatsapp.net", "fromMe": False, "id": data["key"]["id"]}
    assert (data["contact"]["phone"], data["contact"]["name"], data["context"]) == (person, "Ana", None)
    assert (await line.message(data["key"]["id"]))["network_id"] == network_id


async def test_types_of_this_network_alone(line: Line) -> None:
    for sample in line.own_types:
        person = new_person()
        await line.bring(person, sample)
        (event,) = await line.received(person, 1)
        await check_kept(line, event, sample.type, sample.content)
        assert event["data"]["context"] == sample.context


@pytest.mark.parametrize("kind", FILE_SENDS)
async def test_files(line: Line, kind: str) -> None:
    (type_, fields), file, person = FILE_SENDS[kind], FILES[kind], new_person()
    await line.say(person, type_, fields, file=file)
    (event,) = await line.received(person, 1)
    digest = hashlib.sha256(file.content).hexdigest()
    content = event["data"]["content"]
    media = content.pop("media")
    assert content == fields
    assert (media["mime_type"], media["sha256"]) == (file.mime_type, digest)
    (changed,) = await until_changed(line, person, "media_ready")
    assert changed["key"] == event["data"]["key"]
    assert changed["content"]["media"]["id"] == media["id"]
    stored = await line.get(f"/media/{media['id']}")
    assert (stored["state"], stored["size"], stored["sha256"]) == ("ready", len(file.content), digest)
    assert (await line.call("GET", f"/media/{media['id']}/content")).body == file.content
    await line.send(new_person(), type=type_, media={"id": media["id"]})  # what came in may go out again


async def test_an_answer_and_a_forward(line: Line) -> None:
    person = new_person()
    ours = await line.send(person, body="Shall we?")
    network_id = (await line.until_status(ours, "READ"))["network_id"]
    theirs = await line.say(person, "text", {"body": "Yes"}, reply_to=network_id)
    await line.say(person, "text", {"body": "Look"}, forwarded=True)
    await line.say(person, "text", {"body": "I mean this"}, reply_to=theirs)
    answer, forward, self_reply = await line.received(person, 3)
    assert answer["data"]["context"] == {"reply_to": ours}
    assert (await line.message(answer["data"]["key"]["id"]))["reply_to"] == ours
    assert forward["data"]["context"] == {"forwarded": True}
    assert self_reply["data"]["context"] == {"reply_to": answer["data"]["key"]["id"]}


async def test_reactions_change_what_they_are_about(line: Line) -> None:
    person = new_person()
    ours = await line.send(person, body="We have won")
    network_id = (await line.until_status(ours, "READ"))["network_id"]
    for number, emoji in enumerate(("👍", "❤️", ""), 1):
        await line.say(person, "reaction", {"reaction": {"emoji": emoji}}, target=network_id)
        changed = (await until_changed(line, person, "reaction", number))[-1]
        assert (changed["key"]["id"], changed["direction"]) == (ours, "out")
        assert (changed["content"], changed["reaction"]["emoji"]) == ({"body": "We have won"}, emoji)
        who = changed["reaction"]["from"]
        assert who == changed["contact"]["id"]
        assert (await line.message(ours))["reactions"] == ([{"emoji": emoji, "from": who}] if emoji else [])
    assert await line.acks(ours) == ["SENT", "DELIVERED", "READ"]


async def test_edits_change_what_they_are_about(line: Line) -> None:
    person = new_person()
    target = await line.say(person, "text", {"body": "At five"})
    (event,) = await line.received(person, 1)
    await line.say(person, "edit", {"edit": {"type": "text", "content": {"body": "At six"}}}, target=target)
    (changed,) = await until_changed(line, person, "edited")
    assert (changed["key"], changed["content"]) == (event["data"]["key"], {"body": "At six"})
    stored = await line.message(event["data"]["key"]["id"])
    assert stored["content"] == {"body": "At six"}
    assert stored["edited_at"] is not None
    assert stored["deleted_at"] is None


async def test_an_edited_caption_keeps_its_file(line: Line) -> None:
    person, file = new_person(), FILES["image"]
    target = await line.say(person, "image", {"caption": "My cat"}, file=file)
    (event,) = await line.received(person, 1)
    media_id = event["data"]["content"]["media"]["id"]
    await until_changed(line, person, "media_ready")
    edit = {"edit": {"type": "image", "content": {"caption": "My dog"}}}
    await line.say(person, "edit", edit, target=target)
    (changed,) = await until_changed(line, person, "edited")
    assert changed["content"]["caption"] == "My dog"
    assert changed["content"]["media"]["id"] == media_id
    assert (await line.call("GET", f"/media/{media_id}/content")).body == file.content


async def test_deletions_change_what_they_are_about(line: Line) -> None:
    person = new_person()
    target = await line.say(person, "text", {"body": "Wrong chat"})
    (event,) = await line.received(person, 1)
    await line.say(person, "revoke", {}, target=target)
    (changed,) = await until_changed(line, person, "deleted")
    assert changed["key"] == event["data"]["key"]
    assert (await line.message(event["data"]["key"]["id"]))["deleted_at"] is not None


async def test_nobody_changes_what_another_wrote(line: Line) -> None:
    person, stranger = new_person(), new_person()
    target = await line.say(person, "text", {"body": "At five"})
    (event,) = await line.received(person, 1)
    await line.say(stranger, "edit", {"edit": {"type": "text", "content": {"body": "Never"}}}, target=target)
    await line.say(stranger, "revoke", {}, target=target)
    await line.received(stranger, 2)
    stored = await line.message(event["data"]["key"]["id"])
    assert (stored["content"], stored["edited_at"], stored["deleted_at"]) == ({"body": "At five"}, None, None)


@over("cloud", "qr")  # on phones: test_phone_alone
async def test_an_order_is_noted(line: Line) -> None:
    person = new_person()
    await line.say(person, "order", TYPES["order"])
    (event,) = await line.received(person, 1)
    (order,) = [one for one in await line.events(person) if one["type"] == "order_notifications"]
    assert order["action"] == "created"
    data = order["data"]
    assert (data["status"], data["catalog_id"], data["note"]) == ("new", "c1", "Please wrap it")
    assert (data["items"], data["total"], data["currency"]) == (ITEMS, "65.20", "USD")
    assert (data["message"], data["conversation"]) == (event["data"]["key"]["id"], event["data"]["conversation"])


async def test_what_was_written_on_the_phone(line: Line) -> None:
    person = new_person()
    network_id = await line.say_from_phone(person, "From my pocket")

    async def look() -> Any:
        return [event for event in await line.events(person) if event["type"] == "message_notification"]

    (event,) = await until(look)
    data = event["data"]
    assert (data["direction"], data["key"]["fromMe"], data["content"]) == ("out", True, {"body": "From my pocket"})
    stored = await line.message(data["key"]["id"])
    assert (stored["status"], stored["network_id"]) == ("SENT", network_id)


async def test_hostile_text_is_stored_and_does_no_harm(line: Line) -> None:
    person = new_person()
    await line.say(person, "text", {"body": "NUL \x00 and \u202e turned"}, name="A\x00na")
    await line.say(person, "text", {"body": "still here"})
    first, second = await line.received(person, 2)
    assert "turned" in first["data"]["content"]["body"]
    assert second["data"]["content"] == {"body": "still here"}


async def test_what_comes_twice_is_one_message(line: Line) -> None:
    person = new_person()
    await line.fault(fault="duplicate", copies=3, to=person)
    for number in range(3):
        await line.say(person, "text", {"body": f"Number {number}"})
    received = await line.received(person, 3)
    assert [event["data"]["content"]["body"] for event in received] == ["Number 0", "Number 1", "Number 2"]
    await line.say(person, "text", {"body": "The last"})
    assert len(await line.received(person, 4)) == 4
