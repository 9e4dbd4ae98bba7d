"""The hot routes without ASGI: their requests go from the protocol to the handler, and the answer is written at once.

POST of a hot route, no earlier request pending ─► DirectCycle ─► handler ─► 200 on an open connection: one write
everything else ─► ASGI                                                   └► any other answer: uvicorn's `send`

uvicorn's cycle parses the address, and checks and collects the headers of each answer in two events, which takes
longer than the work of these routes. A DirectCycle is uvicorn's cycle in all other respects: the protocol adds the body
to it, ends it and queues requests behind it as usual, so limits, slow and chunked bodies, `Expect`, draining and
disconnects work in the same way. ASGI is used for other methods, a request behind a pending one, an address with a
query or escapes, and if responses have headers of CORS or deprecations. Both use the handlers of `api/hot_routes.py`.
"""

import asyncio
import re
from typing import Any, Protocol

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from gatepost.api.dispatcher import send_answer
from gatepost.api.hot_routes import Handler
from gatepost.api.json_body import HttpAnswer

_PLAIN_PATH = re.compile(rb"/[a-z0-9_/]+")  # needs no parsing
Headers = list[tuple[bytes, bytes]]


class HotDispatcher(Protocol):
    """Answers requests of hot routes: that of the API, or of the front of several cells."""

    def new_request_id(self) -> str: ...

    def direct_route(self, path: str) -> Handler | None: ...

    async def answer_hot(self, handler: Handler, request_id: str, scope: Any, receive: Any) -> HttpAnswer: ...


class DirectRoutes:
    """The hot routes of a process."""

    def __init__(self, dispatcher: HotDispatcher) -> None:
        self.dispatcher = dispatcher
        self._default_headers: Headers | None = None
        self._start = b""

    def find(self, method: bytes, url: bytes) -> Handler | None:
        """Return the handler of a request; None if it has to be passed to ASGI."""
        if method != b"POST" or not _PLAIN_PATH.fullmatch(url):
            return None
        return self.dispatcher.direct_route(url.decode("ascii"))

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

    def __init__(
        self, protocol: HttpToolsProtocol, routes: DirectRoutes, handler: Handler, *, keep_alive: bool
    ) -> None:
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
        self._routes = routes
        self._handler = handler

    async def answer(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer the request. This is called in place of the ASGI app."""
        dispatcher = self._routes.dispatcher
        request_id = dispatcher.new_request_id()
        answer = await dispatcher.answer_hot(self._handler, request_id, scope, receive)
        if answer.status != 200 or not self.keep_alive or self.flow.write_paused or self.disconnected:
            await send_answer(send, answer, request_id)
            return
        self.response_started = self.response_complete = True
        self.transport.write(self._routes.write(answer, request_id, self.default_headers))
        self.message_event.set()
        self.on_response()


def _lines(headers: Any) -> bytes:
    return b"".join([b"%b: %b\r\n" % header for header in headers])
