"""A small driver that does what a test says, over a real socketpair or a real WebSocket."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
from websockets.asyncio.server import ServerConnection, serve

from gatepost.networks.qr.driver import Driver
from gatepost.networks.qr.driver_connection import ConnectionLost, Transport
from gatepost.networks.qr.line_reader import LineReader
from gatepost.networks.qr.websocket_driver import dial
from tests.patience import PATIENCE

Frame = dict[str, Any]
Reply = Callable[[Frame], list[Frame] | None]


def _agree(_frame: Frame) -> list[Frame]:
    return [{"ok": True}]


class Scripted:
    """Answers each request with what `reply` gives: a list of frames (`re` is filled in), or None for silence."""

    def __init__(self) -> None:
        self.requests: list[Frame] = []
        self.replies: dict[str, Reply] = {}
        self.connections = 0
        self._write: Callable[[bytes], Any] | None = None
        self._hang_up: Callable[[], Any] | None = None

    async def take(self, raw: bytes | str) -> None:
        frame = msgspec.json.decode(raw)
        self.requests.append(frame)
        reply = self.replies.get(frame["op"], _agree)
        for answer in reply(frame) or []:
            await self.say({"re": frame.get("ref"), **answer} if "event" not in answer else answer)

    async def say(self, frame: Frame | bytes) -> None:
        assert self._write
        sent = self._write(frame if isinstance(frame, bytes) else msgspec.json.encode(frame))
        if sent is not None:
            await sent

    async def hang_up(self) -> None:
        assert self._hang_up
        done = self._hang_up()
        if done is not None:
            await done

    async def asked(self, op: str, count: int = 1) -> Frame:
        """The last request of this kind, once there are that many."""
        async with asyncio.timeout(PATIENCE):
            while len(found := [frame for frame in self.requests if frame["op"] == op]) < count:
                await asyncio.sleep(0.001)
        return found[-1]

    # -- over a socketpair -----------------------------------------------------------------------------------------

    async def pair(self) -> Transport:
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=theirs)
        self.connections += 1
        self._write = lambda raw: writer.write(raw + b"\n")
        self._hang_up = writer.close
        return PairWire(*await asyncio.open_connection(sock=ours), asyncio.create_task(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines = LineReader()
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                for line in lines.feed(data):
                    await self.take(line)
        writer.close()

    # -- over a WebSocket ------------------------------------------------------------------------------------------

    async def socket(self, connection: ServerConnection) -> None:
        self.connections += 1
        self._write = lambda raw: connection.send(raw, text=True)
        self._hang_up = connection.close
        async for message in connection:
            await self.take(message)


class PairWire:
    """The gateway's end of the socketpair."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: asyncio.Task[None]) -> None:
        self._reader, self._writer, self._peer = reader, writer, peer

    async def send(self, frame: bytes) -> None:
        if self._writer.is_closing():
            raise ConnectionLost
        self._writer.write(frame + b"\n")

    async def frames(self) -> AsyncIterator[bytes | str]:
        lines = LineReader()
        with suppress(OSError):
            while data := await self._reader.read(1 << 16):
                for line in lines.feed(data):
                    yield line

    async def close(self) -> None:
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()
        await self._peer


@asynccontextmanager
async def running(kind: str, script: Scripted, **options: Any) -> AsyncIterator[Driver]:
    """A driver over the chosen transport, started."""
    if kind == "socketpair":
        driver = Driver(script.pair, **options)
        await driver.start()
        try:
            yield driver
        finally:
            await driver.close()
        return
    async with serve(script.socket, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        driver = Driver(lambda: dial(f"ws://127.0.0.1:{port}/qr/link"), **options)
        await driver.start()
        try:
            yield driver
        finally:
            await driver.close()
