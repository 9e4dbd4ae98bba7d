"""The driver itself, over a real socketpair, around a library that does what the test says."""

import asyncio
import hashlib
import socket
import threading
from collections.abc import AsyncIterator
from enum import Enum
from functools import partial
from typing import Any

import pytest

from gatepost.networks.base import (
    CallFailed,
    ConnectionUpdate,
    Incoming,
    Person,
    QuotedRef,
    SendAccepted,
    SendNotMade,
    SendRefused,
    Update,
)
from gatepost.networks.qr import link as link_module
from gatepost.networks.qr.driver import Driver
from gatepost.networks.qr.driver_connection import Transport
from gatepost.networks.qr.line_reader import LineReader
from gatepost.networks.qr.link import Link
from gatepost.networks.qr.phone import session as session_module
from gatepost.networks.qr.phone.by_neonize.calls import NeonizePhone
from gatepost.networks.qr.phone.engine import EngineListener
from gatepost.networks.qr.phone.jids import format_jid, jid
from gatepost.networks.qr.phone.protos import common, e2e, neo
from gatepost.networks.qr.phone.server import Server
from gatepost.networks.qr.phone.translate_link import connection
from tests.networks.qr.file_host import FileHost, file_host, seal
from tests.networks.qr.library_events import SHOP, message, said
from tests.networks.qr.scripted import PairWire
from tests.patience import PATIENCE

ANA = Person(phone="15550003333")
ID = "01999C000000700080000000000000AB"


class Words:
    """The library's enumerations, as far as they are used."""

    ReceiptType = Enum("ReceiptType", {"READ": b"read"})
    ChatPresence = Enum("ChatPresence", {"COMPOSING": 0, "PAUSED": 1})
    ChatPresenceMedia = Enum("ChatPresenceMedia", {"TEXT": 0})
    ClientType = Enum("ClientType", {"CHROME": 1})
    MediaType = Enum("MediaType", {"MediaImage": 0, "MediaVideo": 1, "MediaAudio": 2, "MediaDocument": 3})


class Library:
    """Stands where the native library stands: `run` lasts until `stop`, calls are noted and answered."""

    own_ids = False

    def __init__(self, host: FileHost) -> None:
        self.host = host
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.to: dict[str, EngineListener] = {}
        self.devices: set[str] = set()
        self.failure: Exception | None = None
        self.answers = threading.Event()  # cleared: the network does not answer that somebody types
        self.answers.set()
        self.last_event: Any = None  # reported when a connection is stopped, before it has ended
        self._ends: dict[str, asyncio.Event] = {}
        self._sent = 0
        self.asked_whose = 0

    async def holds(self, device: str) -> bool:
        return device in self.devices

    async def run(self, life: str, device: str | None, to: EngineListener) -> str:
        end = self._ends[life] = asyncio.Event()
        self.to[life.partition("/")[0]] = to
        await end.wait()
        if self.last_event is not None:
            to.event(self.last_event)
        return ""

    async def stop(self, life: str) -> None:
        if life in self._ends:
            self._ends[life].set()

    async def stop_all(self) -> None:
        pass

    def phone(self, _life: str) -> NeonizePhone:
        return NeonizePhone(self, Words, self.host.url)

    def get_me(self) -> Any:
        self.asked_whose += 1
        if self.failure:
            raise self.failure
        return neo.Device(
            JID=SHOP, LID=jid("77", "lid"), Platform="", BussinessName="", PushName="Shop", Initialized=True
        )

    def send_message(self, to: Any, built: Any) -> Any:
        self.calls.append(("send", (format_jid(to), built)))
        if self.failure:
            raise self.failure
        self._sent += 1
        return neo.SendResponse(Timestamp=1_763_200_000, ID=f"3EB0{self._sent}", ServerID=0)

    def is_on_whatsapp(self, *phones: str) -> list[Any]:
        self.calls.append(("check", phones))
        rows = [(phone, phone != "+15550009999") for phone in phones]
        return [
            neo.IsOnWhatsAppResponse(Query=phone, JID=jid(phone[1:], "s.whatsapp.net"), IsIn=found)
            for phone, found in rows
        ]

    def upload(self, content: bytes, kind: Enum) -> Any:
        self.calls.append(("upload", (kind.name, len(content))))
        key = hashlib.sha256(content + kind.name.encode()).digest()
        self.host.files[f"/{key.hex()}"] = seal(content, key, kind.name.removeprefix("Media"))
        sha = hashlib.sha256(content).digest()
        return neo.UploadResponse(
            url="https://mmg.example/f",
            DirectPath=f"/{key.hex()}",
            Handle="",
            MediaKey=key,
            FileEncSHA256=sha,
            FileSHA256=sha,
            FileLength=len(content),
        )

    def mark_read(self, *ids: str, chat: Any, sender: Any, receipt: Enum) -> None:
        self.calls.append(("read", (*ids, format_jid(chat), receipt.name)))

    def send_chat_presence(self, to: Any, state: Enum, media: Enum) -> None:
        self.calls.append(("typing", (format_jid(to), state.name)))
        self.answers.wait(PATIENCE)

    def PairPhone(self, phone: str, _show: bool, client_type: Enum) -> str:
        return "ABCD-EFGH"

    def logout(self) -> None:
        self.calls.append(("logout", ()))

    def decrypt_poll_vote(self, _event: Any) -> Any:
        if self.failure:
            raise self.failure
        return e2e.PollVoteMessage(selectedOptions=[hashlib.sha256(b"Red").digest(), b"?" * 32])

    def built(self) -> Any:
        return [arguments[1] for name, arguments in self.calls if name == "send"][-1]


