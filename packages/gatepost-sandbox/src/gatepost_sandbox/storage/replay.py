"""Replay of recorded inputs: one function for each kind."""

from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from gatepost_sandbox.callback_client import CallbackClient
from gatepost_sandbox.control.recording import replay as replay_control
from gatepost_sandbox.graph.call import Call
from gatepost_sandbox.graph.serve import receive_message, run_call
from gatepost_sandbox.qr.link import Link
from gatepost_sandbox.storage.log import Record
from gatepost_sandbox.world import World

ReadFile = Callable[[str], bytes]


class _Handshakes:
    """Replaces the HTTP client in a replay: the outcome of a handshake is known."""

    def __init__(self, client: CallbackClient, *, passed: bool) -> None:
        self.post = client.post
        self._problem = None if passed else "the handshake failed"

    async def verify(self, *_: Any) -> str | None:
        """Return the recorded outcome."""
        return self._problem


def replay(world: World, record: Record, read_file: ReadFile) -> None:
    """Replay one input."""
    world.network.clock.replay_at(record.now)
    _KINDS[record.kind](world, read_file, *record.values)


def _timer(world: World, _: ReadFile) -> None:
    world.network.clock.replay_timer()


def _pace(world: World, _: ReadFile, frozen: bool, speed: float) -> None:
    world.network.clock.replay_pace(frozen=frozen, speed=speed)


def _posted(world: World, _: ReadFile, phone_number_id: str, number: int, status: int | None, why: str | None) -> None:
    known = world.network.numbers.get(phone_number_id)
    if known is not None:
        known.outbox.replay(number, status, why)


def _send(world: World, _: ReadFile, phone_number_id: str, edge: str, body: bytes, request_id: str) -> None:
    network = world.network
    receive_message(network, network.numbers[phone_number_id], edge, body, request_id)


def _call(world: World, read_file: ReadFile, call: Any, body: bytes | str, request_id: str, done: bool) -> None:
    content = read_file(body) if isinstance(body, str) else body
    read = msgspec.structs.replace(msgspec.convert(call, Call), body=content)
    _with_handshakes(world, done, lambda: _at_once(run_call(world.network, read, request_id)))


def _control(world: World, _: ReadFile, name: str, arguments: dict[str, Any], root: str) -> None:
    world.network.media.root = root
    _with_handshakes(world, True, lambda: _at_once(replay_control(world, name, arguments)))


def _link(world: World, _: ReadFile, auto_scan: float | None) -> None:
    Link(world.qr, None, auto_scan)


def _frame(world: World, _: ReadFile, number: int, frame: dict[str, Any]) -> None:
    link = world.qr.links.get(number)
    if isinstance(link, Link):
        link.take(frame)


def _unlink(world: World, _: ReadFile, number: int) -> None:
    link = world.qr.links.get(number)
    if isinstance(link, Link):
        link.end()


_KINDS: dict[str, Callable[..., None]] = {
    "timer": _timer,
    "pace": _pace,
    "posted": _posted,
    "send": _send,
    "call": _call,
    "control": _control,
    "link": _link,
    "frame": _frame,
    "unlink": _unlink,
}


def _with_handshakes(world: World, passed: bool, do: Callable[[], None]) -> None:
    network = world.network
    client, network.callback_client = network.callback_client, _Handshakes(network.callback_client, passed=passed)  # type: ignore[assignment]
    try:
        do()
    finally:
        network.callback_client = client


def _at_once(work: Coroutine[Any, Any, Any] | None) -> None:
    """Run a coroutine that has nothing to wait for."""
    if work is None:
        return
    try:
        work.send(None)
    except StopIteration:
        return
    work.close()
    raise RuntimeError("a recorded input waited for something")
