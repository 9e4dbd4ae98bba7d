"""Compresses large responses with gzip, for clients that accept it.

start ─► compressible content type and headers? ─► held until the first chunk
chunk ─► complete and short ─► unchanged
         complete and long  ─► compressed, with the new Content-Length
         one of several     ─► compressed and flushed, chunk by chunk: a stream is not delayed or buffered

Not compressed: files (they support ranges, and most are compressed already), event streams, and `no-store` responses:
these contain a secret, and the length of compressed text reveals something about its content.
"""

import asyncio
import zlib
from typing import Any

from gatepost.api.asgi import Message, Scope, Send

LEAST = 1400  # bytes: a response that fits into one packet gains nothing
_LEVEL = 4  # most of the gain in half of the time
_GZIP = 31  # zlib's `wbits` for the gzip format
_LONG = 32 * 1024  # longer chunks are compressed in a thread, so that other requests need not wait
_KINDS = frozenset(
    {
        b"application/json",
        b"application/schema+json",
        b"application/x-ndjson",
        b"image/svg+xml",
        b"text/css",
        b"text/csv",
        b"text/html",
        b"text/javascript",
    }
)
_UNFIT = frozenset({b"content-encoding", b"content-range", b"accept-ranges", b"etag"})
_BODILESS = (204, 206, 304)


def accepts_gzip(header: str) -> bool:
    """Return whether an Accept-Encoding header has gzip or `*` with a weight above 0."""
    weights = dict(_weighed(part) for part in header.lower().split(","))
    return weights.get("gzip", weights.get("x-gzip", weights.get("*", 0.0))) > 0


def _weighed(part: str) -> tuple[str, float]:
    name, *options = (piece.strip() for piece in part.split(";"))
    weight = next((option[2:] for option in options if option.startswith("q=")), "1")
    try:
        return name, float(weight)
    except ValueError:
        return name, 0.0


class GzipSender:
    """An ASGI `send` that compresses one response."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope = scope
        self._send = send
        self._start: Any = None
        self._packer: Any = None

    async def __call__(self, message: Message) -> None:
        event: Any = message
        if event["type"] == "http.response.start" and _fits(event):
            event["headers"] = _varied(event["headers"])
            if self._wanted():
                self._start = event
                return
        elif event["type"] == "http.response.body" and (self._start or self._packer):
            event = await self._body(event)
        await self._send(event)

    def _wanted(self) -> bool:
        header = next((value for name, value in self._scope["headers"] if name == b"accept-encoding"), b"")
        return self._scope["method"] != "HEAD" and accepts_gzip(header.decode("latin-1"))

    async def _body(self, event: Any) -> Any:
        body, more = event.get("body", b""), event.get("more_body", False)
        if self._start is not None:
            start, self._start = self._start, None
            if not more and len(body) < LEAST:
                await self._send(start)
                return event
            self._packer = zlib.compressobj(_LEVEL, wbits=_GZIP)
            body = await self._pack(body, more=more)
            await self._send(_packed(start, None if more else len(body)))
        else:
            body = await self._pack(body, more=more)
        return {**event, "body": body}

    async def _pack(self, body: bytes, *, more: bool) -> bytes:
        if len(body) > _LONG:
            return await asyncio.to_thread(self._squeeze, body, more=more)
        return self._squeeze(body, more=more)

    def _squeeze(self, body: bytes, *, more: bool) -> bytes:
        if more and not body:
            return b""
        packed: bytes = self._packer.compress(body) + self._packer.flush(zlib.Z_SYNC_FLUSH if more else zlib.Z_FINISH)
        return packed


def _fits(start: Any) -> bool:
    headers = {name.lower(): value for name, value in start["headers"]}
    kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
    return (
        kind in _KINDS
        and start["status"] not in _BODILESS
        and not _UNFIT & headers.keys()
        and b"no-store" not in headers.get(b"cache-control", b"")
    )


def _varied(headers: Any) -> Any:
    """Return the headers with `accept-encoding` added to Vary."""
    before = [value for name, value in headers if name.lower() == b"vary"]
    others = [header for header in headers if header[0].lower() != b"vary"]
    return [*others, (b"vary", b", ".join([*before, b"accept-encoding"]))]


def _packed(start: Any, length: int | None) -> Any:
    headers = [(name, value) for name, value in start["headers"] if name.lower() != b"content-length"]
    headers.append((b"content-encoding", b"gzip"))
    if length is not None:
        headers.append((b"content-length", b"%d" % length))
    return {**start, "headers": headers}