async def wire_to(library: Library) -> Transport:
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=theirs)

    async def serve() -> None:
        server, lines = Server(library, writer), LineReader()
        while data := await reader.read(1 << 16):
            for line in lines.feed(data):
                server.take(line)
        for session in server._sessions.values():
            await session.stop()
        writer.close()

    return PairWire(*await asyncio.open_connection(sock=ours), asyncio.create_task(serve()))


@pytest.fixture
async def library() -> AsyncIterator[Library]:
    async with file_host() as host:
        yield Library(host)


@pytest.fixture
async def driver(library: Library) -> AsyncIterator[Driver]:
    one = Driver(partial(wire_to, library))
    await one.start()
    yield one
    await one.close()


async def next_update(link: Link) -> tuple[int | None, Update]:
    async with asyncio.timeout(PATIENCE):
        async for numbered in link.updates():
            return numbered
    raise AssertionError("ended")


async def until(link: Link, state: str) -> list[ConnectionUpdate]:
    seen = []
    while True:
        _, update = await next_update(link)
        if isinstance(update, ConnectionUpdate):
            seen.append(update)
            if update.state == state:
                return seen


async def opened(library: Library) -> EngineListener:
    async with asyncio.timeout(PATIENCE):
        while "ch_1" not in library.to:
            await asyncio.sleep(0.001)
    return library.to["ch_1"]


@pytest.fixture
async def link(driver: Driver, library: Library) -> Link:
    one = driver.link("ch_1")
    await one.open("15550002222")
    (await opened(library)).event(neo.Connected(status=True))
    await until(one, "connected")
    return one


async def test_from_the_first_code_to_a_linked_phone(driver: Driver, library: Library) -> None:
    link = driver.link("ch_1")
    await link.open("15550002222")
    to = await opened(library)
    to.code("2@a")
    to.code("2@b")
    to.login("success")
    to.event(neo.PairStatus(ID=SHOP, BusinessName="", Platform="", Status=neo.PairStatus.SUCCESS))
    to.event(neo.Connected(status=True))
    seen = await until(link, "connected")
    assert [(one.state, one.reason, one.qr, one.qr_seconds, one.lid) for one in seen] == [
        ("connecting", "started", None, None, None),
        ("waiting_for_scan", "started", None, None, None),
        ("waiting_for_scan", None, "2@a", 60, None),
        ("waiting_for_scan", "started", None, None, None),
        ("waiting_for_scan", None, "2@b", 20, None),
        ("connecting", "linked", None, None, None),
        ("connecting", "linked", None, None, "77"),
        ("connected", "linked", None, None, None),
    ]
    assert link.device == "15550002222:7@s.whatsapp.net"
    assert await link.pair("15550002222") == "ABCD-EFGH"


