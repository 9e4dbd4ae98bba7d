"""The engine around a program that does what the test says, where the real library would have to be caught in it."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any, cast

import msgspec
import psutil
import pytest

from gatepost.networks.qr.child_driver import PROGRAM, spawn
from gatepost.networks.qr.frames import MAX_FRAME
from gatepost.networks.qr.phone.by_baileys import events
from gatepost.networks.qr.phone.by_baileys.devices import DeviceStore
from gatepost.networks.qr.phone.by_baileys.engine import Baileys
from gatepost.networks.qr.phone.by_baileys.node import start
from gatepost.networks.qr.phone.by_baileys.scratch import Scratch
from gatepost.networks.qr.phone.engine import EngineError, EngineListener
from gatepost.networks.qr.phone.frame_size import FrameTooLarge, fit_frame
from gatepost.networks.qr.phone.jids import format_jid
from gatepost.networks.qr.phone.server import Server
from gatepost.networks.qr.phone.wire import RequestRefused
from tests.for_each import for_each
from tests.patience import PATIENCE

SCRIPT = """
import json, socket, sys
wire = socket.socket(fileno=int(sys.argv[-1]))
def put(**frame): wire.sendall(json.dumps(frame).encode() + b"\\n")
for line in wire.makefile("r"):
    frame = json.loads(line)
    {}
"""
# Asks while the link is open, closes it without waiting, and tells what became of the question.
ASKS = """
    if frame.get("op") == "open":
        put(re=frame["n"], ok=None)
        put(q=1, ask="message", life=frame["life"], id="A", chat="1@lid", from_me=False, sender="1@lid",
            sender_alt=None, recipient_alt=None, at=1, name="", message="")
    elif frame.get("op") == "close":
        put(re=frame["n"], ok=None)
    elif "a" in frame:
        open(sys.argv[-2], "w").write(frame["error"])
"""
# Brings a message and receipts of somebody who cannot be, and tells what became of them.
SENSELESS = """
    if frame.get("op") == "open":
        put(re=frame["n"], ok=None)
        put(q=1, ask="message", life=frame["life"], id="A", chat="1:99999999999@lid", from_me=False, sender="1@lid",
            sender_alt=None, recipient_alt=None, at=1, name="", message="")
        put(q=2, ask="receipts", life=frame["life"], list=[dict(id="A", chat=None, status="read", at=1)])
    elif frame.get("op") == "close":
        put(re=frame["n"], ok=None)
    elif "a" in frame:
        open(sys.argv[-2], "a").write("confirmed " if "ok" in frame else "refused ")
        put(update="code", life="ch_1/1", code=str(frame["a"]))
"""
ENDS = """
    if frame.get("op") == "open":
        put(re=frame["n"], ok=None)
        put(update="code", life=frame["life"], code="2@a")
    else:
        sys.exit(1)
"""
# Links a phone while it is being closed, and says more.
LINKS = """
    if frame.get("op") == "open":
        put(re=frame["n"], ok=None)
        put(update="code", life=frame["life"], code="2@a")
    elif frame.get("op") == "close":
        put(update="paired", life=frame["life"], device="15550002222:7@s.whatsapp.net")
        put(update="open", life=frame["life"])
        put(re=frame["n"], ok=None)
"""

# Says what cannot be read and what makes no sense, then something that does; notes what it is asked to do.
TALKS = """
    open(sys.argv[-2], "a").write(frame.get("op", "") + " ")
    put(re=frame["n"], ok=None)
    if frame.get("op") == "open":
        life = frame["life"]
        wire.sendall(b'{"update": \\xff\\n[]\\n{}\\n')
        wire.sendall(b'{"update": "people", "life": "%s", "list": [null]}\\n' % life.encode())
        wire.sendall(b'{"update": "people", "life": "%s", "list": [{"jids": ["1@lid"], "name": "a\\\\ud800",'
                     b' "username": ""}]}\\n' % life.encode())
        put(update="closed", life=life, code=428, words="Connection Terminated")
"""
# Neither answers nor heeds the end of its socket.
DEAF = """
    import time
    time.sleep(600)
"""


class Session:
    """Collects updates."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.asked = asyncio.Event()
        self.callbacks = EngineListener(self.events.append, self.events.append, self.events.append, self._told)

    async def _told(self, event: Any) -> None:
        self.asked.set()
        await asyncio.Event().wait()


@pytest.fixture
async def devices(database_url: str) -> AsyncIterator[DeviceStore]:
    one = DeviceStore(database_url, bytes(32))
    yield one
    await one.close()


