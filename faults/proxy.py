"""A TCP or Unix proxy that can go silent, as a broken network does, forward byte by byte, or cut what it carries."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

Address = tuple[str, int] | Path
_CHUNK = 1 << 16
_DRIP = 1.0  # seconds between two bytes


class Proxy:
    """Forwards each connection to one of its targets in turn, skipping those that refuse it."""

    def __init__(self, *targets: Address) -> None:
        self.targets = list(targets)
        self.url = ""
        self.dripping = False  # one byte a second
        self._turn = 0
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._writers: set[asyncio.StreamWriter] = set()

    def go_silent(self) -> None:
        """Accept connections and forward nothing, neither data nor the end of a connection."""
        self._flowing.clear()

    def resume(self) -> None:
        """Forward again, also what has come meanwhile."""
        self._flowing.set()

    def cut(self) -> None:
        """Reset all connections."""
        for writer in self._writers:
            writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection to its end."""
        self._writers.add(writer)
        try:
            found = await self._connect()
            if found is not None:
                self._writers.add(found[1])
                try:
                    await asyncio.gather(self._pump(reader, found[1]), self._pump(found[0], writer))
                finally:
                    self._writers.discard(found[1])
                    found[1].transport.abort()
        except asyncio.CancelledError:
            pass  # the end of the run
        finally:
            self._writers.discard(writer)
            writer.transport.abort()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        await self._flowing.wait()
        self._turn += 1
        first = self._turn % max(1, len(self.targets))
        for target in self.targets[first:] + self.targets[:first]:
            with suppress(OSError):
                if isinstance(target, Path):
                    return await asyncio.open_unix_connection(target)
                return await asyncio.open_connection(*target)
        return None

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward one direction until either side ends; then end both."""
        with suppress(OSError, RuntimeError):  # uvloop raises the latter for a connection that was cut
            while data := await reader.read(_CHUNK):
                await self._flowing.wait()
                while self.dripping and data:
                    writer.write(data[:1])
                    data = data[1:]
                    await asyncio.sleep(_DRIP)
                writer.write(data)
                await writer.drain()
        await self._flowing.wait()
        writer.close()


@asynccontextmanager
async def running_proxy(*targets: Address, at: Path | None = None) -> AsyncIterator[Proxy]:
    """Run a proxy on a free port, or on a Unix socket."""
    proxy = Proxy(*targets)
    if at is not None:
        server = await asyncio.start_unix_server(proxy.serve, at)
        at.chmod(0o777)
    else:
        server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
        proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
        proxy.resume()
        proxy.cut()
