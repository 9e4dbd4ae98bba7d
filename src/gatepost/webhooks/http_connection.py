"""One HTTP/1.1 connection to an endpoint: one request at a time, and a response that is bounded in time and size.

    request ─► written ─► head (≤ 256 KiB, ≤ 100 headers) ─► body (≤ 64 KiB, the rest is cut off) ─► HttpResponse
                  └─ the deadline passes, the connection breaks off, not HTTP: ExchangeFailed, and it is closed

Everything is done in the event loop's thread: another thread for the connections costs more than what it does.
"""

import asyncio
from collections.abc import Callable
from typing import Literal, cast

import httptools
import msgspec

BODY_LIMIT = 64 * 1024
HEADERS_LIMIT = 16 * 1024  # what is kept of the headers
_HEAD_MAX = 256 * 1024
_HEADERS_MAX = 100
_RESPONSE_MAX = 1024 * 1024  # bytes on the connection; a body in chunks of one byte has six times its size
# Just under the five seconds after which many servers close an idle connection: a POST must not coincide with that.
IDLE_SECONDS = 4.0
_EARLY = 0.002  # seconds that a timer may be early: the clock of the event loop counts milliseconds
_NO_BODY = (204, 304)
_OTHER_PROTOCOLS = (b"R", b"I")  # RTSP and ICE, which the parser accepts as well
_BROKEN_OFF = "the connection was closed before the response was complete"

Headers = tuple[tuple[str, str], ...]


class HttpResponse(msgspec.Struct, frozen=True):
    """A complete response, or one whose body was cut off at the limit."""

    status: int
    headers: Headers
    body: bytes
    truncated: bool


class ExchangeFailed(Exception):
    """There is no complete response: the deadline has passed, the connection broke off, or this process stops."""

    def __init__(self, kind: Literal["timeout", "protocol", "stopped"], reason: str = "") -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