def engine(script: str, devices: DeviceStore, folder: Path) -> Baileys:
    program = folder / "program.py"
    program.write_text(SCRIPT.format(script.strip()))
    return Baileys(partial(start, (sys.executable, str(program), str(folder / "said"))), devices)


async def test_a_phone_that_is_linked_while_its_link_is_closed_is_reported(
    devices: DeviceStore, tmp_path: Path
) -> None:
    one, session = engine(LINKS, devices, tmp_path), Session()
    running = asyncio.create_task(one.run("ch_1/1", None, session.callbacks))
    async with asyncio.timeout(PATIENCE):
        while not session.events:
            await asyncio.sleep(0.005)
        await one.stop("ch_1/1")
        assert await running == ""
    await one.stop_all()
    code, paired = session.events
    assert (code, format_jid(paired.ID)) == ("2@a", "15550002222:7@s.whatsapp.net")


async def test_what_a_link_asked_is_answered_when_it_is_closed(devices: DeviceStore, tmp_path: Path) -> None:
    one, session = engine(ASKS, devices, tmp_path), Session()
    running = asyncio.create_task(one.run("ch_1/1", None, session.callbacks))
    async with asyncio.timeout(PATIENCE):
        await session.asked.wait()
        await one.stop("ch_1/1")
        assert await running == ""
        while not (tmp_path / "said").exists() or not (tmp_path / "said").read_text():
            await asyncio.sleep(0.01)
    assert (tmp_path / "said").read_text() == "The link is closed."
    await one.stop_all()


async def test_the_end_of_the_program_ends_links_and_requests_and_is_followed_by_another(
    devices: DeviceStore, tmp_path: Path
) -> None:
    one = engine(ENDS, devices, tmp_path)
    for life in ("ch_1/1", "ch_1/2"):
        session = Session()
        running = asyncio.create_task(one.run(life, None, session.callbacks))
        async with asyncio.timeout(PATIENCE):
            while session.events != ["2@a"]:
                await asyncio.sleep(0.01)
            with pytest.raises(EngineError) as caught:
                await one.phone(life).known(["15550002222"])
            assert caught.value.sure is False
            assert await running == "The program that holds the links ended."
    await one.stop_all()


async def test_updates_that_cannot_be_read_block_no_other_and_a_link_that_ended_is_closed(
    devices: DeviceStore, tmp_path: Path
) -> None:
    one, session = engine(TALKS, devices, tmp_path), Session()
    async with asyncio.timeout(PATIENCE):
        ended = await one.run("ch_1/1", None, session.callbacks)
    assert isinstance(ended, dict)
    assert (ended["state"], ended["reason"]) == ("disconnected", "network_gone")
    ((named,),) = session.events
    assert named["person"] == {"lid": "1", "name": "a\ufffd"}
    assert (tmp_path / "said").read_text() == "open close "
    await one.stop_all()


async def test_what_makes_no_sense_is_confirmed_or_it_would_come_for_ever(devices: DeviceStore, tmp_path: Path) -> None:
    one, session = engine(SENSELESS, devices, tmp_path), Session()
    told: list[Any] = []

    async def keep(event: Any) -> None:
        told.append(event)

    callbacks = msgspec.structs.replace(session.callbacks, store=keep)
    running = asyncio.create_task(one.run("ch_1/1", None, callbacks))
    async with asyncio.timeout(PATIENCE):
        while len(session.events) < 2:
            await asyncio.sleep(0.01)
        await one.stop("ch_1/1")
        await running
    assert (told, (tmp_path / "said").read_text()) == ([[], []], "confirmed confirmed ")
    await one.stop_all()


async def test_a_link_that_is_stopped_before_it_was_opened_is_never_opened(
    devices: DeviceStore, tmp_path: Path
) -> None:
    one, session = engine(TALKS, devices, tmp_path), Session()
    running = asyncio.create_task(one.run("ch_1/1", None, session.callbacks))
    await asyncio.sleep(0)  # it asks the store by now
    async with asyncio.timeout(PATIENCE):
        await one.stop("ch_1/1")
        assert await running == ""
    await one.stop_all()
    assert not (tmp_path / "said").exists()


async def test_a_program_that_is_deaf_is_ended(devices: DeviceStore, tmp_path: Path) -> None:
    one, session = engine(DEAF, devices, tmp_path), Session()
    running = asyncio.create_task(one.run("ch_1/1", None, session.callbacks))
    async with asyncio.timeout(PATIENCE):
        node = await one.node()
        await node.watch(every=0.01, within=0.1)
        with pytest.raises(EngineError):
            await running
        assert node.gone.is_set()

        second = await one.node()
        asked = [second.ask("open", f"ch_1/{n}", creds="x" * (1 << 22)) for n in (2, 3)]  # more than a socket holds
        asking = asyncio.gather(*asked, return_exceptions=True)
        await asyncio.sleep(0)
        await one.stop_all()
        assert [type(answer) for answer in await asking] == [EngineError, EngineError]
    assert [psutil.pid_exists(pid) for pid in (node.pid, second.pid)] == [False, False]


