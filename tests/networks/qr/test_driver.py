"""How a driver is kept going, and a child that dies by force."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

import psutil
import pytest
import structlog
import uvloop
from structlog.testing import LogCapture

from gatepost.background import Loop
from gatepost.networks.base import CallFailed, ConnectionUpdate, Person, SendUnknown
from gatepost.networks.qr import child_driver
from gatepost.networks.qr.child_driver import ChildDriver, Devices
from gatepost.networks.qr.driver import Driver, DriverTimeouts, next_wait
from gatepost.networks.qr.driver_connection import Transport
from gatepost.networks.qr.frames import Event
from gatepost.networks.qr.link import Deadlines, Link
from gatepost.networks.qr.websocket_driver import WebSocketDriver
from tests.for_each import for_each
from tests.networks.qr.scripted import Scripted, running
from tests.patience import PATIENCE, patience

HEALTH = DriverTimeouts()
ID = "01999C000000700080000000000000AB"

# A child that opens links, takes sends and checks without a word, and prints what it has to say.
CHILD = """
import json, socket, sys
wire = socket.socket(fileno=int(sys.argv[-1]))
print("hello from the child", flush=True)
print("x" * 5000, file=sys.stderr, flush=True)
for line in wire.makefile():
    frame = json.loads(line)
    if frame["op"] == "open":
        wire.sendall(json.dumps({"re": frame["ref"], "ok": True}).encode() + b"\\n")
    elif frame["op"] == "send":
        wire.sendall(json.dumps({"event": "qr", "session": frame["session"], "code": "taken"}).encode() + b"\\n")
