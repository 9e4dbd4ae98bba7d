"""Streamed responses, which end when the client disconnects or the key becomes invalid."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing

from gatepost.access.access_recheck import checked_parts
from gatepost.api.asgi import JSON, Receive, Request, Response, Send


class StreamResponse(Response):
    """A response that is sent in parts. For HEAD only its headers are sent.

    `on_end` is called at the end, also if no part was sent.
    """

    def __init__(
        self,
        parts: AsyncIterator[bytes],
        *,
        status_code: int = 200,
        headers: Mapping[str, str] = {},
        media_type: str = JSON,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(status_code=status_code, headers=headers, media_type=media_type)
        self._parts = parts
        self._on_end = on_end

    async def send(self, request: Request, send: Send) -> None:
        """Send the response until it ends, or the client disconnects."""
        try:
            await self._start(send, {})
            if request.method == "HEAD":
                await send({"type": "http.response.body", "body": b""})
            else:
                await self._send_parts(request, send)
        finally:
            self._on_end()

    async def _send_parts(self, request: Request, send: Send) -> None:
        sending = asyncio.create_task(self._write(request, send))
        listening = asyncio.create_task(_disconnect(request.receive))
        try:
            await asyncio.wait([sending, listening], return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended = sending.done()
            sending.cancel()
            listening.cancel()
            await asyncio.wait([sending, listening])
        if ended:
            sending.result()  # raises what ended it early

    async def _write(self, request: Request, send: Send) -> None:
        async with aclosing(checked_parts(request.scope, self._parts)) as parts:
            async for part in parts:
                await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
