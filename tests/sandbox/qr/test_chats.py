"""Chats with QR phones: one shape with those of official numbers."""

from base64 import b64encode
from typing import Any

import pytest

from tests.for_each import for_each
from tests.sandbox.chats.phone import PersonPhone, open_feed
from tests.sandbox.driver import Driver

from .conftest import Dial, link_up
from .peer import ANA, PHONE, Peer, hex_id

OGG = b"OggS" + bytes(40)


@pytest.fixture
def ana(empty: Driver) -> PersonPhone:
    return PersonPhone(empty, ANA, PHONE)


async def upload(peer: Peer, content: bytes, mime: str) -> str:
    data = b64encode(content).decode()
    answer = await peer.ask("put", mime=mime, size=len(content), data=data, last=True, filename="a.bin")
    return str(answer["handle"])


async def test_a_message_appears_with_its_statuses(empty: Driver, linked: Peer, ana: PersonPhone) -> None:
    await linked.send(1, ANA)
    assert (await ana.last())["status"] == "accepted"
    await empty.advance(2)
    message, chat = await ana.last(), await ana.chat()
    assert (message["id"], message["view"], message["status"]) == (hex_id(1), {"text": "Hello"}, "read")
    assert chat["number"] == {"id": PHONE, "network": "qr", "phone": PHONE, "name": "Sandbox Phone"}
    assert (chat["window_ends_at"], chat["marketing_stopped"], chat["last"]) == (None, False, message)


async def test_a_repeated_message_is_shown_once(empty: Driver, linked: Peer, ana: PersonPhone) -> None:
    for _ in range(2):
        await linked.send(1, ANA)
    assert len(await ana.messages()) == 1


async def test_edits_and_deletions_of_the_business(empty: Driver, linked: Peer, ana: PersonPhone) -> None:
    await linked.send(1, ANA)
    await linked.ask("edit", id=hex_id(1), to={"phone": ANA}, type="text", content={"body": "Better"})
    message = await ana.last()
    assert (message["view"], message["edited"]) == ({"text": "Better"}, True)
    await linked.ask("delete", id=hex_id(1), to={"phone": ANA})
    message = await ana.last()
    assert (message["view"], message["deleted"]) == ({}, True)


async def test_read_marks_and_typing_of_the_business(empty: Driver, linked: Peer, ana: PersonPhone) -> None:
    first, second = [await ana.send("text", text=text) for text in ("one", "two")]
    await linked.ask("read", ids=[second["id"]], **{"from": {"phone": ANA}})
    assert [message["status"] for message in await ana.messages()] == ["delivered", "read"]
    await linked.ask("typing", to={"phone": ANA}, on=True)
    assert (await ana.chat())["typing"]
    await linked.ask("typing", to={"phone": ANA}, on=False)
    assert not (await ana.chat())["typing"]
    assert first["status"] == "delivered"


async def test_reactions_of_both_sides(empty: Driver, linked: Peer, ana: PersonPhone) -> None:
    await linked.send(1, ANA)
    await empty.advance(2)
    await ana.send("reaction", target=hex_id(1), emoji="👍")
    target = {"id": hex_id(1), "from_me": True}
    await linked.send(2, ANA, type="reaction", content={"reaction": {"emoji": "🎉"}}, target=target)
    await empty.advance(2)
    [message] = await ana.messages()
    assert message["reactions"] == [{"from": "person", "emoji": "👍"}, {"from": "business", "emoji": "🎉"}]
    came = [event for event in await linked.take_numbered() if event["event"] == "message"]
    assert (came[-1]["type"], came[-1]["target"]) == ("reaction", hex_id(1))


async def test_a_poll_and_a_vote(empty: Driver, linked: Peer, ana: PersonPhone) -> None:
    poll = {"question": "Which?", "options": ["a", "b", "c"]}
    await linked.send(1, ANA, type="poll", content={"poll": poll})
    await empty.advance(2)
    shown = {"name": "Which?", "options": ["a", "b", "c"], "selectable": 1, "votes": []}
    assert (await ana.last())["view"]["poll"] == shown
    voted = await ana.send("vote", target=hex_id(1), options=["b"])
    assert voted["view"]["poll"] == {**shown, "votes": ["b"]}
    for options in (["a", "b"], ["d"]):
        assert (await ana.try_send("vote", target=hex_id(1), options=options)).status == 409
    came = (await linked.take_numbered())[-1]
    assert (came["type"], came["content"]["poll"]["options"], came["target"]) == ("poll_vote", ["b"], hex_id(1))


