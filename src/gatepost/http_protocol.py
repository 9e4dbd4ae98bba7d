"""HTTP before the application: limits on headers, on the time that requests take, and on connections.

connection ─► too many: 503 or 429
headers ────► too many or too large: 431; too slow: 408; not HTTP, or one twice that has one value: 400
          └─► of a hot route, and sent before by this connection: not parsed again (`http_repeated.py`)
body ───────► too slow: 408; trailers after it are ignored
next request ► read only when few others of the connection wait for their turn
response ───► not read by the client: closed

This extends uvicorn's own protocol, which reads requests and writes responses. A response that starts before its
request is read completely closes the connection, so that the rest need not be read. Errors have the format of all
other API errors, if a response can still be sent.
"""

import asyncio
import contextlib
import os
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from gatepost.api.errors import error_answer
from gatepost.api.hot_routes import HotRoute
from gatepost.http_connections import BodyRate, Connections
from gatepost.http_direct import DirectCycle, DirectRoutes
from gatepost.http_headers import each_once
from gatepost.http_repeated import RepeatedHead
from gatepost.http_transport import AnsweringTransport, PipelineFlow, response_bytes
from gatepost.model.errors import BadRequest, GatepostError, HeadersTooLarge, RequestTimeout

_LINGER = 2.0  # seconds in which a rejected client may read the error; what it still sends is dropped
_RETRY_AFTER = 1.0
_PART = 4096  # bytes that are parsed at once: the most that pipelined requests can have which wait for their turn
_BODY = (b"content-length", b"transfer-encoding")  # headers of a request with a body
_MISSES = 3  # requests in a row with other heads, after which a connection does not compare them any more
_UPGRADE = (b"connection", b"upgrade", b"http2-settings")