async def test_a_link_is_connected_although_the_library_does_not_say_whose_it_is(
    driver: Driver, library: Library
) -> None:
    library.failure = RuntimeError("database is locked")
    link = driver.link("ch_1")
    await link.open("15550002222")
    (await opened(library)).event(neo.Connected(status=True))
    await until(link, "connected")


async def test_codes_that_nobody_scans_end_the_session(driver: Driver, library: Library) -> None:
    link = driver.link("ch_1")
    await link.open("15550002222")
    to = await opened(library)
    to.code("2@a")
    to.login("timeout")
    assert (await until(link, "disconnected"))[-1].reason == "scan_expired"
    del library.to["ch_1"]
    await asyncio.sleep(0.05)
    await link.open("15550002222")  # and somebody asks for new ones
    (await opened(library)).code("2@c")
    assert [one.qr for one in await until(link, "waiting_for_scan")][-1] is None


async def test_a_message_and_its_resend(link: Link, library: Library) -> None:
    first = await link.send(ID, ANA, "text", {"body": "Hi"}, quote=QuotedRef("3EB0Q", True, "Hello"))
    assert first == await link.send(ID, ANA, "text", {"body": "Hi"}) == SendAccepted("3EB01")
    assert [name for name, _ in library.calls] == ["check", "send"]
    assert library.built().extendedTextMessage.contextInfo.participant == "15550002222@s.whatsapp.net"
    assert await link.send(ID[:-1] + "C", ANA, "text", {"body": "Hi"}) == SendAccepted("3EB02")
    assert [name for name, _ in library.calls].count("check") == 1
    assert await link.send(ID[:-1] + "D", Person(lid="77"), "text", {"body": "Hi"}) == SendAccepted("3EB03")
    assert library.calls[-1][1][0] == "77@lid"


async def test_a_link_whose_calls_get_no_answer_does_not_block_another(
    link: Link, driver: Driver, library: Library
) -> None:
    other = driver.link("ch_2")
    await other.open("15550004444")
    library.to["ch_2"].event(neo.Connected(status=True))
    await until(other, "connected")
    library.answers.clear()
    waiting = asyncio.gather(*(link.typing(ANA, True) for _ in range(300)))
    try:
        assert await other.send(ID, ANA, "text", {"body": "Hi"}) == SendAccepted("3EB01")
        vote = e2e.PollUpdateMessage(pollCreationMessageKey=common.MessageKey(ID="3EB0P"))
        library.to["ch_1"].event(message(said(pollUpdateMessage=vote)))
        _, update = await next_update(link)  # decrypting it needs no answer
        assert isinstance(update, Incoming)
        assert not waiting.done()
    finally:
        library.answers.set()
    await waiting


async def test_refusals_can_be_tried_again(link: Link, library: Library) -> None:
    assert isinstance(refused := await link.send(ID, Person(phone="15550009999"), "text", {"body": "x"}), SendRefused)
    assert refused.error.code == 404
    library.failure = RuntimeError("server returned error 463")
    assert isinstance(refused := await link.send(ID, ANA, "text", {"body": "x"}), SendRefused)
    assert refused.error.code == 463
    library.failure = None
    assert await link.send(ID, ANA, "text", {"body": "x"}) == SendAccepted("3EB01")
    assert isinstance(refused := await link.send(ID[::-1], ANA, "buttons", {}), SendRefused)
    assert refused.error.code == 400


async def test_nothing_is_asked_of_a_library_that_is_not_connected(driver: Driver, library: Library) -> None:
    link = driver.link("ch_1")
    await link.open("15550002222")
    for call in (
        link.check(["1"]),
        link.logout(),
        link.mark_read(["A"], ANA),
        link.typing(ANA, True),
        link.put_media(b"x", "image/png", None),
        link.get_media("m1.x", 10),
        link.delete("A", ANA),
    ):
        with pytest.raises(CallFailed, match="not connected"):
            await call
    assert isinstance(await link.send(ID, ANA, "text", {"body": "x"}), SendNotMade)
    assert library.calls == []