"""


@for_each(
    ("last", "lived", "wait"),
    [(None, 0, 1), (1, 0, 2), (2, 59.9, 4), (16, 0, 32), (32, 0, 60), (60, 0, 60), (60, 60, 1), (8, 60, 1)],
)
def test_waits_double_up_to_a_minute_and_restart_after_a_healthy_connection(
    last: float | None, lived: float, wait: float
) -> None:
    assert next_wait(last, lived, HEALTH) == wait


class Waits:
    """Counts waits instead of waiting, and lets only so many pass."""

    def __init__(self, most: int) -> None:
        self.asked: list[float] = []
        self.enough = asyncio.Event()
        self._most = most

    async def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)
        if len(self.asked) >= self._most:
            self.enough.set()
            await asyncio.Event().wait()


async def test_a_driver_that_is_not_there_is_asked_ever_less_often() -> None:
    waits = Waits(9)
    driver = WebSocketDriver("ws://127.0.0.1:1/qr/link", sleep=waits)
    await driver.start()
    async with asyncio.timeout(PATIENCE):
        await waits.enough.wait()
    assert waits.asked == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    await driver.close()


async def test_a_driver_that_answers_no_ping_is_connected_again() -> None:
    script = Scripted()
    script.replies["ping"] = lambda _: None if script.connections == 1 else [{"ok": True}]
    health = DriverTimeouts(first_wait=0.01, ping_every=0.02, ping_within=0.02)
    async with running("socketpair", script, health=health) as driver:
        link = driver.link("ch_1")
        await link.open("15550002222")
        news = [update async for _, update in link.updates()]
        assert [one.reason for one in news if isinstance(one, ConnectionUpdate)] == ["driver_gone"]
        again = driver.link("ch_1")
        await again.open("15550002222")
        await script.asked("ping", 4)
        assert script.connections == 2


async def test_a_driver_is_connected_again_after_an_error_of_our_own() -> None:
    script, tries = Scripted(), 0

    async def connect() -> Transport:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise KeyError("something that nobody has thought of")
        return await script.pair()

    driver = Driver(connect, start_loop=partial(Loop, first_wait=0.001))
    await driver.start()
    await driver.link("ch_1").open("15550002222")
    assert tries == 2
    await driver.close()


class Allergic(Link):
    """A link that cannot take what its driver says."""

    def take(self, event: Event) -> None:
        raise KeyError(event)


async def test_an_update_that_one_link_rejects_does_not_end_the_others() -> None:
    script = Scripted()
    async with running("socketpair", script) as driver:
        bad, good = Allergic("ch_1", driver.connection, Deadlines()), driver.link("ch_2")
        await bad.open("15550002222")
        await good.open("15550004444")
        for session in ("ch_1", "ch_2"):
            await script.say({"event": "qr", "session": session, "code": "taken"})
        async with asyncio.timeout(PATIENCE):
            async for _, update in good.updates():
                assert getattr(update, "qr", None) == "taken"
                break
            news = [update async for _, update in bad.updates()]
        assert [getattr(update, "reason", None) for update in news] == ["driver_gone"]
        assert script.connections == 1


@pytest.fixture
def program(tmp_path: Path) -> tuple[str, str]:
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    return sys.executable, str(script)


async def test_a_child_that_is_killed_ends_what_is_pending_and_comes_back(
    program: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    logged = LogCapture()  # wherever other tests have led the log meanwhile
    monkeypatch.setattr(
        child_driver, "log", structlog.wrap_logger(None, processors=[logged], wrapper_class=structlog.BoundLogger)
    )

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    driver = ChildDriver(Devices("postgresql://127.0.0.1:1/none"), program=program, sleep=sleep)
    await driver.start()
    link, other = driver.link("ch_1"), driver.link("ch_2")
    await link.open("15550002222")
    await other.open("15550004444")
    first = driver.pid
    assert first
    sending = asyncio.create_task(link.send(ID, Person(phone="1"), "text", {"body": "Hi"}))
    checking = asyncio.create_task(other.check(["1"]))
    async for _, update in link.updates():
        assert getattr(update, "qr", None) == "taken"
        break
    os.kill(first, signal.SIGKILL)

    assert isinstance(await sending, SendUnknown)
    with pytest.raises(CallFailed):
        await checking
    for one in (link, other):
        async with asyncio.timeout(PATIENCE):
            news = [update async for _, update in one.updates()]
        assert [getattr(update, "reason", None) for update in news] == ["driver_gone"]
    again = driver.link("ch_1")
    await again.open("15550002222")
    assert driver.pid != first
    assert waits == [1]
    await driver.close()
    said = str(logged.entries)
    assert "hello from the child" in said
    assert "xxxxx" not in said  # a line too long for the log is passed over


async def test_a_child_that_does_not_leave_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gatepost.networks.qr.child_driver.END_WITHIN", 0.1)
    script = tmp_path / "stubborn.py"
    script.write_text(CHILD + "\nimport time\ntime.sleep(60)\n")
    driver = ChildDriver(Devices("postgresql://127.0.0.1:1/none"), program=(sys.executable, str(script)))
    await driver.start()
    await driver.link("ch_1").open("15550002222")
    assert driver.pid
    child_driver = psutil.Process(driver.pid)  # knows its process also where the number has gone to another one
    await driver.close()
    assert not child_driver.is_running()


async def test_a_child_that_does_not_read_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_driver, "END_WITHIN", 0.1)
    script = tmp_path / "deaf.py"
    script.write_text("import time\ntime.sleep(600)\n")
    transport = await child_driver.spawn((sys.executable, str(script)), os.environ)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(transport.send(b"x" * (4 << 20)), 0.1)  # as a part of a file does
    async with asyncio.timeout(PATIENCE):
        await transport.close()
    assert not psutil.pid_exists(transport.pid)


async def test_a_program_that_is_not_there_is_tried_again(tmp_path: Path) -> None:
    waits = Waits(2)
    driver = ChildDriver(Devices("postgresql://127.0.0.1:1/none"), program=(str(tmp_path / "none"),), sleep=waits)
    await driver.start()
    async with asyncio.timeout(PATIENCE):
        await waits.enough.wait()
    assert waits.asked == [1, 2]
    await driver.close()


async def test_closing_a_driver_ends_its_links() -> None:
    script = Scripted()
    driver = Driver(script.pair)
    await driver.start()
    link = driver.link("ch_1")
    await link.open("15550002222")
    await driver.close()
    assert [getattr(update, "reason", None) async for _, update in link.updates()] == ["driver_gone"]
    with pytest.raises(CallFailed):
        await Link("ch_1", driver.connection, Deadlines(open=0.2)).open("15550002222")


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_start_that_is_cancelled_leaves_no_child(new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(cancel_at_every_step())


async def cancel_at_every_step() -> None:
    for steps in count():
        starting = asyncio.create_task(child_driver.spawn(("sleep", "600"), os.environ))
        for _ in range(steps):
            await asyncio.sleep(0)
        starting.cancel()
        try:
            transport = await starting
        except asyncio.CancelledError:
            async with patience(lambda: "the child has ended"):
                while any(child.name() == "sleep" for child in psutil.Process().children()):
                    await asyncio.sleep(0.005)
        else:  # it had started before
            os.kill(transport.pid, signal.SIGKILL)
            await transport.close()
            return
