"""Raw connections: what a client may do that no HTTP library would."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress

import msgspec

from tests.patience import PATIENCE
from tests.running_gateway import Answer

HOST = b"Host: gateway\r\n"


class Wire:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def close(self) -> None:
        """Hangs up at once."""
        self._writer.transport.abort()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def flood(self, data: bytes, times: int) -> int:
        """Sends the same again and again; returns how often it went, before the other side had enough."""
        for count in range(times):
            try:
                await self.send(data)
            except ConnectionError:
                return count
        return times

    async def answer(self, *, head: bool = False, after_head: Callable[[], Awaitable[None]] | None = None) -> Answer:
        """The next answer, whole; between its headers and its body something may happen."""
        async with asyncio.timeout(PATIENCE):
            lines = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
            if after_head:
                await after_head()
            length = 0 if head else int(headers.get("content-length", "0"))
            return Answer(int(lines[0].split()[1]), headers, await self._reader.readexactly(length))

    async def raw_answer(self) -> bytes:
        """The next answer with a length, as it comes."""
        async with asyncio.timeout(PATIENCE):
            head = await self._reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"^content-length: (\d+)\r$", head, re.MULTILINE)
            return head + await self._reader.readexactly(int(length[1]) if length else 0)

    async def take(self, count: int) -> bytes:
        """So many bytes."""
        async with asyncio.timeout(PATIENCE):
            return await self._reader.readexactly(count)

    async def ended(self) -> bytes:
        """What still comes until the other side closes."""
        async with asyncio.timeout(PATIENCE):
            try:
                return await self._reader.read()
            except ConnectionError:
                return b""


@asynccontextmanager
async def wired(url: str) -> AsyncIterator[Wire]:
    """A connection to a server."""
    host, port = url.removeprefix("http://").split(":")
    wire = Wire(*await asyncio.open_connection(host, int(port)))
    try:
        yield wire
    finally:
        await wire.close()


def request(
    method: str, path: str, headers: Mapping[str, str] = {}, body: bytes = b"", *, length: int | None = None
) -> bytes:
    """A request; `length` announces more than the body has."""
    announced = {"content-length": str(length if length is not None else len(body))} if body or length else {}
    lines = "".join(f"{name}: {value}\r\n" for name, value in {**headers, **announced}.items())
    return f"{method} {path} HTTP/1.1\r\n".encode() + HOST + lines.encode() + b"\r\n" + body


def check_wire(answer: Answer, status: int, code: str) -> None:
    """A refusal from before the application: the shape of all others, and the end of its connection."""
    error = msgspec.json.decode(answer.body)["error"]
    assert (answer.status, error["code"]) == (status, code)
    assert error["request_id"] == answer.headers["x-request-id"]
    assert error["request_id"].startswith("req_")
    assert error["docs"] == f"/docs/reference/errors#{code}"
    assert answer.headers["connection"] == "close"
    assert answer.headers["content-type"] == "application/json"
    assert error["retryable"] is ("retry-after" in answer.headers)
