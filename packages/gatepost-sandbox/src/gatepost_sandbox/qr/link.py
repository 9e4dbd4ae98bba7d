"""The WebSocket /qr/link: one connection that carries any number of sessions.

frames in ─► read ─► the operation ─► answer ─┐
                                              ├─► queue ─► writer ─► frames out, in this order
events of the sessions ───────────────────────┘
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs

import msgspec

from gatepost_sandbox.graph import TRANSPORT
from gatepost_sandbox.qr.files import Uploads
from gatepost_sandbox.qr.frames import Ack, Frame, Open, Ping, answer, error, read_frame
from gatepost_sandbox.qr.network import QrNetwork
from gatepost_sandbox.qr.operations import OPERATIONS
from gatepost_sandbox.qr.session import Session

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
SendAsgi = Callable[[dict[str, Any]], Awaitable[None]]
_UNREADABLE = 1007
_CHANGES_NOTHING = ("ping", "get")


class Link:
    """One open connection."""

    def __init__(self, qr: QrNetwork, cut: Callable[[], None] | None, auto_scan: float | None) -> None:
        self.uploads = Uploads()
        self.gone = False
        self.id = qr.keep_link(self, auto_scan)
        self._qr = qr
        self._cut = cut  # None in a replay, where there is no connection
        self._auto_scan = auto_scan
        self._queue: asyncio.Queue[Frame | None] | None = None if cut is None else asyncio.Queue()

    def put(self, frame: Frame) -> None:
        """Queue a frame."""
        if self._queue is not None and not self.gone:
            self._queue.put_nowait(frame)

    def cut(self) -> None:
        """Drop the connection abruptly."""
        if not self.gone:
            self.end()
            if self._cut is not None:
                self._cut()

    def end(self) -> None:
        """End the link: its sessions are disconnected."""
        if self.gone:
            return
        self._qr.drop_link(self.id)
        self.gone = True
        if self._queue is not None:
            self._queue.put_nowait(None)
        for session in self._qr.sessions.values():
            session.detach(self)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a replay needs; the connection ends with the process."""
        return {**vars(self), "_cut": None, "_queue": None}

    async def write(self, send: SendAsgi) -> None:
        """Send queued frames until the end."""
        assert self._queue is not None
        try:
            while (frame := await self._queue.get()) is not None:
                await send({"type": "websocket.send", "text": msgspec.json.encode(frame).decode()})
        except OSError:  # the client has disconnected, which the reader detects too
            return

    def take(self, frame: Frame) -> None:
        """Handle one frame."""
        clock = self._qr.clock
        if clock.recorder is not None and frame.get("op") not in _CHANGES_NOTHING:
            clock.begin()
            clock.record("frame", self.id, frame)
        asked = read_frame(frame)
        if isinstance(asked, str):
            self.put(error(frame.get("ref"), 0, "Malformed frame", asked))
        elif isinstance(asked, Ping):
            self.put(answer(asked.ref))
        elif isinstance(asked, Open):
            self.put(answer(asked.ref))
            self._qr.open(self._qr.session(asked.session), asked.phone, self, self._auto_scan)
        elif isinstance(asked, Ack):
            self._own(asked.session, lambda session: session.outbox.ack(asked.seq))
        elif not self._own(asked.session, lambda session: OPERATIONS[type(asked)](self._qr, self, session, asked)):
            self.put(error(asked.ref, 0, "Not open", "open the session on this connection first"))

    def _own(self, session_id: str, do: Callable[[Session], None]) -> bool:
        session = self._qr.sessions.get(session_id)
        if session is None or session.wire is not self:
            return False
        do(session)
        return True


async def serve_link(qr: QrNetwork, scope: Scope, receive: Receive, send: SendAsgi) -> None:
    """Serve one WebSocket from its handshake to its end."""
    await receive()
    auto_scan = read_auto_scan(scope)
    if isinstance(auto_scan, str):
        await send({"type": "websocket.close", "reason": auto_scan})
        return
    await send({"type": "websocket.accept"})
    transport: asyncio.Transport = scope["extensions"][TRANSPORT]
    link = Link(qr, transport.abort, auto_scan)
    writer = asyncio.ensure_future(link.write(send))
    try:
        unreadable = await _read(link, receive)
    finally:
        link.end()
        await writer
    if unreadable:
        await send({"type": "websocket.close", "code": _UNREADABLE, "reason": "one JSON object per text message"})


async def _read(link: Link, receive: Receive) -> bool:
    """Handle frames until the connection ends; return True when it ended because of an invalid message."""
    while (message := await receive())["type"] != "websocket.disconnect":
        frame = _decode(message.get("text"))
        if frame is None:
            return True
        if not link.gone:
            try:
                link.take(frame)
            except (OverflowError, RecursionError):  # a number of more than 64 bits, or nested too deeply
                return True
    return False


def _decode(text: str | None) -> Frame | None:
    try:
        frame = msgspec.json.decode(text or "")
    except (msgspec.DecodeError, RecursionError):
        return None
    return frame if isinstance(frame, dict) else None


def read_auto_scan(scope: Scope) -> float | str | None:
    """Return the seconds after which phones scan automatically (?auto_scan=2), or an error text."""
    asked = parse_qs(scope["query_string"].decode("latin-1")).get("auto_scan")
    if not asked:
        return None
    try:
        seconds = float(asked[0])
    except ValueError:
        return "auto_scan must be a number of seconds"
    return seconds if 0 <= seconds < float("inf") else "auto_scan must be a number of seconds"
