"""A road to the gateway on which answers get lost: requests pass, and the first answers are cut off."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

from tests.listening import stop_listening


class Road:
    """Carries bytes both ways. The next `lost` connections are closed as soon as the gateway answers."""

    def __init__(self, url: str) -> None:
        self._aim = urlsplit(url)
        self.url = ""
        self.lost = 0
        self.taken = 0

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        self.taken += 1
        losing, self.lost = self.lost > 0, max(self.lost - 1, 0)
        there_reader, there_writer = await asyncio.open_connection(self._aim.hostname, self._aim.port)
        onward = asyncio.create_task(_pass_on(reader, there_writer))
        try:
            while piece := await there_reader.read(65536):
                if losing:
                    break
                writer.write(piece)
                await writer.drain()
        finally:
            onward.cancel()
            with suppress(asyncio.CancelledError, ConnectionError):
                await onward
            for end in (writer, there_writer):
                end.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(65536):
        writer.write(piece)
        await writer.drain()


@asynccontextmanager
async def lossy_road(url: str) -> AsyncIterator[Road]:
    """A road on a free port of 127.0.0.1."""
    road = Road(url)
    under_way: set[asyncio.Task[None]] = set()

    def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(road.carry(reader, writer))
        task.add_done_callback(lambda _: writer.close())  # also if it is cancelled before it begins
        under_way.add(task)

    server = await asyncio.start_server(carry, "127.0.0.1", 0)
    road.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield road
    finally:
        await stop_listening(server)
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
