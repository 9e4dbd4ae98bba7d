"""A connection to a driver: requests out, answers and events in, for all links that share it.

request ──ref──► driver            every request has a number; its answers carry it
        ◄─re───
events  ◄─session── ─► that link   an event goes to the link of its session
the end ─► every request fails, every link is notified
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Protocol

import structlog

from gatepost.networks.qr import frames

log = structlog.get_logger()


class ConnectionLost(Exception):
    """The connection was lost. `sent`: whether the frame may have reached the driver."""

    def __init__(
        self, reason: str = "The connection to the driver of the link was lost.", *, sent: bool = False
    ) -> None:
        super().__init__(reason)
        self.sent = sent


class Transport(Protocol):
    """Transports frames to a driver and back."""

    async def send(self, frame: bytes) -> None:
        """Send one frame; raises ConnectionLost."""

    def frames(self) -> AsyncIterator[bytes | str]:
        """Yield the frames of the driver until it is gone."""

    async def close(self) -> None:
        """Close the connection, and end the driver if it is our child process."""


class FrameReceiver(Protocol):
    """A link, as its connection sees it."""

    def take(self, event: frames.Event) -> None:
        """Receive an event of its session."""

    def lose(self) -> None:
        """Notify the link that the connection to the driver was lost."""


class PendingCall:
    """One request and its answers."""

    def __init__(self, connection: "DriverConnection", ref: int) -> None:
        self._connection = connection
        self._ref = ref
        self.answers: asyncio.Queue[frames.FrameAnswer | None] = asyncio.Queue()
        self.sent = False

    async def send(self, op: str, **fields: Any) -> None:
        """Send a frame of the request."""
        await self._connection.put({"op": op, "ref": self._ref, **fields}, self)

    async def answer(self) -> frames.FrameAnswer:
        """Return the next answer."""
        answer = await self.answers.get()
        if answer is None:
            raise ConnectionLost(sent=self.sent)
        return answer


class DriverConnection:
    """Routes the frames of one transport."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._refs = count(1)
        self._calls: dict[int, PendingCall] = {}
        self._links: dict[str, FrameReceiver] = {}
        self.gone = False
        self.unreadable = 0  # frames that were skipped

    @contextmanager
    def call(self) -> Iterator[PendingCall]:
        """Return a request that is open inside the block."""
        if self.gone:
            raise ConnectionLost
        ref = next(self._refs)
        call = self._calls[ref] = PendingCall(self, ref)
        try:
            yield call
        finally:
            del self._calls[ref]

    async def put(self, frame: dict[str, Any], call: PendingCall | None = None) -> None:
        """Send one frame, and note on its call that it may have arrived."""
        raw = frames.encode_frame(frame)
        if len(raw) > frames.MAX_FRAME:
            raise ValueError(f"A frame may have at most {frames.MAX_FRAME:,} bytes, but has {len(raw):,}.")
        if self.gone:
            raise ConnectionLost
        await self._transport.send(raw)
        if call:
            call.sent = True

    def attach(self, session: str, link: FrameReceiver) -> None:
        """Make a link the receiver of its session's events; it replaces a previous link."""
        before = self._links.get(session)
        self._links[session] = link
        if before is not None and before is not link:
            before.lose()

    def detach(self, session: str, link: FrameReceiver) -> None:
        if self._links.get(session) is link:
            del self._links[session]

    async def run(self) -> None:
        """Read until the driver is gone, then notify every call and link."""
        try:
            async for raw in self._transport.frames():
                self._route(raw)
        finally:
            self._end()

    async def close(self) -> None:
        await self._transport.close()

    def _route(self, raw: bytes | str) -> None:
        try:
            frame = frames.parse_frame(raw)
        except frames.InvalidFrame as error:
            self.unreadable += 1
            log.warning("frame skipped", error=str(error)[:200], skipped=self.unreadable)
            return
        if isinstance(frame, frames.FrameAnswer):
            call = self._calls.get(frame.re)
            if call:
                call.answers.put_nowait(frame)
        elif frame and (link := self._links.get(frame.session)):
            try:
                link.take(frame)
            except Exception:  # one session's frame must not end the links of all others
                self.unreadable += 1
                log.exception("frame not processed", session=frame.session, skipped=self.unreadable)
                link.lose()  # unacknowledged events are sent again to the next link

    def _end(self) -> None:
        self.gone = True
        for call in self._calls.values():
            call.answers.put_nowait(None)
        links, self._links = self._links, {}
        for link in links.values():
            link.lose()
