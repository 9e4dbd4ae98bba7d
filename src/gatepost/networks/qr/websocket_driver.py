"""A driver of links at a WebSocket address: the sandbox, or another program with the same protocol."""

from collections.abc import AsyncIterator
from typing import Any

import structlog
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI
from websockets.protocol import State

from gatepost.networks.qr.driver import Driver
from gatepost.networks.qr.driver_connection import ConnectionLost
from gatepost.networks.qr.frames import MAX_FRAME

log = structlog.get_logger()

CONNECT_WITHIN = 10.0
_LARGEST = 16 * MAX_FRAME  # ends the connection, and the driver would send the frame again after each new one


class WebSocketTransport:
    """Frames as text messages of a WebSocket."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def send(self, frame: bytes) -> None:
        if self._socket.state is not State.OPEN:
            raise ConnectionLost
        try:
            await self._socket.send(frame, text=True)
        except ConnectionClosed:
            raise ConnectionLost(sent=True) from None

    async def frames(self) -> AsyncIterator[bytes | str]:
        try:
            async for message in self._socket:
                if len(message) > MAX_FRAME:
                    log.warning("frame skipped", error="too large")
                else:
                    yield message
        except ConnectionClosed:
            return

    async def close(self) -> None:
        await self._socket.close()


async def dial(url: str) -> WebSocketTransport:
    """Open a WebSocket without a proxy."""
    try:
        socket = await connect(
            url, proxy=None, compression=None, max_size=_LARGEST, open_timeout=CONNECT_WITHIN, close_timeout=1
        )
    except (InvalidHandshake, InvalidURI) as error:
        raise ConnectionLost(str(error)) from error
    return WebSocketTransport(socket)


class WebSocketDriver(Driver):
    """Links through a program that listens at a ws:// or wss:// address."""

    def __init__(self, url: str, **options: Any) -> None:
        super().__init__(lambda: dial(url), **options)
