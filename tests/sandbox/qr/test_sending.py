"""What is taken, what is refused, and that the same id is the same message."""

from typing import Any

import pytest

from tests.sandbox.driver import START, Driver

from .peer import ANA, BEN, PHONE, Peer, hex_id, message

NAME = {"name": {"formatted_name": "Ana"}}
POLL = {"question": "When?", "options": ["Now", "Later"], "multiple": False}


def text(length: int) -> dict[str, Any]:
    return {"type": "text", "content": {"body": "x" * length}}


def poll(**changes: Any) -> dict[str, Any]:
    return {"type": "poll", "content": {"poll": POLL | changes}}


def place(latitude: float, longitude: float) -> dict[str, Any]:
    return {"type": "location", "content": {"location": {"latitude": latitude, "longitude": longitude}}}


def cards(count: int) -> dict[str, Any]:
    return {"type": "contacts", "content": {"contacts": [NAME] * count}}


def reaction(emoji: Any, **changes: Any) -> dict[str, Any]:
    target = {"id": hex_id(9), "from_me": True}
    return {"type": "reaction", "content": {"reaction": {"emoji": emoji}}, "target": target} | changes


GOOD = [
    text(1),
    text(65_536),
    {"type": "text", "content": {"body": "See https://example.org", "preview_url": True}},
    {"type": "text", "content": {"body": "Yes"}, "quote": {"id": "3A01", "from_me": False, "text": "Really?"}},
    place(90, 180),
    place(-90, -180),
    {"type": "location", "content": {"location": {"latitude": 1, "longitude": 2, "name": "A", "address": "B"}}},
    cards(1),
    cards(257),
    {"type": "contacts", "content": {"contacts": [NAME | {"phones": [{"phone": "+1 555", "type": "CELL"}]}]}},
    reaction("👍"),
    reaction(""),
    poll(),
    poll(options=[str(number) for number in range(12)], multiple=True),
    poll(question="q" * 255, options=["a" * 100, "b"]),
    {"to": {"phone": ANA}, "id": "ABCDEFABCDEFABCDEFABCDEFABCDEFAB"},
]
BAD = [
    text(0),
    text(65_537),
    {"type": "text", "content": {"body": " \n"}},
    {"type": "text", "content": {}},
    {"type": "text", "content": {"body": "x", "colour": "red"}},
    place(90.1, 0),
    place(0, -180.1),
    cards(0),
    cards(258),
    {"type": "contacts", "content": {"contacts": [{"phones": []}]}},
    reaction(None),
    reaction("👍", target=None),
    {"type": "text", "content": {"body": "x"}, "target": {"id": "1", "from_me": True}},
    poll(options=["Now"]),
    poll(options=[str(number) for number in range(13)]),
    poll(options=["Now", "Now"]),
    poll(options=["a" * 101, "b"]),
    poll(question="q" * 256),
    {"type": "buttons", "content": {"body": "x", "buttons": []}},
    {"type": "image", "content": {"media": {"handle": "nothing"}}},
    {"to": {}},
    {"to": {"phone": ANA, "lid": "1"}},
]


@pytest.mark.parametrize("fields", GOOD)
async def test_what_is_taken(empty: Driver, linked: Peer, fields: dict[str, Any]) -> None:
    sent = message(**fields)
    assert await linked.ask("send", **sent) == {
        "re": max(linked.answers),
        "ok": True,
        "id": sent["id"],
        "at": int(START),
    }
    [shown] = (await empty.control("GET", f"phones/{PHONE}/messages"))["messages"]
    assert (shown["id"], shown["type"], shown["content"]) == (sent["id"], sent["type"], sent["content"])
    assert (shown["to"], shown["offered"]) == (ANA, 1)


@pytest.mark.parametrize("fields", BAD)
async def test_what_is_refused(empty: Driver, linked: Peer, fields: dict[str, Any]) -> None:
    refused = await linked.ask("send", **message(**fields))
    assert (refused["error"]["code"], refused["sure"]) == (479, True)
    assert refused["error"]["details"]
    assert (await empty.control("GET", f"phones/{PHONE}/messages")) == {"messages": [], "refused": {hex_id(1): 1}}


@pytest.mark.parametrize("bad", ["", "1" * 31, "1" * 33, "g" * 32, "1" * 32 + "\n"])
async def test_an_id_is_32_hex_digits(linked: Peer, bad: str) -> None:
    assert (await linked.ask("send", **message(id=bad)))["error"]["title"] == "Malformed frame"