SENDS: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "text": ({"text": "hi"}, "text", {"body": "hi"}),
    "location": (
        {"latitude": 1.5, "longitude": 2},
        "location",
        {"location": {"latitude": 1.5, "longitude": 2, "name": "", "address": ""}},
    ),
    "order": (
        {"catalog_id": "7", "items": [{"id": "sku", "price": 2.5}], "text": "x"},
        "order",
        {
            "order": {
                "catalog_id": "7",
                "text": "x",
                "items": [{"retailer_id": "sku", "quantity": 1, "price": "2.50", "currency": "USD"}],
            }
        },
    ),
}


@for_each("kind", list(SENDS))
async def test_what_a_person_sends_arrives(empty: Driver, linked: Peer, ana: PersonPhone, kind: str) -> None:
    fields, network_type, content = SENDS[kind]
    message = await ana.send(kind, **fields)
    came = (await linked.take_numbered())[-1]
    assert (came["id"], came["type"], came["content"]) == (message["id"], network_type, content)
    assert (message["status"], message["from"]) == ("delivered", "person")


async def test_a_voice_message_of_each_side_can_be_played(empty: Driver, linked: Peer, ana: PersonPhone) -> None:
    data = b64encode(OGG).decode()
    sent = await ana.send("media", kind="audio", data=data, mime_type="audio/ogg; codecs=opus", voice=True)
    media = sent["view"]["media"]
    assert (media["kind"], media["voice"], media["size"]) == ("audio", True, len(OGG))
    assert (await empty.call("GET", media["url"])).raw == OGG
    came = (await linked.take_numbered())[-1]
    assert (came["content"]["voice"], came["media"]["size"]) == (True, len(OGG))

    handle = await upload(linked, OGG, "audio/ogg")
    await linked.send(1, ANA, type="audio", content={"media": {"handle": handle}, "voice": True})
    media = (await ana.last())["view"]["media"]
    assert media["voice"]
    assert (await empty.call("GET", media["url"])).raw == OGG


async def test_a_new_caption_keeps_the_file(empty: Driver, linked: Peer, ana: PersonPhone) -> None:
    handle = await upload(linked, OGG, "image/png")
    content = {"media": {"handle": handle}, "caption": "old"}
    await linked.send(1, ANA, type="image", content=content)
    await linked.ask("edit", id=hex_id(1), to={"phone": ANA}, type="image", content=content | {"caption": "new"})
    view = (await ana.last())["view"]
    assert (view["text"], view["media"]["size"]) == ("new", len(OGG))


async def test_a_person_edits_and_deletes_own_texts(empty: Driver, linked: Peer, ana: PersonPhone) -> None:
    said = await ana.send("text", text="first")
    assert (await ana.send("edit", target=said["id"], text="second"))["view"] == {"text": "second"}
    assert (await ana.send("delete", target=said["id"]))["deleted"]
    assert [event["type"] for event in await linked.take_numbered()] == ["text", "edit", "revoke"]


async def test_buttons_do_not_exist_here(empty: Driver, linked: Peer, ana: PersonPhone) -> None:
    await linked.send(1, ANA)
    await empty.advance(2)
    assert (await ana.try_send("button", target=hex_id(1), button="b0")).status == 409
    assert (await ana.try_send("row", target=hex_id(1), row="b0")).status == 409


async def test_what_the_owner_writes_and_what_is_in_groups(empty: Driver, linked: Peer, ana: PersonPhone) -> None:
    said: dict[str, Any] = {"from": {"phone": ANA}, "content": {"body": "hi"}}
    await empty.control("POST", f"phones/{PHONE}/incoming", said | {"from_me": True})
    await empty.control("POST", f"phones/{PHONE}/incoming", said | {"chat": {"kind": "group", "id": "g"}})
    [message] = await ana.messages()
    assert message["from"] == "business"


async def test_a_quote_names_its_author(empty: Driver, linked: Peer, ana: PersonPhone) -> None:
    await linked.send(1, ANA)
    await empty.advance(2)
    await ana.send("text", text="answer", quote=hex_id(1))
    assert (await linked.take_numbered())[-1]["quote"] == {"id": hex_id(1), "from_me": True}
    own = await ana.send("text", text="more")
    await ana.send("text", text="and more", quote=own["id"])
    assert (await linked.take_numbered())[-1]["quote"] == {"id": own["id"], "from_me": False}


async def test_a_person_who_reads_when_open(empty: Driver, linked: Peer, ana: PersonPhone) -> None:
    await empty.control("PUT", f"people/{ANA}", {"reads": "when_open"})
    await linked.send(1, ANA)
    await empty.advance(60)
    assert (await ana.act("read"))["last"]["status"] == "read"
    await empty.advance(60)
    assert receipts(await linked.take_numbered()) == ["sent", "delivered", "read"]


