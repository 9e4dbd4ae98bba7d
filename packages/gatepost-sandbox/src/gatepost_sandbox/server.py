"""The server: uvicorn with connections that faults can drop, an immediate stop, and a callback when it is ready."""

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
    """A connection that joins the writes of one loop iteration, so that head and body of a response share a packet."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Send at the end of this loop iteration."""
        self._parts.append(data)
        if len(self._parts) == 1:
            self._loop.call_soon(self._flush)

    def close(self) -> None:
        """Close after everything has been sent."""
        self._flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        """Delegate everything else to the connection."""
        return getattr(self._transport, name)

    def _flush(self) -> None:
        if self._parts and not self._transport.is_closing():
            self._transport.write(b"".join(self._parts))
        self._parts.clear()


class CuttableProtocol(HttpToolsProtocol):
    """HTTP/1.1 with the connection available to the application."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, with fewer system calls."""
        super().connection_made(JoinedWrites(transport, self.loop))  # type: ignore[arg-type]

    def on_message_begin(self) -> None:
        """Make the connection available to the application."""
        super().on_message_begin()
        self.scope["extensions"] = {TRANSPORT: self.transport}  # type: ignore[dict-item]


class CuttableLink(WebSocketsSansIOProtocol):
    """A WebSocket with the connection available to the application."""

    def handle_connect(self, event: Request) -> None:
        """Make the connection available to the application before it runs."""
        super().handle_connect(event)
        if not self.close_sent:
            self.scope["extensions"] = {TRANSPORT: self.transport}  # type: ignore[dict-item]


class SandboxServer(uvicorn.Server):
    """The server, from start to graceful stop."""

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
        """Start, and report readiness."""
        await super().startup(sockets)
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wake delayed requests, then stop."""
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
        """Request the stop."""
        self.should_exit = True


async def run_server(server: SandboxServer, listener: socket.socket) -> None:
    """Run until stopped; cancellation also stops gracefully."""
    running = asyncio.ensure_future(server.serve(sockets=[listener]))
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        server.stop()
        await running
        raise


def server_config(app: Callable[..., Awaitable[None]]) -> uvicorn.Config:
    """Return the configuration of uvicorn."""
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