async def test_the_other_requests(link: Link, library: Library) -> None:
    assert await link.check(["15550003333", "15550009999"]) == [ANA]
    await link.edit("3EB0", ANA, "text", {"body": "Hi!"})
    assert library.built().editedMessage.message.protocolMessage.key.ID == "3EB0"
    await link.delete("3EB0", ANA)
    assert library.built().protocolMessage.type == e2e.ProtocolMessage.REVOKE
    await link.mark_read(["A", "B"], ANA)
    assert ("read", ("A", "B", "15550003333@s.whatsapp.net", "READ")) in library.calls
    await link.typing(ANA, False)
    assert ("typing", ("15550003333@s.whatsapp.net", "PAUSED")) in library.calls


async def test_a_logout_ends_the_session_of_a_library_that_does_not_report_it(
    link: Link, driver: Driver, library: Library
) -> None:
    await link.logout()
    assert ("logout", ()) in library.calls
    assert await until(link, "logged_out")
    del library.to["ch_1"]
    await driver.link("ch_1").open("15550002222")
    await opened(library)  # by a new session: the last one has ended


async def test_a_limited_link_still_sends_and_is_logged_out(link: Link, library: Library) -> None:
    library.to["ch_1"].event([connection("limited", "time_locked")])
    await until(link, "limited")
    assert await link.send(ID, ANA, "text", {"body": "x"}) == SendAccepted("3EB01")
    await link.logout()
    assert ("logout", ()) in library.calls


async def test_files_there_and_back(link: Link, library: Library) -> None:
    whole = bytes(range(256)) * 1500
    handle = await link.put_media(whole, "image/png", "a.png")
    assert library.calls[-1] == ("upload", ("MediaImage", len(whole)))
    assert await link.get_media(handle, len(whole)) == whole
    with pytest.raises(CallFailed, match="Not supported"):
        await link.get_media(handle, len(whole) - 1)
    with pytest.raises(CallFailed):
        await link.get_media("other", 10)
    assert await link.send(ID, ANA, "image", {"media": {"handle": handle}}) == SendAccepted("3EB01")
    assert library.built().imageMessage.fileLength == len(whole)
    await link.send(ID[::-1], ANA, "document", {"media": {"handle": handle}, "filename": "a.png"})
    assert ("upload", ("MediaDocument", len(whole))) in library.calls
    assert library.built().documentMessage.fileName == "a.png"


async def test_messages_are_said_again_until_they_are_acknowledged(
    link: Link, driver: Driver, library: Library
) -> None:
    for text in ("one", "two"):
        library.to["ch_1"].event(message(said(conversation=text)))
    (first, _), (second, _) = await next_update(link), await next_update(link)
    assert first is not None
    assert second == first + 1
    await link.ack(first)
    again = driver.link("ch_1")
    await again.open("15550002222")
    assert (await until(again, "connected"))[-1].reason == "linked"
    seq, update = await next_update(again)
    assert isinstance(update, Incoming)
    assert (seq, update.content) == (second, '{"body":"two"}')


