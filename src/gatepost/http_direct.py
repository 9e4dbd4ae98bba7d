"""The hot routes without ASGI: their requests go from the protocol to the handler, and the answer is written at once.

POST of a hot route, none pending before ─► DirectCycle ─► begin ─► commit ─► 200 on an open connection: one write
everything else ─► ASGI                               └► handler in a task ─┴► any other answer: uvicorn's `send`

uvicorn's cycle parses the address, and checks and collects the headers of each answer in two events, which takes
longer than the work of these routes. A DirectCycle is uvicorn's cycle in all other respects: the protocol adds the body
to it, ends it and queues requests behind it as usual, so limits, slow and chunked bodies, `Expect`, draining and
disconnects work in the same way. ASGI is used for other methods, a request behind a pending one, an address with a
query or escapes, and if responses have headers of CORS or deprecations. Both use the handlers of `api/hot_routes.py`.
"""

import asyncio
import re
from functools import partial
from typing import Any, Protocol, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from gatepost.api.dispatcher import Dispatcher, send_answer
from gatepost.api.hot_routes import Begun, Handler, HotRoute
from gatepost.api.json_body import HttpAnswer

_PLAIN_PATH = re.compile(rb"/[a-z0-9_/]+")  # needs no parsing
_FOUND_MAX, _FOUND_LENGTH = 4096, 128  # addresses whose routes are remembered, and their most bytes
_SMALL = 16 * 1024  # bytes of a body that is decoded before other connections get a turn
Headers = list[tuple[bytes, bytes]]


class HotDispatcher(Protocol):
    """Answers requests of hot routes: that of the API, or of the front of several cells."""

    def new_request_id(self) -> str: ...

    def direct_route(self, path: str) -> HotRoute | None: ...

    def begin_hot(self, route: HotRoute, scope: Any, body: bytes) -> tuple[Dispatcher, Begun] | None: ...

    async def answer_hot(self, handler: Handler, request_id: str, scope: Any, receive: Any) -> HttpAnswer: ...


class DirectRoutes:
    """The hot routes of a process."""

    def __init__(self, dispatcher: HotDispatcher) -> None:
        self.dispatcher = dispatcher
        self._found: dict[bytes, HotRoute] = {}  # by the address of their requests
        self._default_headers: Headers | None = None
        self._start = b""

    def find(self, method: bytes, url: bytes) -> HotRoute | None:
        """Return the route of a request; None if it has to be passed to ASGI."""
        if method != b"POST":
            return None
        route = self._found.get(url)
        if route is None and _PLAIN_PATH.fullmatch(url):
            route = self.dispatcher.direct_route(url.decode("ascii"))
            if route is not None and len(url) <= _FOUND_LENGTH:
                if len(self._found) >= _FOUND_MAX:  # anyone can request addresses of callbacks
                    self._found.clear()
                self._found[url] = route
        return route

    def write(self, answer: HttpAnswer, request_id: str, default_headers: Headers) -> bytes:
        """Return a response 200, the same bytes as uvicorn writes."""
        if default_headers is not self._default_headers:  # uvicorn makes a new list when the date changes
            self._default_headers = default_headers
            self._start = STATUS_LINE[200] + _lines(default_headers)
        return b"%bcontent-type: %b\r\ncontent-length: %d\r\nx-request-id: %b\r\n%b\r\n%b" % (
            self._start,
            answer.kind,
            len(answer.body),
            request_id.encode(),
            _lines(answer.headers),
            answer.body,
        )


class DirectCycle(RequestResponseCycle):
    """A request of a hot route and its response."""

    def __init__(self, protocol: HttpToolsProtocol, routes: DirectRoutes, route: HotRoute, *, keep_alive: bool) -> None:
        super().__init__(
            protocol.scope,
            protocol.transport,
            protocol.flow,
            protocol.logger,
            protocol.access_logger,
            protocol.access_log,
            protocol.server_state.default_headers,
            asyncio.Event(),
            protocol.expect_100_continue,
            keep_alive,
            protocol.on_response_complete,
        )
        self._protocol = protocol
        self._routes = routes
        self._route = route
        self._handler = route.answer
        self._request_id = routes.dispatcher.new_request_id()
        self._begun: tuple[Dispatcher, Begun] | None = None

    @property
    def begun(self) -> bool:
        """Whether nothing but the commit is awaited: the request is allowed, and nothing is wrong with it."""
        return self._begun is not None

    def start(self) -> None:
        """Answer the request: without a task if it has arrived completely and nothing but its commit is awaited."""
        if not self.more_body and len(self.body) <= _SMALL:
            try:
                self._begun = self._routes.dispatcher.begin_hot(self._route, self.scope, bytes(self.body))
            except Exception:  # nothing was changed: the handler fails in the same way, and answers
                self._begun = None
        if self._begun is None:
            self._start_task(self._answer)
            return
        committed = self._begun[1].committed
        self._protocol.tasks.add(committed)  # type: ignore[arg-type]  # a stop waits for it, and cancels it in the end
        committed.add_done_callback(self._finish)

    def _finish(self, committed: "asyncio.Future[Any]") -> None:
        """Send the answer after the commit."""
        self._protocol.tasks.discard(committed)
        try:
            self._send_begun()
        except Exception as error:
            self._start_task(partial(_fail, error))

    def _send_begun(self) -> None:
        assert self._begun is not None
        dispatcher, begun = self._begun
        answer = dispatcher.finish_hot(begun, self._request_id, cast("dict[str, Any]", self.scope))
        if answer is None:
            self._handler = begun.resume
            self._start_task(self._answer)
        elif not self._write(answer):
            self._start_task(lambda _scope, _receive, send: send_answer(send, answer, self._request_id))

    def _start_task(self, app: Any) -> None:
        self._protocol._start_asgi_task(self, app)

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer the request. This is called in place of the ASGI app."""
        answer = await self._routes.dispatcher.answer_hot(self._handler, self._request_id, scope, receive)
        if not self._write(answer):
            await send_answer(send, answer, self._request_id)

    def _write(self, answer: HttpAnswer) -> bool:
        """Send a plain answer at once. Return False if uvicorn has to send it."""
        if answer.status != 200 or not self.keep_alive or self.flow.write_paused or self.disconnected:
            return False
        written = self._routes.write(answer, self._request_id, self.default_headers)
        self.response_started = self.response_complete = True
        self.transport.write(written)
        self.message_event.set()
        self.on_response()
        return True


async def _fail(error: Exception, *_: Any) -> None:
    """Fail in place of the ASGI app: uvicorn logs the error, and answers 500 or closes the connection."""
    raise error


def _lines(headers: Any) -> bytes:
    return b"".join([b"%b: %b\r\n" % header for header in headers])
