"""The ASGI entry point: gives every request an id, and passes it to a hot route or to the router.

It adds headers to every response: the request's id, the rate limit of the key, CORS (`cors.py`) and deprecations
(`deprecations.py`). Responses of the router, which may be large, are compressed (`compress.py`). HEAD is handled as
GET, without the body.
"""

import asyncio
import itertools
import os
from typing import Any, cast

import structlog

from gatepost.access.access_recheck import checked_body
from gatepost.api.asgi import ASGIApp, Message, Receive, Scope, Send
from gatepost.api.compress import GzipSender
from gatepost.api.context import ApiContext
from gatepost.api.cors import CorsPolicy
from gatepost.api.deprecations import DEPRECATIONS, Deprecations
from gatepost.api.errors import error_answer
from gatepost.api.hot_routes import Begun, Handler, HotRoute, direct_route, hot_route
from gatepost.api.json_body import HttpAnswer
from gatepost.api.mcp_route import PATH as MCP
from gatepost.api.mcp_route import as_json_rpc, serve_mcp
from gatepost.api.refusals import note_refusal, safe_path
from gatepost.model.errors import GatepostError, stopping

log = structlog.get_logger("gatepost.api")
Headers = tuple[tuple[bytes, bytes], ...]


class Dispatcher:
    """The ASGI app of a process."""

    def __init__(self, app: ASGIApp, gateway: ApiContext, *, hot: bool) -> None:
        self._app = app
        self._gateway = gateway
        self._hot = hot
        self._origins = CorsPolicy(gateway.cors_origins) if gateway.cors_origins else None
        self._deprecations = Deprecations(dict(DEPRECATIONS), gateway.clock) if DEPRECATIONS else None
        self._plain = not (self._origins or self._deprecations)
        self._process = "req_" + os.urandom(8).hex()
        self._numbers = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # no lifespan events: `app.py` starts and stops the parts of the process
        if scope["method"] == "HEAD":  # a copy: the server must still see HEAD in its own scope
            scope, send = _as_get(scope), _without_body(send)
        request_id = self.new_request_id()
        handler = hot_route(scope["method"], scope["path"]) if self._hot else None
        asked = self._origins.preflight(scope) if self._origins else None
        if asked is not None:
            self._gateway.figures.metrics.answered(asked.status)
            await send_answer(send, asked, request_id, self._more(scope))
        elif self._hot and scope["path"] == MCP:
            await self._serve_mcp(request_id, scope, receive, send)
        elif handler is None:
            await self._pass_to_router(request_id, scope, receive, send)
        else:
            answer = await self.answer_hot(handler, request_id, scope, receive)
            await send_answer(send, answer, request_id, () if self._plain else self._more(scope))

    def new_request_id(self) -> str:
        """Return the id of a new request."""
        return f"{self._process}{next(self._numbers):08x}"

    async def answer_error(self, error: Exception, scope: Scope, send: Send) -> None:
        """Answer a request that reached no route."""
        request_id = self.new_request_id()
        answer = error_answer(error, request_id, scope["path"])
        self._gateway.figures.metrics.answered(answer.status)
        answer = as_json_rpc(answer) if scope["path"] == MCP else answer
        await send_answer(send, answer, request_id, self._more(scope))

    def direct_route(self, path: str) -> HotRoute | None:
        """Return the hot route for POST to a path if its answer has no further headers; otherwise None."""
        return direct_route(path) if self._hot and self._plain else None

    def begin_hot(self, route: HotRoute, scope: Scope, body: bytes) -> "tuple[Dispatcher, Begun] | None":
        """Begin to answer a request without awaiting anything. Return None, or raise, if `answer_hot` has to answer it.

        Otherwise, return the dispatcher whose `finish_hot` is to be called after the commit.
        """
        begun = route.begin(self._gateway, scope, body)
        return (self, begun) if begun is not None else None

    def finish_hot(self, begun: Begun, request_id: str, scope: Scope) -> HttpAnswer | None:
        """Return the answer of a request that was begun, or None if `answer_hot` has to call `begun.resume`."""
        committed = begun.committed
        error = asyncio.CancelledError() if committed.cancelled() else committed.exception()
        if isinstance(error, begun.left_out):
            return None
        try:  # raising the error of the commit would leave a reference cycle: its traceback names the future
            answer = self._failed(error, request_id, scope) if error else begun.finish(committed.result())
        except Exception as failed:
            answer = self._failed(failed, request_id, scope)
        self._gateway.figures.metrics.answered(answer.status)
        return answer

    async def answer_hot(self, handler: Handler, request_id: str, scope: Scope, receive: Receive) -> HttpAnswer:
        """Return the answer of a hot route, which may be an error, and count it."""
        try:
            answer = await handler(self._gateway, scope, receive)
        except (Exception, asyncio.CancelledError) as error:
            answer = self._failed(error, request_id, scope)
            error.__traceback__ = None  # a reference cycle: the request would wait for the garbage collector
        self._gateway.figures.metrics.answered(answer.status)
        return answer

    def _failed(self, error: BaseException, request_id: str, scope: Scope) -> HttpAnswer:
        if not isinstance(error, Exception):  # CancelledError: only a stop whose time is over cancels a request
            return error_answer(stopping(), request_id, scope["path"])
        answer = error_answer(error, request_id, scope["path"])
        note_refusal(self._gateway, scope, answer, request_id)
        return answer

    async def _serve_mcp(self, request_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        header, begun = (b"x-request-id", request_id.encode()), False

        async def tagged(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                self._gateway.figures.metrics.answered(message["status"])
                message["headers"] = [*message["headers"], header, *scope["state"]["left"], *self._more(scope)]
            await send(message)

        try:
            await serve_mcp(self._gateway, scope, receive, tagged)
        except (Exception, asyncio.CancelledError) as error:
            answer = self._failed(error, request_id, scope)
            if begun:
                _log_cut_off(error, request_id, MCP)
            else:
                self._gateway.figures.metrics.answered(answer.status)
                await send_answer(send, as_json_rpc(answer), request_id, self._more(scope))

    async def _pass_to_router(self, request_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {}).update(request_id=request_id, gateway=self._gateway)
        header, packing, begun = (b"x-request-id", request_id.encode()), GzipSender(scope, send), False

        async def tagged(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                self._gateway.figures.metrics.answered(message["status"])
                left = scope["state"].get("left", ()) if message["status"] < 400 else ()
                message["headers"] = [*message["headers"], header, *left, *self._more(scope)]
            await packing(message)

        try:
            await self._app(scope, checked_body(scope, receive), tagged)
        except (Exception, asyncio.CancelledError) as error:
            if begun or isinstance(error, Exception):
                _log_cut_off(error, request_id, safe_path(scope["path"]))
            else:
                answer = self._failed(error, request_id, scope)
                await send_answer(send, answer, request_id, self._more(scope))
        finally:
            costly = scope["state"].get("costly")
            if costly is not None:
                self._gateway.costly.end(costly)

    def _more(self, scope: Scope) -> Headers:
        """Return the headers of CORS and deprecations, if any."""
        deprecated = self._deprecations.headers(scope) if self._deprecations else ()
        return (*deprecated, *self._origins.headers(scope)) if self._origins else deprecated


def _log_cut_off(error: BaseException, request_id: str, path: str) -> None:
    """Log what ended a response after its start. The client sees that the response is incomplete."""
    if isinstance(error, asyncio.CancelledError):
        log.warning("answer cut off", path=path, request_id=request_id, reason="The gateway is stopping.")
    elif isinstance(error, GatepostError):
        log.warning("answer cut off", path=path, request_id=request_id, reason=error.message)
    else:
        log.error("answer cut off", path=path, request_id=request_id, exc_info=error)


def _as_get(scope: Scope) -> Scope:
    changed: Any = {**scope, "method": "GET", "state": {**scope.get("state", {}), "head": True}}
    return cast("Scope", changed)


def _without_body(send: Send) -> Send:
    async def bodiless(message: Message) -> None:
        await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

    return bodiless


async def send_answer(send: Send, answer: HttpAnswer, request_id: str, more: Headers = ()) -> None:
    """Send an answer as ASGI events."""
    content = ((b"content-type", answer.kind), (b"content-length", b"%d" % len(answer.body)))
    headers = [
        *(content if answer.status != 204 else ()),
        (b"x-request-id", request_id.encode()),
        *answer.headers,
        *more,
    ]
    start: Any = {"type": "http.response.start", "status": answer.status, "headers": headers}
    body: Any = {"type": "http.response.body", "body": answer.body}
    await send(start)
    await send(body)