async def test_a_library_that_never_comes_to_connect_is_not_waited_for(devices: DeviceStore, tmp_path: Path) -> None:
    one, session = engine('put(re=frame["n"], ok=None)', devices, tmp_path), Session()
    one.patience = 0.05
    async with asyncio.timeout(PATIENCE):
        told = await one.run("ch_1/1", None, session.callbacks)
    assert isinstance(told, dict)
    assert (told["state"], told["reason"]) == ("disconnected", "network_gone")
    await one.stop_all()


async def test_devices_are_written_read_and_forgotten(devices: DeviceStore) -> None:
    rows = [("session", "a", "1"), ("session", "b", "2"), ("pre-key", "a", "3")]
    await devices.put("D", [*rows, ("session", "none", None)])
    await devices.put("D", [("session", "a", "4"), ("session", "b", None)])
    await devices.put("E", [("session", "a", "5")])
    assert await devices.get("D", "session", ["a", "b", "c"]) == {"a": "4"}
    assert await devices.get("D", "pre-key", ["a"]) == {"a": "3"}
    await devices.put("D", [("sent", "01A", "old"), ("sent", "01B", "new"), ("session", "01A", "6")])
    await devices.forget_sent("D", "01B")
    assert await devices.get("D", "sent", ["01A", "01B"]) == {"01B": "new"}
    assert await devices.get("D", "session", ["01A"]) == {"01A": "6"}
    await devices.keep("D", "{}")
    assert await devices.credentials("D") == "{}"
    await devices.forget("D")
    assert await devices.credentials("D") is None
    assert await devices.get("E", "session", ["a"]) == {"a": "5"}


@for_each(
    ("code", "words", "expected"),
    [
        (408, "QR refs attempts ended", None),
        (408, "WebSocket Error (connect ECONNREFUSED)", ("disconnected", "network_gone")),
        (428, "Connection Terminated", ("disconnected", "network_gone")),
        (0, "", ("disconnected", "network_gone")),
        (440, "Stream Errored (conflict)", ("disconnected", "replaced")),
        (401, "Stream Errored (conflict)", ("logged_out", "logged_out")),
        (411, "Multi-device beta not joined", ("disconnected", "pair_failed")),
        (500, "Stream Errored (unknown)", ("disconnected", "stream_error")),
        (401, "Connection Failure", ("logged_out", "logged_out")),
        (403, "Connection Failure", ("logged_out", "logged_out")),
        (402, "Connection Failure", ("banned", "banned")),
        (406, "Connection Failure", ("banned", "banned")),
        (405, "Connection Failure", ("disconnected", "outdated_client")),
        (409, "Connection Failure", ("disconnected", "outdated_client")),
        (418, "Connection Failure", ("disconnected", "stream_error")),
        (503, "Connection Failure", ("disconnected", "stream_error")),
    ],
)
def test_every_end_has_its_state_and_reason(code: int, words: str, expected: tuple[str, str] | None) -> None:
    told = events.closed(code, words)
    assert (told and (told["state"], told["reason"])) == expected


def test_the_limit_on_new_people_is_reported_on_and_off() -> None:
    until = 1_763_200_000
    assert events.lock(True, until + 0.5) == {
        "event": "connection",
        "state": "limited",
        "reason": "time_locked",
        "until": until,
    }
    assert events.lock(False, None)["state"] == "connected"
    assert "until" not in events.lock(True, None)


def test_labels_of_groups_and_nameless_people_are_left_out() -> None:
    assert events.labels([{"id": "7", "action": "assigned", "chat": "1-2@g.us"}], 5) == []
    assert events.people([{"jids": ["1@lid"], "name": "", "username": ""}], 5) == []
    assert events.people([{"jids": ["1-2@g.us"], "name": "Group", "username": ""}], 5) == []
    (named,) = events.people([{"jids": ["1@lid"], "name": "", "username": "ada"}], 5)
    assert named["person"] == {"lid": "1", "username": "ada"}
    assert events.receipts([{"id": "A", "chat": "1-2@g.us", "status": "read", "at": 5}]) == []


