"""The decorators of handlers: `@get(path, scope=…, summary=…)`.

A handler is an async function. Its parameters and return type describe its route:

    body: NewLabel          the JSON body, decoded and checked
    query: OrderQuery       the query parameters, decoded and checked (`query.py`)
    once: CreateOnce        the request is executed once per Idempotency-Key (`idempotency.py`)
    -> Page[Label]          the response (`responses.py`)

The decorator has the rest: the scope, the summary, error codes, and what the request collection needs
(`openapi/route_docs.py`). The reference, its examples and the collection are derived from both.
"""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Literal, get_type_hints

import litestar
import msgspec
from litestar import Request
from litestar.handlers import HTTPRouteHandler

from gatepost.api.idempotency import CreateOnce
from gatepost.api.json_body import read_body
from gatepost.api.openapi.route_docs import RouteDocs, describe_handler
from gatepost.api.query import QueryReader
from gatepost.api.responses import respond
from gatepost.model.session import AccessRule, Role
from gatepost.store.idempotency import Replay

Function = Callable[..., Awaitable[Any]]
Decorator = Callable[[Function], HTTPRouteHandler]
_REQUEST = inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY, annotation=Request[Any, Any, Any])
_OURS = ("body", "query", "once")  # parameters that the framework does not know
_CHANNEL = ("channel",)


def _decorator(kind: Any) -> Callable[..., Decorator]:
    def decorate(
        path: str,
        *,
        summary: str,
        scope: str | None = None,
        access: Literal["session"] | None = None,
        role: Role | None = None,
        agents: bool = False,
        while_suspended: bool = False,
        costly: str | None = None,
        message: str = "OK",
        body_limit: bool = True,
        **docs: Any,
    ) -> Decorator:
        """Return a decorator that makes a route. `docs` are fields of `RouteDocs`.

        A route with a scope acts on a channel and takes keys and sessions; with agents=True, agents need no scope. A
        route with access="session" takes sessions only, of owners if role="owner"; another one is public.
        """
        more: dict[str, Any] = {} if body_limit else {"request_max_body_size": None}

        def make(function: Function) -> HTTPRouteHandler:
            described = describe_handler(function, RouteDocs(message=message, **docs))
            rule = AccessRule(scope, role, while_suspended, channel_in_query=bool(described.binary), agents=agents)
            opt: dict[str, Any] = {"access": rule} if scope or access else {}
            if costly:
                opt["costly"] = costly
            handler = kind(path, opt=opt, status_code=described.status, summary=summary, **more)
            made: HTTPRouteHandler = handler(_adapt(function, described))
            return made

        return make

    return decorate


get, post, put, patch, delete = map(
    _decorator, (litestar.get, litestar.post, litestar.put, litestar.patch, litestar.delete)
)


def _in_query(request: Request[Any, Any, Any]) -> bool:
    """Return whether a request may name its channel in the query."""
    return "user" in request.scope["state"] and request.scope["state"]["access"].channel_in_query


def _adapt(function: Function, docs: RouteDocs) -> Function:
    """Return the function that the framework calls: it decodes body and query, and wraps the response."""
    hints, signature = get_type_hints(function, include_extras=True), inspect.signature(function)
    decoder = msgspec.json.Decoder(hints["body"]) if "body" in hints else None
    query = QueryReader(hints["query"]) if "query" in hints else None
    once, asks, message, status = "once" in hints, "request" in hints, docs.message, docs.status

    async def handle(*, request: Request[Any, Any, Any], **given: Any) -> Any:
        raw = b""
        if query is not None:
            given["query"] = query.read(request.query_params, _CHANNEL if _in_query(request) else ())
        if decoder is not None:
            given["body"], raw = await read_body(request, decoder)
        if asks:
            given["request"] = request
        if not once:
            return respond(await function(**given), message, status)
        given["once"] = CreateOnce(request, raw, message)
        try:
            return respond(await function(**given), message, status)
        except Replay as before:
            return respond(given["once"].again(before), message, status)

    kept = [one for one in signature.parameters.values() if one.name not in (*_OURS, "request")]
    named = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[one.name]) for one in kept]
    parameters = [*named, _REQUEST]
    handle.__signature__ = inspect.Signature(parameters, return_annotation=litestar.Response[Any])  # type: ignore[attr-defined]
    handle.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": litestar.Response[Any]}
    handle.docs = docs  # type: ignore[attr-defined]
    handle.__name__, handle.__doc__, handle.__module__ = function.__name__, function.__doc__, function.__module__
    return handle