async def test_the_same_id_is_the_same_message(empty: Driver, linked: Peer) -> None:
    first = await linked.send(1)
    await empty.advance(1)
    again = await linked.send(1)
    assert (again["ok"], again["id"], again["at"]) == (True, first["id"], first["at"])
    await empty.advance(10)
    assert [event["status"] for event in await linked.take()] == ["sent", "delivered", "read"]
    [shown] = (await empty.control("GET", f"phones/{PHONE}/messages"))["messages"]
    assert (shown["offered"], shown["statuses"]) == (2, ["sent", "delivered", "read"])
    counts = await empty.counts()
    assert (counts["accepted"], counts["repeated"]) == (1, 1)
    [row] = await empty.ledger(kind="accepted", phone_number_id=PHONE)
    assert (row["wamid"], row["to"], row["content"]) == (hex_id(1), ANA, {"body": "Hello"})


async def test_an_id_is_known_to_its_phone_only(empty: Driver, linked: Peer) -> None:
    await linked.send(1)
    await linked.open("ch_2", BEN)
    await empty.control("POST", f"phones/{BEN}/scan", {"session": "ch_2"})
    await empty.advance(0.5)
    await linked.send(1, session="ch_2")
    assert (await empty.counts())["accepted"] == 2


async def test_somebody_who_is_not_on_the_network(empty: Driver, linked: Peer) -> None:
    await empty.control("PUT", f"people/{ANA}", {"character": "absent"})
    for to in ({"phone": ANA}, {"phone": "123456"}, {"lid": "123456789012345"}):
        refused = await linked.ask("send", **message(2, to=to))
        assert (refused["error"]["code"], refused["sure"]) == (404, True)
    assert (await empty.counts())["refused.404"] == 3


async def test_checking_numbers(empty: Driver, linked: Peer) -> None:
    await empty.control("PUT", f"people/{ANA}", {"character": "absent"})
    [known] = (await linked.ask("check", phones=[ANA, BEN, "+1", ""]))["known"]
    assert known["phone"] == BEN
    assert (await linked.send(to=BEN))["ok"] is True
    assert (await linked.ask("send", **message(2, to={"lid": known["lid"]})))["ok"] is True
    rows = await empty.ledger(kind="accepted", to=BEN)
    assert [row["wamid"] for row in rows] == [hex_id(1), hex_id(2)]
    assert (await linked.ask("check", phones=[]))["known"] == []


async def test_editing_and_deleting(empty: Driver, linked: Peer) -> None:
    await linked.send(1)
    await empty.advance(2)
    edit = {"id": hex_id(1), "to": {"phone": ANA}, "type": "text", "content": {"body": "Hello!"}}
    assert (await linked.ask("edit", **edit))["at"] == int(START) + 2
    for changes, code in (
        ({"id": hex_id(2)}, 404),
        ({"to": {"phone": BEN}}, 404),
        ({"content": {"body": ""}}, 479),
        (poll(), 479),
    ):
        assert (await linked.ask("edit", **edit | changes))["error"]["code"] == code
    gone = {"id": hex_id(1), "to": {"phone": ANA}}
    assert (await linked.ask("delete", **gone))["ok"] is True
    assert (await linked.ask("delete", **gone))["ok"] is True
    assert (await linked.ask("delete", **gone | {"id": hex_id(2)}))["error"]["code"] == 404
    [shown] = (await empty.control("GET", f"phones/{PHONE}/messages"))["messages"]
    assert (shown["content"], shown["edits"], shown["deleted"]) == ({"body": "Hello!"}, 1, True)
    assert (await empty.counts())["deletes"] == 1


async def test_reading_and_typing(empty: Driver, linked: Peer) -> None:
    assert (await linked.ask("read", ids=["3A1", "3A2"], **{"from": {"phone": ANA}}))["ok"] is True
    assert (await linked.ask("typing", to={"phone": ANA}, on=True))["ok"] is True
    rows = await empty.ledger(kind="read", phone_number_id=PHONE)
    assert [(row["message_id"], row["to"]) for row in rows] == [("3A1", ANA), ("3A2", ANA)]
    assert (await linked.ask("read", ids=[], **{"from": {"phone": ANA}}))["error"]["title"] == "Malformed frame"
    assert (await empty.counts())["typing"] == 1
