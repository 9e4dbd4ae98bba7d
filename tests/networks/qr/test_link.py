"""A link against a small driver that does what the test says, over both transports."""

import asyncio
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
import pytest

from gatepost.networks.base import (
    CallFailed,
    ConnectionUpdate,
    ContactUpdate,
    ErrorReaction,
    Incoming,
    LabelUpdate,
    Person,
    QuotedRef,
    SendAccepted,
    SendNotMade,
    SendRefused,
    SendUnknown,
    StatusUpdate,
    Update,
)
from gatepost.networks.qr import link as link_module
from gatepost.networks.qr.driver import Driver, DriverTimeouts
from gatepost.networks.qr.driver_connection import ConnectionLost, Transport
from gatepost.networks.qr.frames import MAX_FRAME, MAX_PIECE
from gatepost.networks.qr.link import Deadlines, Link
from tests.networks.qr.scripted import PairWire, Scripted, running
from tests.patience import PATIENCE

ANA = Person(phone="15550003333")
ID = "01999C000000700080000000000000AB"
HASTY = Deadlines(open=0.3)


@pytest.fixture
def script() -> Scripted:
    return Scripted()


@pytest.fixture(params=["socketpair", "websocket"])
async def driver(request: pytest.FixtureRequest, script: Scripted) -> AsyncIterator[Driver]:
    async with running(request.param, script, health=DriverTimeouts(first_wait=0.01)) as one:
        yield one


@pytest.fixture
async def link(driver: Driver) -> Link:
    one = driver.link("ch_1")
    await one.open("15550002222")
    return one


async def taken(link: Link, count: int) -> list[tuple[int | None, Update]]:
    found: list[tuple[int | None, Update]] = []
    async with asyncio.timeout(PATIENCE):
        async for numbered in link.updates():
            found.append(numbered)
            if len(found) == count:
                break
    return found


# -- opening and news --------------------------------------------------------------------------------------------------


async def test_opening_says_which_phone_and_which_device(driver: Driver, script: Scripted) -> None:
    script.replies["open"] = lambda _: [{"ok": True, "own_ids": False}]
    link = driver.link("ch_1")
    await link.open("15550002222", "15550002222:7@s.whatsapp.net")
    asked = await script.asked("open")
    assert (asked["session"], asked["phone"]) == ("ch_1", "15550002222")
    assert asked["device"] == link.device == "15550002222:7@s.whatsapp.net"
    assert link.own_ids is False
    await driver.link("ch_2").open("15550004444")
    assert "device" not in await script.asked("open", 2)


async def test_every_event_is_a_value_and_only_its_last_one_has_the_number(link: Link, script: Scripted) -> None:
    at = 1_763_200_000
    events: list[dict[str, Any]] = [
        {"event": "connection", "state": "connecting", "reason": "started"},
        {"event": "qr", "code": "2@x", "seconds": 60},
        {"event": "linked", "phone": "15550002222", "lid": "7", "device": "15550002222:7@s.whatsapp.net"},
        {"event": "connection", "state": "connected", "reason": "linked"},
        {"event": "linked", "phone": "15550002222"},
        {"event": "connection", "state": "limited", "reason": "time_locked", "until": at},
        {"event": "receipt", "seq": 1, "ids": [ID, "3EB0"], "status": "read", "from": {"phone": "1"}, "at": at},
        {"event": "message", "seq": 2, "id": "3EB1", "from": {"phone": "15550003333"}, "from_me": False, "type": "text",
         "content": {"body": "Hi"}, "at": at},
        {"event": "contact", "seq": 3, "person": {"lid": "9", "phone": "15550003333"}, "old_phone": "1", "at": at},
        {"event": "label", "seq": 4, "id": "l1", "action": "assigned", "name": "VIP", "color": 3,
         "person": {"phone": "15550003333"}, "at": at},
    ]  # fmt: skip
    for event in events:
        await script.say({**event, "session": "ch_1"})
    when = datetime.fromtimestamp(at, UTC)
    assert await taken(link, 11) == [
        (None, ConnectionUpdate("connecting", "started")),
        (None, ConnectionUpdate("waiting_for_scan", qr="2@x", qr_seconds=60)),
        (None, ConnectionUpdate("connecting", "linked", phone="15550002222", lid="7")),
        (None, ConnectionUpdate("connected", "linked")),
        (None, ConnectionUpdate("connected", "linked", phone="15550002222")),
        (None, ConnectionUpdate("limited", "time_locked", until=when)),
        (None, StatusUpdate(ID, "read", when, message_id=UUID(hex=ID))),
        (1, StatusUpdate("3EB0", "read", when)),
        (2, Incoming("3EB1", ANA, "text", '{"body":"Hi"}', when)),
        (3, ContactUpdate(Person(phone="15550003333", lid="9"), when, "1")),
        (4, LabelUpdate("l1", "assigned", when, "VIP", 3, ANA)),
    ]
    assert link.state == "limited"
    assert link.device == "15550002222:7@s.whatsapp.net"
    await link.ack(4)
    assert await script.asked("ack") == {"op": "ack", "session": "ch_1", "seq": 4}