class LimitedProtocol(HttpToolsProtocol):
    """One connection of a client."""

    registry: Connections  # set by `limited_protocol`
    direct: DirectRoutes | None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._head_since: float | None = None  # when the wait for the pending headers began
        self._body_since: float | None = None  # when the wait for the pending body began
        self._head_begun = False  # whether a part of those headers has arrived
        self._head_size = 0
        self._header_limit, self._headers_limit = self.registry.limits.header_limit, self.registry.limits.headers
        self._has_body = False
        self._unparsed = b""  # what was read behind requests that wait for their turn
        self._current: RequestResponseCycle | None = None  # the request that is answered now
        self._unstarted: DirectCycle | None = None  # whose body may still arrive with its headers
        self._in_message = False  # whether the parser is within a request
        self._repeated: RepeatedHead | None = None  # of the last request that was parsed, if the next may have it, too
        self._misses = 0  # such requests in a row that had another
        self._keep_alive = False  # whether the connection stays open after this request, if it is read completely
        self._received = 0  # bytes of the body so far
        self._rate = BodyRate(self.registry.limits.body_rate, self.registry.limits.body_window)
        self._steps = 0  # callbacks from the parser
        self._idle_bytes = 0  # bytes read since the last of them
        self._unsent, self._unsent_since = 0, 0.0
        self._refusal: GatepostError | None = None
        self._ending: asyncio.TimerHandle | None = None
        self._idle_since: float | None = None  # when the last response ended, if no request has begun

    # -- the connection -----------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = PipelineFlow(transport, self.pipeline)
        self._answering = AnsweringTransport(self)
        self._head_since = self._unsent_since = self.loop.time()
        refusal = self.registry.add(self, self.client[0] if self.client else None, self.loop)
        if refusal is not None and self.registry.may_linger(self):
            self._refuse(refusal)
        elif refusal is not None:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.registry.remove(self)
        if self._ending is not None:
            self._ending.cancel()
        super().connection_lost(exc)
        if self._current is not None and not self._current.response_complete:  # uvicorn tells only the last request
            self._current.disconnected = True
            self._current.message_event.set()
        self.cycle = self._current = self._unstarted = None  # type: ignore[assignment]  # no cycles: collections are rare
        self.pipeline.clear()
        del self._answering

    def shutdown(self) -> None:
        self._keep_alive = False
        if self._ending is not None:
            self.transport.abort()
        else:
            super().shutdown()

    def check(self, now: float) -> None:
        """Close the connection if the deadline of what it waits for has passed."""
        if self._ending is not None:
            return
        if self._is_stuck(now):
            self.transport.abort()
        elif self.transport.is_closing():
            return
        elif self._idle_since is not None and now - self._idle_since > self.timeout_keep_alive:
            self.transport.close()
        elif self._head_since is not None:
            self._check_head(now - self._head_since)
        elif self._body_since is not None:
            self._check_body(now)

    def _check_head(self, waited: float) -> None:
        answering = self.cycle is not None and not self.cycle.response_complete  # the next request is not read yet
        if answering or waited <= self.registry.limits.header_timeout:
            return
        if self._head_begun:
            self._time_out(f"The headers took more than {self.registry.limits.header_timeout:g} seconds.")
        else:
            self.transport.close()

    def _check_body(self, now: float) -> None:
        limits, began = self.registry.limits, self._body_since or now
        if self.flow.read_paused or self.pipeline or self.cycle.waiting_for_100_continue:
            self._rate.restart()  # the server does not read now
        elif self._rate.too_slow(now, self._received):
            self._time_out(f"The body came with less than {limits.body_rate:g} bytes a second.")
            return
        if now - began > limits.body_timeout:
            self._time_out(f"The body took more than {limits.body_timeout:g} seconds.")

    def _time_out(self, why: str) -> None:
        self._refuse(RequestTimeout(why, retry_after=_RETRY_AFTER))

    def _is_stuck(self, now: float) -> bool:
        """Return whether the client has read nothing of the pending output for too long."""
        unsent = self.transport.get_write_buffer_size()
        if not unsent or unsent < self._unsent:
            self._unsent_since = now
        self._unsent = unsent
        return now - self._unsent_since > self.registry.limits.send_timeout

    # -- requests -----------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._ending is not None or self._refusal is not None:
            return  # rejected: drop further data
        if self._unparsed:
            self._unparsed += data
        elif self._repeated is None or not self._take_repeated(self._repeated, data):
            self._parse(data)

    def _parse(self, data: bytes) -> None:
        self._idle_since, before, fresh = None, self._current, not self._in_message and not self._head_begun
        if self._body_since is None:
            self._head_begun = True
            self._head_since = self._head_since or self.loop.time()
        steps = self._steps
        if len(data) <= _PART:
            self._feed(data)
        else:
            self._feed_parts(data)
        if self._unstarted is not None and self._refusal is None:  # the body has not arrived completely
            self._start_direct(self._unstarted)
        elif fresh and before is not None and isinstance(self._current, DirectCycle):
            self._learn(data, self._current)
        self._idle_bytes = self._idle_bytes + len(data) if self._steps == steps else 0
        if self._idle_bytes > self._header_limit:  # an endless header or trailer
            self._refuse(self._too_large())

    def _feed_parts(self, data: bytes) -> None:
        """Parse data until a request has to wait for its turn. What is behind it takes much less memory unparsed."""
        for start in range(0, len(data), _PART):
            if self._refusal is not None:
                return
            if self.pipeline:
                self._unparsed = data[start:]
                return
            self._feed(data[start : start + _PART])

    def _feed(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._ignore_upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self._refuse(self._refusal or _malformed())

    def _ignore_upgrade(self, rest: bytes) -> None:
        """Parse the request again without its upgrade headers: no upgrade is supported, and the parser would leave the
        body unread. Some clients request HTTP/2 this way with their first request."""
        method = self.parser.get_method()
        if method == b"CONNECT":
            self._refuse(_malformed())
            return
        headers = [header for header in self.headers if header[0] not in _UPGRADE]
        head = b"".join(b"%s: %s\r\n" % header for header in headers)
        self.parser = httptools.HttpRequestParser(self)
        self._feed(b"%s %s HTTP/1.1\r\n%sconnection: close\r\n\r\n%s" % (method, self.url, head, rest))

    def _learn(self, data: bytes, cycle: DirectCycle) -> None:
        """Remember the head of a good request that has arrived in one piece, and alone."""
        alone = cycle is self.cycle and not self._in_message
        if alone and cycle.begun and cycle.keep_alive and len(data) <= _PART:
            self._misses += self._repeated is not None
            other = self._misses > 0  # perhaps only by its key
            self._repeated = RepeatedHead.learn(data, self.headers, keys=other) if self._misses < _MISSES else None

    def _take_repeated(self, repeated: RepeatedHead, data: bytes) -> bool:
        """Begin to answer a request of a hot route, if its head was parsed before. Return whether it is one."""
        idle = self.cycle.response_complete and not self._in_message and not self._head_begun
        found = repeated.match(data) if idle and len(data) <= min(_PART, self._header_limit) else None
        route = self.direct.find(b"POST", found[0]) if found is not None and self.direct is not None else None
        if found is None or route is None:
            return False
        self._misses = 0
        self._idle_since, self._idle_bytes = None, 0
        super().on_message_begin()
        self.url, self.scope["headers"], body = found
        self._current = cycle = self._make_direct(route, "1.1", keep_alive=True)
        cycle.transport = self._answering  # type: ignore[assignment]
        cycle.body += body
        cycle.more_body = False
        cycle.message_event.set()
        self._start_direct(cycle)
        return True

    def on_message_begin(self) -> None:
        self._steps += 1
        self._in_message, self._head_size, self._has_body = True, 0, False
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._steps += 1
        self._head_size += len(url)
        self._check_size()
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._steps += 1
        self._head_size += len(name) + len(value)
        name, headers = name.lower(), self.headers
        headers.append((name, value.rstrip(b" \t")))  # the parser removes only what is before the value (RFC 9110)
        if self._head_size > self._header_limit or len(headers) > self._headers_limit:
            self._check_size()
            self._refusal = HeadersTooLarge(f"A request may have at most {self._headers_limit} headers.")
            raise ValueError("too many headers")
        if name in _BODY:
            self._has_body = self._has_body or value != b"0"
        elif name == b"expect" and headers[-1][1].lower() == b"100-continue":
            self.expect_100_continue = True

    def _check_size(self) -> None:
        if self._head_size > self._header_limit:
            self._refusal = self._too_large()
            raise ValueError("headers too large")

    def _too_large(self) -> GatepostError:
        return HeadersTooLarge(f"Address and headers of a request may have at most {self._header_limit:,} bytes.")

    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        # A copy of the headers: the parser adds trailers to its list later.
        self.scope["headers"], self._refusal = each_once(self.headers)
        if self._refusal is not None:
            raise ValueError("a header was sent twice")
        if not self._begin_direct():
            super().on_headers_complete()
        self._head_since, self._head_begun = None, False
        cycle = self.cycle
        cycle.transport = self._answering  # type: ignore[assignment]
        if not self.pipeline:
            self._current = cycle
        if self._has_body:
            self._body_since, self._received = self.loop.time(), 0
            self._rate.restart()
            self._keep_alive, cycle.keep_alive = cycle.keep_alive, False

    def _begin_direct(self) -> bool:
        """Prepare to answer a request of a hot route without ASGI (`http_direct.py`). Return whether it is one."""
        if self.direct is None or not (self.cycle is None or self.cycle.response_complete):
            return False
        route = self.direct.find(self.parser.get_method(), self.url)
        if route is None:
            return False
        version = self.parser.get_http_version()
        keep_alive = version != "1.0" and self.parser.should_keep_alive()
        self._unstarted = self._make_direct(route, version, keep_alive=keep_alive)
        return True

    def _make_direct(self, route: HotRoute, version: str, *, keep_alive: bool) -> DirectCycle:
        assert self.direct is not None
        scope = self.scope
        scope["method"], scope["http_version"], scope["query_string"] = "POST", version, b""
        scope["path"], scope["raw_path"] = self.url.decode("ascii"), self.url
        self.cycle = cycle = DirectCycle(self, self.direct, route, keep_alive=keep_alive)
        return cycle

    def _start_direct(self, cycle: DirectCycle) -> None:
        self._unstarted = None
        cycle.start()

    def on_body(self, body: bytes) -> None:
        self._steps += 1
        self._received += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._steps += 1
        self._in_message = False
        if self.parser.should_upgrade():
            return
        self._body_since = None
        if self._has_body and not self.cycle.response_started:
            self.cycle.keep_alive = self._keep_alive
        super().on_message_complete()
        if self._unstarted is not None:
            self._start_direct(self._unstarted)

    def on_response_complete(self) -> None:
        """Go on with the next request. uvicorn starts a timer for each response; `check` is used here instead."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        if self.pipeline:
            self._current, app = self.pipeline.pop()
            self._start_asgi_task(self._current, app)
        else:
            self._idle_since = self.loop.time()
        if self._unparsed and not self.pipeline:
            data, self._unparsed = self._unparsed, b""
            self._parse(data)
        self.flow.resume_reading()

    # -- the end ------------------------------------------------------------------------------------------------------

    def _refuse(self, error: GatepostError) -> None:
        """Send an error instead of the application's response, if possible, and close the connection."""
        self._refusal, cycle = error, self.cycle
        if self._ending is not None or self.transport.is_closing():
            return
        if cycle is not None and not cycle.response_complete:
            if self._body_since is None:  # an earlier request is being answered; its response is the last one
                cycle.keep_alive = False
                return
            started = cycle.response_started or bool(self.pipeline)
            cycle.disconnected = True
            cycle.message_event.set()
            if started:
                self.transport.abort()
                return
        elif self._body_since is not None:  # already answered, with the rest of the body pending
            self.transport.abort()
            return
        request_id = "req_" + os.urandom(12).hex()
        answer = error_answer(error, request_id, "")
        self.registry.answered(answer.status)
        self.transport.write(response_bytes(answer, request_id, bodiless=self._is_head()))
        self.end_gently()

    def _is_head(self) -> bool:
        return bool(self._head_size) and self.parser.get_method() == b"HEAD"

    def end_gently(self) -> None:
        """Close the connection after a delay: with an immediate close, a client that still sends loses the response."""
        if self._ending is None and not self.transport.is_closing():
            self._ending = self.loop.call_later(_LINGER, self._end)
            self.pipeline.clear()
            self._unparsed = b""
            self.flow.resume_reading()
            with contextlib.suppress(OSError, RuntimeError):
                self.transport.write_eof()

    def _end(self) -> None:
        """Close the connection when the client has read the response or is stuck."""
        now = self.loop.time()
        if self.transport.get_write_buffer_size() and not self._is_stuck(now):
            self._ending = self.loop.call_later(_LINGER, self._end)
        else:
            self.transport.abort()

    @property
    def is_read(self) -> bool:
        """Whether the request has been read completely."""
        return self._body_since is None


def _malformed() -> GatepostError:
    return BadRequest("This is not a valid HTTP request.", "malformed_request")


def limited_protocol(connections: Connections, direct: DirectRoutes | None = None) -> type[LimitedProtocol]:
    """Return the protocol class of a server: its connections are registered, and its hot routes bypass ASGI."""
    return type("LimitedProtocol", (LimitedProtocol,), {"registry": connections, "direct": direct})
