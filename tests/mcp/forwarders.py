"""Proxies on this machine: one adds a key, for programs that cannot send one; one counts closed connections."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, suppress
from urllib.parse import urlsplit

from tests.listening import stop_listening

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


Forward = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def adding_key(url: str, key: str) -> AsyncIterator[str]:
    """Forward all requests to a gateway as they are, with a key added; yield the address to use."""

    async def forward(reader: asyncio.StreamReader, sending: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = _LENGTH.search(head)
            body = await reader.readexactly(int(length[1]) if length else 0)
            sending.write(head[:-2] + f"Authorization: Bearer {key}\r\n\r\n".encode() + body)
            await sending.drain()

    async with _forwarding(url, forward) as address:
        yield address


@asynccontextmanager
async def counting_closed(url: str) -> AsyncIterator[tuple[str, Callable[[], int]]]:
    """Forward everything; yield the address to use, and how many connections their clients have closed."""
    closed = 0

    async def forward(reader: asyncio.StreamReader, sending: asyncio.StreamWriter) -> None:
        nonlocal closed
        await _copy(reader, sending)
        closed += 1

    async with _forwarding(url, forward) as address:
        yield address, lambda: closed


@asynccontextmanager
async def _forwarding(url: str, forward: Forward) -> AsyncIterator[str]:
    """Serve connections, each with one of its own to an address: `forward` copies requests until the client closes."""
    to = urlsplit(url)
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        tasks.add(task)
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError), closing(writer):
            there, sending = await asyncio.open_connection(to.hostname, to.port)
            back = asyncio.create_task(_copy(there, writer))
            try:
                await forward(reader, sending)
            finally:
                back.cancel()
                sending.close()
        tasks.discard(task)

    async with await asyncio.start_server(serve, "127.0.0.1") as server:
        host, port = server.sockets[0].getsockname()
        try:
            yield f"http://{host}:{port}"
        finally:
            await stop_listening(server)
            for task in list(tasks):
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while content := await reader.read(65536):
            writer.write(content)
            await writer.drain()
        writer.close()
