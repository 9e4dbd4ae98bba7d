"""Receipts and answers: people treat a phone as they treat an official number."""

import pytest

from tests.sandbox.driver import START, Driver

from .peer import ANA, PHONE, Peer, hex_id, message

ECHO = "15555550123"


@pytest.mark.parametrize(
    ("character", "statuses"),
    [
        ("normal", ["sent", "delivered", "read"]),
        ("in_chat", ["sent", "read"]),
        ("silent", ["sent", "delivered"]),
        ("offline", ["sent"]),
        ("blocked", ["sent"]),
    ],
)
async def test_receipts_follow_the_character(empty: Driver, linked: Peer, character: str, statuses: list[str]) -> None:
    await empty.control("PUT", f"people/{ANA}", {"character": character})
    await linked.send()
    await empty.advance(100)
    receipts = await linked.take()
    assert [receipt["status"] for receipt in receipts] == statuses
    assert [receipt["seq"] for receipt in receipts] == list(range(1, len(statuses) + 1))
    assert {receipt["event"] for receipt in receipts} == {"receipt"}
    assert receipts[0]["ids"] == [hex_id(1)]
    assert receipts[0]["from"]["phone"] == ANA


async def test_receipts_come_at_their_time(empty: Driver, linked: Peer) -> None:
    await empty.control("PATCH", "settings", {"delays": {"sent": 1, "delivered": 2, "read": 3, "jitter": 0}})
    start = int(START) + 1
    await empty.control("POST", "clock", {"set": start})
    await linked.send()
    for second, status in ((1, "sent"), (2, "delivered"), (3, "read")):
        await empty.control("POST", "clock", {"set": start + second - 0.001})
        assert await linked.take() == []
        await empty.control("POST", "clock", {"set": start + second})
        assert [(e["status"], e["at"]) for e in await linked.take()] == [(status, start + second)]


async def test_a_voice_message_is_played(empty: Driver, linked: Peer) -> None:
    handle = (await linked.ask("put", mime="audio/ogg", size=1, data="AA==", last=True))["handle"]
    for number, voice in ((1, True), (2, False)):
        content = {"media": {"handle": handle}, "voice": voice}
        assert (await linked.ask("send", **message(number, type="audio", content=content)))["ok"] is True
    await empty.advance(100)
    assert [e["ids"] for e in await linked.take() if e["status"] == "played"] == [[hex_id(1)]]


async def test_an_echo_answers(empty: Driver, linked: Peer) -> None:
    await linked.send(to=ECHO)
    await empty.advance(10)
    *receipts, said = await linked.take()
    assert [receipt["status"] for receipt in receipts] == ["sent", "delivered", "read"]
    assert (said["event"], said["type"], said["content"]) == ("message", "text", {"body": "echo: Hello"})
    assert (said["quote"], said["from_me"]) == ({"id": hex_id(1), "from_me": True}, False)
    assert (said["from"]["phone"], said["from"]["name"]) == (ECHO, "Person 0123")


async def test_a_script_is_followed(empty: Driver, linked: Peer) -> None:
    replies = [{"pattern": "order", "text": "Which one?", "delay": 5, "times": 1}]
    await empty.control("PUT", f"people/{ANA}", {"name": "Ana", "replies": replies})
    await linked.send(1, content={"body": "Your order"})
    await linked.send(2, content={"body": "Your order"})
    await linked.send(3, content={"body": "Hello"})
    await empty.advance(60)
    said = [event for event in await linked.take() if event["event"] == "message"]
    assert [(event["content"], event["from"]["name"]) for event in said] == [({"body": "Which one?"}, "Ana")]


async def test_a_reaction_is_only_ever_sent(empty: Driver, linked: Peer) -> None:
    target = {"id": "3A01", "from_me": False}
    await linked.send(type="reaction", content={"reaction": {"emoji": "👍"}}, target=target)
    await empty.advance(100)
    assert [event["status"] for event in await linked.take()] == ["sent"]


async def test_a_script_may_react(empty: Driver, linked: Peer) -> None:
    await empty.control("PUT", f"people/{ANA}", {"replies": [{"react": "🎉"}]})
    await linked.send()
    await empty.advance(60)
    said = (await linked.take())[-1]
    assert (said["type"], said["content"]) == ("reaction", {"reaction": {"emoji": "🎉"}})
    assert said["target"] == hex_id(1)


async def test_a_receipt_out_of_the_ordinary(empty: Driver, linked: Peer) -> None:
    await linked.send(1)
    body = {"ids": [hex_id(1), hex_id(2)], "status": "read", "person": ANA}
    await empty.control("POST", f"phones/{PHONE}/receipts", body)
    [receipt] = await linked.take()
    assert (receipt["ids"], receipt["status"]) == ([hex_id(1), hex_id(2)], "read")
    assert (await empty.call("POST", f"/control/phones/{ANA}/receipts", body)).status == 404
    assert (await empty.call("POST", f"/control/phones/{PHONE}/receipts", body | {"ids": []})).status == 400