class HttpConnection(asyncio.Protocol):
    """A connection. `reusable` says after a response whether it may take another request."""

    __slots__ = (
        "_body",
        "_deadline",
        "_framed",
        "_head_done",
        "_headers",
        "_headers_count",
        "_headers_size",
        "_idle_since",
        "_interim",
        "_loop",
        "_lost",
        "_on_lost",
        "_parser",
        "_received",
        "_timer",
        "_transport",
        "_waiter",
        "_wake_time",
        "reusable",
    )

    def __init__(self, loop: asyncio.AbstractEventLoop, on_lost: Callable[["HttpConnection"], None]) -> None:
        self._loop, self._on_lost = loop, on_lost
        self._parser = httptools.HttpResponseParser(self)
        # Other HTTP clients accept this, too. With one request in flight, nothing can be taken for another response.
        self._parser.set_dangerous_leniencies(
            lenient_chunked_length=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        self._waiter: asyncio.Future[HttpResponse] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = self._idle_since = self._wake_time = 0.0
        self.reusable = self._lost = False
        self._begin()

    def _begin(self) -> None:
        """Forget the previous response."""
        self._headers: list[tuple[str, str]] = []
        self._headers_count = self._headers_size = self._received = 0
        self._body = bytearray()  # a list of its parts would take twenty times its size, if they have two bytes each
        self._head_done = self._framed = self._interim = False

    # -- for the pool and the poster ----------------------------------------------------------------------------------

    def request(self, data: bytes, seconds: float) -> "asyncio.Future[HttpResponse]":
        """Send a request. The result is its response, or ExchangeFailed after at most so many seconds."""
        loop = self._loop
        self.reusable = False
        self._deadline = loop.time() + seconds
        self._waiter = waiter = loop.create_future()
        if self._lost:  # before its first request
            self.fail(ExchangeFailed("protocol", _BROKEN_OFF))
            return waiter
        if self._timer is None or self._wake_time > self._deadline:
            self._wake_at(min(self._deadline, loop.time() + IDLE_SECONDS))
        self._transport.write(data)
        return waiter

    def rest(self) -> None:
        """Note that the connection is idle from now on."""
        self._begin()
        self._idle_since = self._loop.time()

    def close(self) -> None:
        """Close an idle connection."""
        self.reusable = False
        self._transport.close()

    def abort(self) -> None:
        """Close the connection at once, without waiting for the other side."""
        self.reusable = False
        self._transport.abort()

    def fail(self, error: ExchangeFailed) -> None:
        """End the exchange without a response, and close the connection."""
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_exception(error)
        self.abort()

    # -- time ---------------------------------------------------------------------------------------------------------

    def _wake_at(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._wake_time = self._loop.call_at(when, self._wake), when

    def _wake(self) -> None:
        """Close what is over its time. One timer serves many requests: a timer for each would cost more."""
        self._timer, now = None, self._loop.time()
        busy = self._waiter is not None
        end = self._deadline if busy else self._idle_since + IDLE_SECONDS
        if now < end - _EARLY:
            self._wake_at(min(end, now + IDLE_SECONDS))
        elif busy:
            self.fail(ExchangeFailed("timeout"))
        else:
            self.close()

    # -- called by the event loop -------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own class has no common ancestor

    def data_received(self, data: bytes) -> None:
        if self._waiter is None:  # nothing was requested
            self.abort()
            return
        if not self._received and data.lstrip(b"\r\n").startswith(_OTHER_PROTOCOLS):
            self.fail(ExchangeFailed("protocol", "invalid response: not HTTP"))
            return
        self._received += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # after the response
            self.reusable = False
        except httptools.HttpParserError as error:
            self.fail(ExchangeFailed("protocol", f"invalid response: {error}"))
        if self._received > (_RESPONSE_MAX if self._head_done else _HEAD_MAX) and self._waiter is not None:
            self.fail(ExchangeFailed("protocol", "the response is too large"))

    def eof_received(self) -> None:
        self.reusable = False

    def connection_lost(self, error: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiter is not None and error is None and self._head_done and not self._framed:
            self._finish(reusable=False)
        elif self._waiter is not None:
            self.fail(ExchangeFailed("protocol", _BROKEN_OFF))
        self.reusable, self._lost = False, True
        del self._parser  # it refers to this object: otherwise both would wait for the garbage collector
        self._on_lost(self)

    # -- called by the parser -----------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self._waiter is None:  # more than was requested
            self.reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers_count += 1
        if self._headers_count > _HEADERS_MAX:
            if self._waiter is not None:
                self.fail(ExchangeFailed("protocol", "the response has too many headers"))
            return
        name, value = name.lower(), value.rstrip()
        if name == b"content-length" or (name == b"transfer-encoding" and value.lower().endswith(b"chunked")):
            self._framed = True
        self._headers_size += len(name) + len(value)
        if self._headers_size <= HEADERS_LIMIT and not self._head_done and name.isascii() and value.isascii():
            self._headers.append((name.decode(), value.decode()))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 100 and self._waiter is not None:
            self.fail(ExchangeFailed("protocol", "invalid response: no such status"))
        self._interim = status < 200 and status != 101
        if not self._interim:
            self._head_done = True
            self._framed = self._framed or status in _NO_BODY

    def on_body(self, body: bytes) -> None:
        if self._waiter is not None and not self._interim:
            self._body += body
            if len(self._body) > BODY_LIMIT:
                self._finish(reusable=False)
                self.abort()

    def on_message_complete(self) -> None:
        if not self._interim:
            self._finish(reusable=self._parser.should_keep_alive())
            return
        self._interim = self._framed = False  # such as 100 Continue: the response itself follows
        self._headers.clear()

    def _finish(self, *, reusable: bool) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is None or waiter.done():
            return
        truncated = len(self._body) > BODY_LIMIT
        body = bytes(self._body[:BODY_LIMIT] if truncated else self._body)
        self.reusable = reusable and not self._transport.get_write_buffer_size()
        status = self._parser.get_status_code()
        waiter.set_result(HttpResponse(status, tuple(self._headers), body, truncated))