async def test_no_more_is_written_ahead_than_the_gateway_takes(
    link: Link, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A phone may send the names of all its contacts at once, and the gateway stores them one after the other."""
    monkeypatch.setattr(link_module, "MAX_WAITING", 30)
    monkeypatch.setattr(session_module, "_AHEAD", 20)
    ids = [f"M{number}" for number in range(100)]
    for id_ in ids:
        library.to["ch_1"].event(message(said(conversation="x"), id_=id_))
    assert await link.check(["15550003333"])  # everything before it was read
    seen = []
    for _ in ids:
        seq, update = await next_update(link)
        assert isinstance(update, Incoming), update
        assert seq is not None
        seen.append(update.network_id)
        await link.ack(seq)
    assert seen == ids


async def test_what_is_not_written_yet_comes_before_the_final_state(
    link: Link, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "_AHEAD", 2)
    ids = [f"M{number}" for number in range(5)]
    for id_ in ids:
        library.to["ch_1"].event(message(said(conversation="x"), id_=id_))
    library.to["ch_1"].event(neo.StreamReplaced())
    updates = [(await next_update(link))[1] for _ in range(6)]
    assert [one.network_id for one in updates if isinstance(one, Incoming)] == ids
    assert getattr(updates[-1], "reason", "") == "replaced"


async def test_what_was_stored_after_the_end_of_a_link_is_not_said_again(
    link: Link, driver: Driver, library: Library
) -> None:
    for number in range(3):
        library.to["ch_1"].event(message(said(conversation="x"), id_=f"M{number}"))
    numbers = [(await next_update(link))[0] for _ in range(3)]
    await link.close()
    await link.ack(numbers[1] or 0)
    again = driver.link("ch_1")
    await again.open("15550002222")
    (await opened(library)).event(neo.Connected(status=True))
    seen = [(await next_update(again))[1] for _ in range(2)]
    assert [one.network_id for one in seen if isinstance(one, Incoming)] == ["M2"]


async def test_a_phone_that_is_linked_while_its_code_is_withdrawn_is_known(driver: Driver, library: Library) -> None:
    link = driver.link("ch_1")
    await link.open("15550002222")
    (await opened(library)).code("2@a")
    await until(link, "waiting_for_scan")
    library.last_event = neo.PairStatus(ID=SHOP, BusinessName="", Platform="", Status=neo.PairStatus.SUCCESS)
    await link.close()
    assert link.device == "15550002222:7@s.whatsapp.net"


async def test_a_link_that_connects_while_it_is_closed_is_not_asked_whose_it_is(
    driver: Driver, library: Library
) -> None:
    """This call ends the process, and with it all links, if the library has closed the connection."""
    link = driver.link("ch_1")
    await link.open("15550002222")
    await opened(library)
    library.last_event = neo.Connected(status=True)
    await link.close()
    assert library.asked_whose == 0


async def test_an_event_that_cannot_be_encoded_blocks_no_other(link: Link, library: Library) -> None:
    library.to["ch_1"].event(object())
    library.to["ch_1"].event(neo.PairStatus())
    library.to["ch_1"].event(message(said(conversation="after")))
    while not isinstance(update := (await next_update(link))[1], Incoming):
        pass
    assert update.content == '{"body":"after"}'


async def test_votes_are_decrypted_and_named_where_the_poll_is_known(link: Link, library: Library) -> None:
    poll = {"poll": {"question": "Colour?", "options": ["Red", "Blue"], "multiple": False}}
    assert await link.send(ID, ANA, "poll", poll) == SendAccepted("3EB01")
    key = common.MessageKey(remoteJID="x", fromMe=True, ID="3EB01")
    vote = message(said(pollUpdateMessage=e2e.PollUpdateMessage(pollCreationMessageKey=key)))
    library.to["ch_1"].event(vote)
    _, update = await next_update(link)
    assert isinstance(update, Incoming)
    assert '"options":["Red"]' in update.content
    assert update.target == "3EB01"
    library.failure = RuntimeError("no secret")
    library.to["ch_1"].event(vote)
    _, update = await next_update(link)
    assert isinstance(update, Incoming)
    assert '"sealed":true' in update.content


@pytest.mark.parametrize(
    "event",
    [neo.LoggedOut(OnConnect=False, Reason=neo.LOGGED_OUT), neo.StreamReplaced()],
    ids=["logged out", "replaced"],
)
async def test_after_a_final_state_the_link_is_opened_again(link: Link, library: Library, event: Any) -> None:
    library.devices.add("15550002222:7@s.whatsapp.net")
    before = library.to.pop("ch_1")
    before.event(event)
    news = await next_update(link)
    assert getattr(news[1], "state", "") in ("logged_out", "disconnected")
    assert (link.device is None) is (link.state == "logged_out")
    await link.open("15550002222", link.device)
    (await opened(library)).event(neo.Connected(status=True))
    assert (await until(link, "connected"))[0].reason == "started"


async def test_a_final_state_is_not_taken_back(link: Link, library: Library) -> None:
    library.to["ch_1"].event(neo.StreamReplaced())
    library.to["ch_1"].event(neo.Disconnected(status=True))
    library.to["ch_1"].event(message(said(conversation="x")))
    assert getattr((await next_update(link))[1], "reason", "") == "replaced"
    assert isinstance((await next_update(link))[1], Incoming)


async def test_a_session_that_is_closed_is_stopped_and_gone(link: Link, driver: Driver, library: Library) -> None:
    await link.close()
    again = driver.link("ch_2")
    await again.open("15550002222", "15550002222:7@s.whatsapp.net")
    assert (await until(again, "logged_out"))[-1].details == "The store no longer has this device."
    assert isinstance(await again.send(ID, ANA, "text", {"body": "x"}), SendNotMade)
