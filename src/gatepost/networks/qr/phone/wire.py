"""The driver's end of the connection: reads requests as lines and writes answers. Does not depend on the library."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from gatepost.networks.qr.line_reader import LineReader
from gatepost.networks.qr.phone import request_errors

Fields = dict[str, Any]
_END_WITHIN = 2.0
_read: msgspec.json.Decoder[Fields] = msgspec.json.Decoder(Fields)
_encode = msgspec.json.Encoder().encode


class RequestRefused(Exception):
    """A rejected request; `fields` is its answer."""

    def __init__(self, fields: Fields) -> None:
        super().__init__(fields["error"]["title"])
        self.fields = fields


class Requests:
    """Answers requests, each in its own task."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, op: str, frame: Fields) -> bool:
        """Handle a request on arrival; return whether `do` has to be called for it."""
        return op != "ack"

    async def do(self, op: str, frame: Fields) -> Fields | list[Fields]:
        """Execute a request and return the fields of its answer, or of several answers."""
        raise RequestRefused(request_errors.unfit(op))

    def take(self, line: bytes) -> None:
        """Read one line; a line that is not a request is ignored."""
        try:
            frame = _read.decode(line)
            op = frame["op"]
        except (msgspec.MsgspecError, RecursionError, KeyError):
            return
        if self.begin(op, frame):
            task = asyncio.create_task(self._answer(op, frame))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, op: str, frame: Fields) -> None:
        try:
            fields = await self.do(op, frame)
        except RequestRefused as refused:
            fields = refused.fields
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            fields = request_errors.unfit(f"The request was not understood: {error!r}")
        for one in fields if isinstance(fields, list) else [fields]:
            self.write({"re": frame.get("ref"), **one})

    def write(self, frame: Fields) -> None:
        if not self._writer.is_closing():
            self._writer.write(_encode(frame) + b"\n")


async def serve(
    fd: int, make: Callable[[asyncio.StreamWriter], Requests], stop: Callable[[], Awaitable[None]] | None = None
) -> None:
    """Serve until the gateway closes its end, then exit the process, as threads of the library may still run."""
    wire = socket.socket(fileno=fd)
    wire.setblocking(False)
    reader, writer = await asyncio.open_connection(sock=wire)
    requests, lines = make(writer), LineReader()
    while data := await reader.read(1 << 16):
        for line in lines.feed(data):
            requests.take(line)
    if stop:
        await asyncio.wait({asyncio.ensure_future(stop())}, timeout=_END_WITHIN)
    os._exit(0)
