"""The engine around a program that does what the test says, where the real library would have to be caught in it."""

import asyncio
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gatepost.networks.qr.phone.by_baileys import news
from gatepost.networks.qr.phone.by_baileys.devices import Devices
from gatepost.networks.qr.phone.by_baileys.engine import Baileys
from gatepost.networks.qr.phone.by_baileys.node import start
from gatepost.networks.qr.phone.engine import Callbacks, Trouble

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
ENDS = """
    if frame.get("op") == "open":
        put(re=frame["n"], ok=None)
        put(news="code", life=frame["life"], code="2@a")
    else:
        sys.exit(1)
"""


class Session:
    """Where news go, and who never has them."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.asked = asyncio.Event()
        self.callbacks = Callbacks(self.events.append, self.events.append, self.events.append, self._told)

    async def _told(self, event: Any) -> None:
        self.asked.set()
        await asyncio.Event().wait()


@pytest.fixture
async def devices(database_url: str) -> AsyncIterator[Devices]:
    one = Devices(database_url, bytes(32))
    yield one
    await one.close()


def engine(script: str, devices: Devices, folder: Path) -> Baileys:
    program = folder / "program.py"
    program.write_text(SCRIPT.format(script.strip()))
    return Baileys(partial(start, (sys.executable, str(program), str(folder / "said"))), devices)


async def test_what_a_link_asked_is_answered_when_it_is_closed(devices: Devices, tmp_path: Path) -> None:
    one, session = engine(ASKS, devices, tmp_path), Session()
    running = asyncio.create_task(one.run("ch_1/1", None, session.callbacks))
    async with asyncio.timeout(20):
        await session.asked.wait()
        await one.stop("ch_1/1")
        assert await running == ""
        while not (tmp_path / "said").exists() or not (tmp_path / "said").read_text():
            await asyncio.sleep(0.01)
    assert (tmp_path / "said").read_text() == "The link is closed."
    await one.stop_all()


async def test_the_end_of_the_program_ends_links_and_requests_and_is_followed_by_another(
    devices: Devices, tmp_path: Path
) -> None:
    one = engine(ENDS, devices, tmp_path)
    for life in ("ch_1/1", "ch_1/2"):
        session = Session()
        running = asyncio.create_task(one.run(life, None, session.callbacks))
        async with asyncio.timeout(20):
            while session.events != ["2@a"]:
                await asyncio.sleep(0.01)
            with pytest.raises(Trouble) as caught:
                await one.phone(life).known(["15550002222"])
            assert caught.value.sure is False
            assert await running == "The program that holds the links ended."
    await one.stop_all()


async def test_devices_are_written_read_and_forgotten(devices: Devices) -> None:
    rows = [("session", "a", "1"), ("session", "b", "2"), ("pre-key", "a", "3")]
    await devices.put("D", [*rows, ("session", "none", None)])
    await devices.put("D", [("session", "a", "4"), ("session", "b", None)])
    await devices.put("E", [("session", "a", "5")])
    assert await devices.get("D", "session", ["a", "b", "c"]) == {"a": "4"}
    assert await devices.get("D", "pre-key", ["a"]) == {"a": "3"}
    await devices.keep("D", "{}")
    assert await devices.credentials("D") == "{}"
    await devices.forget("D")
    assert await devices.credentials("D") is None
    assert await devices.get("E", "session", ["a"]) == {"a": "5"}


@pytest.mark.parametrize(
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
    told = news.closed(code, words)
    assert (told and (told["state"], told["reason"])) == expected


def test_the_brake_on_new_people_is_told_on_and_off() -> None:
    until = 1_763_200_000
    assert news.lock(True, until + 0.5) == {
        "event": "connection",
        "state": "limited",
        "reason": "time_locked",
        "until": until,
    }
    assert news.lock(False, None)["state"] == "connected"
    assert "until" not in news.lock(True, None)


def test_labels_of_groups_and_nameless_people_are_left_out() -> None:
    assert news.labels([{"id": "7", "action": "assigned", "chat": "1-2@g.us"}], 5) == []
    assert news.people([{"jids": ["1@lid"], "name": "", "username": ""}], 5) == []
    assert news.people([{"jids": ["1-2@g.us"], "name": "Group", "username": ""}], 5) == []
    (named,) = news.people([{"jids": ["1@lid"], "name": "", "username": "ada"}], 5)
    assert named["person"] == {"lid": "1", "username": "ada"}
    assert news.receipts([{"id": "A", "chat": "1-2@g.us", "status": "read", "at": 5}]) == []