async def test_what_cannot_be_read_is_counted_and_passed_over(link: Link, driver: Driver, script: Scripted) -> None:
    for junk in (b"{", b'{"event":"qr","session":"ch_1"}', b'{"event":"novelty","session":"ch_1"}', b'{"re":"x"}'):
        await script.say(junk)
    await script.say({"event": "qr", "session": "ch_1", "code": "x" * MAX_FRAME})  # which a person can cause
    await script.say({"event": "qr", "session": "ch_2", "code": "not ours"})
    await script.say({"event": "qr", "session": "ch_1", "code": "2@x"})
    ((_, update),) = await taken(link, 1)
    assert isinstance(update, ConnectionUpdate)
    assert update.qr == "2@x"
    assert (await driver.connection()).unreadable == 3


@pytest.mark.parametrize("count", [5, 6])
async def test_a_reader_who_is_too_far_behind_loses_the_link(
    link: Link, script: Scripted, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(link_module, "MAX_WAITING", 5)
    for number in range(count):
        await script.say({"event": "qr", "session": "ch_1", "code": str(number)})
    await link.typing(ANA, True) if count == 5 else await asyncio.sleep(0.05)
    found = await taken(link, count)
    assert (found[-1][1] == ConnectionUpdate("waiting_for_scan", qr="4", qr_seconds=20)) is (count == 5)
    assert getattr(found[-1][1], "reason", None) == (None if count == 5 else "driver_gone")
    await link.ack(4)  # what was stored does not come again
    assert (await script.asked("ack"))["seq"] == 4


async def test_receipts_of_many_messages_do_not_end_the_link(
    link: Link, script: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person can make them as long as they like."""
    monkeypatch.setattr(link_module, "MAX_WAITING", 5)
    ids = [f"3EB{number}" for number in range(10)]
    for seq in (1, 2):
        await script.say({"event": "receipt", "session": "ch_1", "seq": seq, "ids": ids, "status": "read", "at": 1})
    await script.say({"event": "qr", "session": "ch_1", "code": "2@x"})
    *receipts, (_, last) = await taken(link, 21)
    assert [seq for seq, _ in receipts if seq] == [1, 2]
    assert last == ConnectionUpdate("waiting_for_scan", qr="2@x", qr_seconds=20)


# -- sending -----------------------------------------------------------------------------------------------------------


async def test_a_message_goes_under_our_id(link: Link, script: Scripted) -> None:
    script.replies["send"] = lambda frame: [{"ok": True, "id": frame["id"], "at": 1}]
    receipt = await link.send(
        ID, ANA, "text", {"body": "Hi"}, quote=QuotedRef("3EB0", False, "Hello"), target=QuotedRef("3EB1", True)
    )
    assert receipt == SendAccepted(ID)
    asked = await script.asked("send")
    del asked["ref"]
    assert asked == {
        "op": "send",
        "session": "ch_1",
        "id": ID,
        "to": {"phone": "15550003333"},
        "type": "text",
        "content": {"body": "Hi"},
        "quote": {"id": "3EB0", "from_me": False, "text": "Hello"},
        "target": {"id": "3EB1", "from_me": True},
    }


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"ok": True}, SendAccepted(ID)),
        ({"ok": True, "id": "3EB0"}, SendAccepted("3EB0")),
        ({"error": {"code": 463, "title": "locked"}, "sure": True}, ErrorReaction.HOLD_NEW),
        ({"error": {"code": 404, "title": "nobody"}}, ErrorReaction.FINAL),
        ({"error": {"code": 429, "title": "slow"}, "sure": True}, ErrorReaction.HOLD_CHANNEL),
        ({"error": {"code": 0, "title": "not up"}, "sure": True}, SendNotMade("not up")),
        ({"error": {"code": 0, "title": "lost"}}, SendUnknown("lost")),
        ({"error": {"code": 503, "title": "lost"}, "sure": False}, SendUnknown("lost")),
        ({}, SendUnknown("The driver of the link gave an empty answer.")),
    ],
)
async def test_what_the_driver_may_answer(link: Link, script: Scripted, answer: Any, expected: Any) -> None:
    script.replies["send"] = lambda _: [answer]
    receipt = await link.send(ID, ANA, "text", {"body": "Hi"})
    assert (receipt.reaction if isinstance(receipt, SendRefused) else receipt) == expected


async def test_silence_is_an_unknown_outcome(script: Scripted) -> None:
    script.replies["send"] = lambda _: None
    async with running("socketpair", script, deadlines=Deadlines(send=0.05, call=0.05, transfer=0.05)) as driver:
        link = driver.link("ch_1")
        await link.open("15550002222")
        assert isinstance(await link.send(ID, ANA, "text", {"body": "Hi"}), SendUnknown)
        script.replies["check"] = script.replies["put"] = lambda _: None
        with pytest.raises(CallFailed, match="in time") as failed:
            await link.check(["1"])
        assert failed.value.retry
        with pytest.raises(CallFailed, match="in time"):
            await link.put_media(b"x", "image/png", None)


@pytest.mark.parametrize("over", [0, 1])
async def test_a_frame_has_a_largest_size(link: Link, script: Scripted, over: int) -> None:
    await link.send(ID, ANA, "text", {"body": ""})
    empty = len(msgspec.json.encode(await script.asked("send")))
    receipt = await link.send(ID, ANA, "text", {"body": "x" * (MAX_FRAME - empty + over)})
    assert isinstance(receipt, SendRefused if over else SendAccepted)


async def test_when_the_driver_goes_all_that_is_pending_ends(link: Link, driver: Driver, script: Scripted) -> None:
    script.replies["send"] = script.replies["check"] = lambda _: None
    other = driver.link("ch_2")
    await other.open("15550004444")
    sending = asyncio.create_task(link.send(ID, ANA, "text", {"body": "Hi"}))
    checking = asyncio.create_task(other.check(["1"]))
    await script.asked("send")
    await script.asked("check")
    await script.hang_up()
    assert isinstance(await sending, SendUnknown)
    with pytest.raises(CallFailed, match="was lost"):
        await checking
    for one in (link, other):
        ended = [update async for _, update in one.updates()]
        assert [(news.state, news.reason) for news in ended if isinstance(news, ConnectionUpdate)] == [
            ("disconnected", "driver_gone")
        ]
    assert isinstance(await link.send(ID, ANA, "text", {"body": "Hi"}), SendNotMade)
    with pytest.raises(CallFailed):
        await link.logout()
    await link.ack(1)

    again = driver.link("ch_1")
    await again.open("15550002222")
    assert script.connections == 2


class Tearing(PairWire):
    """A wire that tears while a message is being handed over."""

    handed = False

    async def send(self, frame: bytes) -> None:
        if b'"op":"send"' in frame:
            raise ConnectionLost(sent=self.handed)
        await super().send(frame)


@pytest.mark.parametrize(("handed", "outcome"), [(False, SendNotMade), (True, SendUnknown)])
async def test_a_wire_that_tears_says_whether_the_message_may_be_through(
    script: Scripted, handed: bool, outcome: type
) -> None:
    async def connect() -> Transport:
        wire = await script.pair()
        assert isinstance(wire, PairWire)
        wire.__class__, wire.handed = Tearing, handed  # type: ignore[attr-defined]
        return wire

    driver = Driver(connect)
    await driver.start()
    link = driver.link("ch_1")
    await link.open("15550002222")
    assert isinstance(await link.send(ID, ANA, "text", {"body": "Hi"}), outcome)
    await driver.close()


async def test_a_second_link_of_a_session_takes_it_over(link: Link, driver: Driver) -> None:
    await driver.link("ch_1").open("15550002222")
    ((_, update),) = await taken(link, 1)
    assert isinstance(update, ConnectionUpdate)
    assert update.reason == "driver_gone"


async def test_opening_waits_for_a_driver_only_so_long() -> None:
    async def nobody() -> Any:
        raise OSError("nobody there")

    driver = Driver(nobody, deadlines=HASTY)
    await driver.start()
    with pytest.raises(CallFailed, match="in time"):
        await driver.link("ch_1").open("15550002222")
    assert isinstance(await driver.link("ch_1").send(ID, ANA, "text", {}), SendNotMade)
    await driver.close()


# -- other requests ----------------------------------------------------------------------------------------------------


async def test_the_other_requests(link: Link, script: Scripted) -> None:
    script.replies["pair"] = lambda _: [{"ok": True, "code": "ABCD-EFGH"}]
    script.replies["check"] = lambda _: [{"ok": True, "known": [{"phone": "1", "lid": "9"}]}]
    assert await link.pair("15550002222") == "ABCD-EFGH"
    assert await link.check(["1", "2"]) == [Person(phone="1", lid="9")]
    await link.edit("3EB0", ANA, "text", {"body": "Hi!"})
    await link.delete("3EB0", ANA)
    await link.mark_read(["3EB0"], Person(lid="9"))
    await link.typing(ANA, False)
    await link.logout()
    assert (await script.asked("edit"))["content"] == {"body": "Hi!"}
    assert (await script.asked("delete"))["id"] == "3EB0"
    assert (await script.asked("read"))["from"] == {"lid": "9"}
    assert (await script.asked("typing"))["on"] is False
    await script.asked("logout")
    await link.close()
    await script.asked("close")
    assert [update async for update in link.updates()] == [(None, ConnectionUpdate("logged_out", "logged_out"))]


@pytest.mark.parametrize(("code", "retry"), [(404, False), (429, True), (503, True), (0, True)])
async def test_a_request_that_fails_says_whether_to_ask_again(
    link: Link, script: Scripted, code: int, retry: bool
) -> None:
    script.replies["pair"] = lambda _: [{"error": {"code": code, "title": "no"}}]
    with pytest.raises(CallFailed) as failed:
        await link.pair("15550002222")
    assert (failed.value.retry, failed.value.status) == (retry, code)


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "pieces"), [(0, 1), (1, 1), (MAX_PIECE, 1), (MAX_PIECE + 1, 2), (3 * MAX_PIECE, 3)])
async def test_a_file_goes_in_pieces(link: Link, script: Scripted, size: int, pieces: int) -> None:
    whole = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    script.replies["put"] = lambda frame: [{"ok": True, "handle": "h1"}] if frame["last"] else None
    assert await link.put_media(whole, "image/png", "a.png") == "h1"
    sent = [frame for frame in script.requests if frame["op"] == "put"]
    assert len(sent) == pieces
    assert len({frame["ref"] for frame in sent}) == 1
    assert b"".join(b64decode(frame["data"]) for frame in sent) == whole
    assert (sent[0]["mime"], sent[0]["size"], sent[0]["filename"]) == ("image/png", size, "a.png")


@pytest.mark.parametrize("most", [5, 6])
async def test_a_file_comes_in_pieces_and_not_more_than_asked(link: Link, script: Scripted, most: int) -> None:
    pieces = [b64encode(piece).decode() for piece in (b"abc", b"def")]
    script.replies["get"] = lambda _: [
        {"data": pieces[0], "last": False},
        {"ok": True, "data": pieces[1], "last": True, "mime": "image/png"},
    ]
    if most == 6:
        assert await link.get_media("h1", most) == b"abcdef"
    else:
        with pytest.raises(CallFailed, match="larger than 5"):
            await link.get_media("h1", most)
    assert (await script.asked("get"))["most"] == most


async def test_a_file_that_cannot_be_read_is_a_failure(link: Link, script: Scripted) -> None:
    script.replies["get"] = lambda _: [{"ok": True, "data": "?", "last": True}]
    with pytest.raises(CallFailed, match="cannot be read"):
        await link.get_media("h1", 10)
    script.replies["get"] = lambda _: [{"error": {"code": 410, "title": "gone"}}]
    with pytest.raises(CallFailed, match="gone"):
        await link.get_media("h1", 10)
