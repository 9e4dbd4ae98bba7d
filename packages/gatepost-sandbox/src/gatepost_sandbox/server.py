"""The server: uvicorn with a connection a fault can cut, a stop that waits for nobody, and a word when it is ready."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

from gatepost_sandbox.graph import TRANSPORT

_GRACE = 5
_FRAME_MAX = 1024 * 1024


class JoinedWrites:
    """A connection that sends what is written in one go of the loop as one packet: head and body of an answer."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Send, at the end of this go."""
        self._parts.append(data)
        if len(self._parts) == 1:
            self._loop.call_soon(self._flush)

    def close(self) -> None:
        """Close after everything has been sent."""
        self._flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        """All else is the connection's own."""
        return getattr(self._transport, name)

    def _flush(self) -> None:
        if self._parts and not self._transport.is_closing():
            self._transport.write(b"".join(self._parts))
        self._parts.clear()


class CuttableProtocol(HttpToolsProtocol):
    """HTTP/1.1 whose application can reach the connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, with fewer system calls."""
        super().connection_made(JoinedWrites(transport, self.loop))  # type: ignore[arg-type]

    def on_message_begin(self) -> None:
        """Put the connection where the application finds it."""
        super().on_message_begin()
        self.scope["extensions"] = {TRANSPORT: self.transport}  # type: ignore[dict-item]


class CuttableLink(WebSocketsSansIOProtocol):
    """A WebSocket whose application can reach the connection."""

    def handle_connect(self, event: Request) -> None:
        """Put the connection where the application finds it, before it first runs."""
        super().handle_connect(event)
        if not self.close_sent:
            self.scope["extensions"] = {TRANSPORT: self.transport}  # type: ignore[dict-item]


class SandboxServer(uvicorn.Server):
    """One server from its first listening to its graceful end."""

    def __init__(
        self,
        config: uvicorn.Config,
        *,
        on_ready: Callable[[], None],
        on_stop: Callable[[], Awaitable[None]],
        signals: bool,
    ) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._on_stop = on_stop
        self._signals = signals

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and tell."""
        await super().startup(sockets)
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wake the requests that hang on purpose, then stop."""
        await self._on_stop()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGINT and SIGTERM, and return normally instead of dying by the signal afterwards."""
        loop, caught = asyncio.get_running_loop(), (signal.SIGINT, signal.SIGTERM) if self._signals else ()
        for number in caught:
            loop.add_signal_handler(number, self.stop)
        try:
            yield
        finally:
            for number in caught:
                loop.remove_signal_handler(number)

    def stop(self) -> None:
        """Ask for the end."""
        self.should_exit = True


async def run_server(server: SandboxServer, listener: socket.socket) -> None:
    """Run until told to stop; being cancelled is being told, and still ends gracefully."""
    running = asyncio.ensure_future(server.serve(sockets=[listener]))
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        server.stop()
        await running
        raise


def server_config(app: Callable[..., Awaitable[None]]) -> uvicorn.Config:
    """Uvicorn as the sandbox wants it: quiet and quick."""
    return uvicorn.Config(
        app,
        http=CuttableProtocol,
        ws=CuttableLink,
        ws_max_size=_FRAME_MAX,
        ws_per_message_deflate=False,
        lifespan="on",
        log_config=None,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=60,
        timeout_graceful_shutdown=_GRACE,
    )
