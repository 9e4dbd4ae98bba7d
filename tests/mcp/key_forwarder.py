"""A proxy on this machine that adds a key to every request, for programs that cannot send one."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


@asynccontextmanager
async def adding_key(url: str, key: str) -> AsyncIterator[str]:
    """Forward all requests to a gateway as they are, with a key added; yield the address to use."""
    to = urlsplit(url)
    tasks: set[asyncio.Task[None]] = set()

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        tasks.add(task)
        there, sending = await asyncio.open_connection(to.hostname, to.port)
        back = asyncio.create_task(_copy(there, writer))
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = _LENGTH.search(head)
                body = await reader.readexactly(int(length[1]) if length else 0)
                sending.write(head[:-2] + f"Authorization: Bearer {key}\r\n\r\n".encode() + body)
                await sending.drain()
        back.cancel()
        sending.close()
        writer.close()
        tasks.discard(task)

    async with await asyncio.start_server(forward, "127.0.0.1") as server:
        host, port = server.sockets[0].getsockname()
        try:
            yield f"http://{host}:{port}"
        finally:
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