def test_an_order_whose_prices_are_not_shown_keeps_its_lines() -> None:
    tea = {"id": "tea", "quantity": 2, "price": 1500, "currency": "USD"}
    assert events.order_lines({"products": [tea, {"id": "cup", "quantity": 1, "price": None}]}) == [
        {"retailer_id": "tea", "quantity": 2, "price": "1.50", "currency": "USD"},
        {"retailer_id": "cup", "quantity": 1},
    ]


def frame_of(length: int) -> dict[str, Any]:
    """A message whose frame has exactly so many bytes."""
    frame = {"event": "message", "session": "s", "seq": 1, "id": "A", "from": {"lid": "1"}, "at": 1, "type": "text"}
    empty = frame | {"content": {"body": ""}}
    return frame | {"content": {"body": "x" * (length - len(msgspec.json.encode(empty)))}}


def test_a_frame_is_carried_up_to_the_limit_and_cut_above() -> None:
    assert fit_frame(frame_of(MAX_FRAME)) == frame_of(MAX_FRAME)
    cut = fit_frame(frame_of(MAX_FRAME + 1))
    assert (cut["type"], cut["id"], cut["seq"], cut["from"]) == ("unsupported", "A", 1, {"lid": "1"})
    assert len(fit_frame(frame_of(200) | {"from": {"name": "x" * MAX_FRAME}})["from"]["name"]) == 200


def test_a_frame_that_no_gateway_reads_is_not_waited_for() -> None:
    seen = {"event": "receipt", "session": "s", "ids": ["A"], "status": "read", "at": 1}
    assert fit_frame(seen) == seen
    named = {"event": "contact", "session": "s", "person": {"lid": "1", "name": "x" * MAX_FRAME}, "at": 1}
    for wrong in (named, seen | {"at": None}, seen | {"event": "gossip"}):
        with pytest.raises(FrameTooLarge):
            fit_frame(wrong)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"GATEPOST_QR_ENGINE": "bayleys"}, 'There is no engine "bayleys"'),
        ({"GATEPOST_QR_STORE": "devices.db"}, "stores devices in PostgreSQL"),
        ({"GATEPOST_QR_KEY": ""}, "the gateway's key"),
        ({"GATEPOST_QR_KEY": "AAAA"}, "the gateway's key"),
    ],
    ids=["engine", "store", "no key", "short key"],
)
async def test_an_invalid_setting_is_reported_when_a_link_is_opened(given: dict[str, str], says: str) -> None:
    right = {"GATEPOST_QR_ENGINE": "baileys", "GATEPOST_QR_STORE": "postgresql://127.0.0.1:1/x"}
    wire = await spawn(PROGRAM, {"PATH": os.environ["PATH"], "GATEPOST_QR_KEY": "A" * 43 + "="} | right | given)
    await wire.send(b'{"op": "open", "ref": 1, "session": "s", "phone": "1"}')
    async with asyncio.timeout(PATIENCE):
        async for line in wire.frames():
            told = msgspec.json.decode(line)
            break
    await wire.close()
    assert told["reason"] == "could_not_load"
    assert says in told["details"]


def test_files_that_a_killed_process_left_are_swept_and_those_in_use_are_not(tmp_path: Path) -> None:
    left = tmp_path / "gatepost-qr-left"
    left.mkdir()
    (left / "file").write_text("somebody's picture")
    (tmp_path / "another").mkdir()
    first = Scratch(tmp_path)
    second = Scratch(tmp_path)
    assert {one.name for one in tmp_path.iterdir()} == {"another", first.folder.name, second.folder.name}
    assert first.folder.stat().st_mode & 0o777 == 0o700
    first.remove()
    second.remove()
    assert [one.name for one in tmp_path.iterdir()] == ["another"]


async def test_a_file_for_a_link_that_is_not_open_is_not_kept() -> None:
    server = Server(cast("Any", None), cast("Any", None))  # neither is asked
    piece = {"ref": 1, "session": "ch_1", "mime": "image/png", "data": "AAAA", "size": 3, "last": True}
    assert server.begin("put", piece)
    with pytest.raises(RequestRefused):
        await server.do("put", piece)
    assert server._files == {}


async def test_a_file_that_breaks_off_is_kept_no_longer_than_its_link() -> None:
    server = Server(cast("Any", None), cast("Any", None))
    piece = {"mime": "image/png", "data": "AAAA", "size": 9, "last": False}
    for ref, session in enumerate(("ch_1", "ch_2", "ch_1")):
        assert not server.begin("put", {**piece, "ref": ref, "session": session})
    await server.do("close", {"session": "ch_1"})
    assert list(server._files) == [("ch_2", 1)]