async def test_a_chat_that_is_opened_early_is_read_once(empty: Driver, linked: Peer, ana: PersonPhone) -> None:
    await linked.send(1, ANA)
    await empty.advance(0.45)
    await ana.act("read")
    await empty.advance(60)
    assert receipts(await linked.take_numbered()) == ["sent", "delivered", "read"]


async def test_a_voice_message_is_played_when_the_person_plays_it(
    empty: Driver, linked: Peer, ana: PersonPhone
) -> None:
    await empty.control("PUT", f"people/{ANA}", {"reads": "when_open"})
    handle = await upload(linked, OGG, "audio/ogg")
    await linked.send(1, ANA, type="audio", content={"media": {"handle": handle}, "voice": True})
    await empty.advance(60)
    await ana.act("read")
    await empty.advance(60)
    assert receipts(await linked.take_numbered()) == ["sent", "delivered", "read"]
    await empty.control("POST", f"people/{ANA}/offline", {"seconds": 10})
    for _ in range(2):
        await ana.act("played", {"message": hex_id(1)})
    assert receipts(await linked.take_numbered()) == []
    await empty.advance(60)
    assert receipts(await linked.take_numbered()) == ["played"]


async def test_a_phone_that_is_offline_for_a_while(empty: Driver, linked: Peer, ana: PersonPhone) -> None:
    await empty.control("POST", f"people/{ANA}/offline", {"seconds": 60})
    await linked.send(1, ANA)
    await empty.advance(30)
    assert receipts(await linked.take_numbered()) == ["sent"]
    await empty.advance(60)
    assert receipts(await linked.take_numbered()) == ["delivered", "read"]


async def test_a_chat_that_is_opened_offline_is_reported_later(empty: Driver, linked: Peer, ana: PersonPhone) -> None:
    await empty.control("PUT", f"people/{ANA}", {"reads": "when_open"})
    await linked.send(1, ANA)
    await empty.advance(5)
    await empty.control("POST", f"people/{ANA}/offline", {"seconds": 60})
    await ana.act("read")
    await empty.advance(30)
    assert receipts(await linked.take_numbered()) == ["sent", "delivered"]
    await empty.advance(60)
    assert receipts(await linked.take_numbered()) == ["read"]


async def test_blocking_and_reporting_a_phone(empty: Driver, linked: Peer, ana: PersonPhone) -> None:
    assert (await ana.act("report"))["blocked"]
    assert (await empty.counts())["reports"] == 1
    await linked.send(1, ANA)
    await empty.advance(60)
    assert receipts(await linked.take_numbered()) == ["sent"]
    assert (await empty.call("POST", f"/control/{ana.path}/marketing", {"stopped": True})).status == 409


async def test_a_new_number_is_reported_to_every_phone(
    empty: Driver, linked: Peer, dial: Dial, ana: PersonPhone
) -> None:
    other, session, second = await dial(), "ch_2", "15550003333"
    await link_up(empty, other, session, second)
    await ana.send("text", text="hi")
    await PersonPhone(empty, ANA, second).send("text", text="hi")
    lid = (await linked.take_numbered())[-1]["from"]["lid"]
    await empty.control("POST", f"people/{ANA}/number", {"phone": "5511999997777"})
    for peer in (linked, other):
        event = (await peer.take_numbered())[-1]
        assert (event["event"], event["old_phone"]) == ("contact", ANA)
        assert event["person"] == {"phone": "5511999997777", "lid": lid}


async def test_a_qr_phone_is_online_while_a_session_is_connected(empty: Driver, linked: Peer, ana: PersonPhone) -> None:
    await ana.send("text", text="hi")
    assert (await ana.chat())["presence"] == {"online": True, "until": None, "last_seen": None}
    await link_up(empty, linked, "ch_2")
    await empty.advance(10)
    async with open_feed(empty) as feed:
        await linked.ask("close", session="ch_2")
        assert (await ana.chat())["presence"]["online"]  # by the other session
        await empty.control("POST", f"phones/{PHONE}/drop", {"seconds": 60})
        pushed = (await feed.until("chat"))["chat"]["presence"]
        assert pushed == {"online": False, "until": None, "last_seen": 1_700_000_011}
        await empty.advance(60)
        assert (await feed.until("chat"))["chat"]["presence"]["online"]


async def test_a_qr_phone_that_logged_out_is_offline(empty: Driver, linked: Peer, ana: PersonPhone) -> None:
    await ana.send("text", text="hi")
    await empty.control("POST", f"phones/{PHONE}/logout")
    assert not (await ana.chat())["presence"]["online"]


def receipts(events: list[dict[str, Any]]) -> list[str]:
    return [event["status"] for event in events if event["event"] == "receipt"]
