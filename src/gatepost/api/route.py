"""The decorators of handlers: `@get(path, scope=…, summary=…)`.

A handler is an async function. Its parameters and return type describe its route:

    label_id: str           a variable part of the path: `/api/v1/labels/{label_id}`
    body: NewLabel          the JSON body, decoded and checked
    query: OrderQuery       the query parameters, decoded and checked (`query.py`)
    once: CreateOnce        the request is executed once per Idempotency-Key (`idempotency.py`)
    gateway: Context        the parts of the process
    caller: CurrentCaller   who calls, on which channel; of a route with a scope
    user: CurrentUser       the person who is signed in; of a route with access="session"
    request: Request        the request itself
    -> Page[Label]          the response (`responses.py`)

The decorator has the rest: the scope, the summary, error codes, and what the request collection needs
(`openapi/route_docs.py`). The reference, its examples and the collection are derived from both. Annotations are
evaluated when the route is first called or described, which keeps the start of the process short.
"""

from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import Any, Literal, get_type_hints

import msgspec

from gatepost.api.asgi import Request, Response
from gatepost.api.idempotency import CreateOnce
from gatepost.api.json_body import read_body
from gatepost.api.openapi.route_docs import RouteDocs, describe_handler
from gatepost.api.query import QueryReader
from gatepost.api.responses import respond
from gatepost.model.session import AccessRule, Role
from gatepost.store.idempotency import Replay

Function = Callable[..., Awaitable[Any]]
Decorator = Callable[[Function], "Route"]
Call = Callable[[Request, dict[str, str]], Awaitable[Response]]
_FROM_STATE = ("gateway", "caller", "user")  # parameters whose values are in the state of the request
_CHANNEL = ("channel",)


class Route:
    """One method of one path."""

    def __init__(
        self,
        method: str,
        path: str,
        function: Function,
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
    ) -> None:
        """Make a route. `docs` are fields of `RouteDocs`.

        A route with a scope acts on a channel and takes keys and sessions; with agents=True, agents need no scope. A
        route with access="session" takes sessions only, of owners if role="owner"; another one is public.
        """
        self.method = method
        self.path = path
        self.function = function
        self.summary = summary
        self.costly = costly  # when a request is costly (`access/costly.py`)
        self.body_limit = body_limit  # whether the limit of JSON bodies applies
        self._public = not (scope or access)
        self._rule: dict[str, Any] = {
            "scope": scope,
            "role": role,
            "while_suspended": while_suspended,
            "agents": agents,
        }
        self._docs: dict[str, Any] = {"message": message, **docs}

    @cached_property
    def docs(self) -> RouteDocs:
        """The description of the route."""
        return describe_handler(self.function, RouteDocs(**self._docs))

    @cached_property
    def access(self) -> AccessRule | None:
        """Who may use the route; None: it is public."""
        return None if self._public else AccessRule(channel_in_query=bool(self.docs.binary), **self._rule)

    @cached_property
    def call(self) -> Call:
        """Call the handler with what its parameters ask for, and return the response."""
        return _adapt(self.function, self.docs)


def _decorator(method: str) -> Callable[..., Decorator]:
    def decorate(path: str, **options: Any) -> Decorator:
        return lambda function: Route(method, path, function, **options)

    return decorate


get, post, put, patch, delete = map(_decorator, ("GET", "POST", "PUT", "PATCH", "DELETE"))


def _in_query(request: Request) -> bool:
    """Return whether a request may name its channel in the query."""
    return "user" in request.state and request.state["access"].channel_in_query


def _adapt(function: Function, docs: RouteDocs) -> Call:
    """Return the function that decodes body and query, calls the handler, and wraps the response."""
    hints = get_type_hints(function, include_extras=True)
    decoder = msgspec.json.Decoder(hints["body"]) if "body" in hints else None
    query = QueryReader(hints["query"]) if "query" in hints else None
    once, asks, message, status = "once" in hints, "request" in hints, docs.message, docs.status
    from_state = [name for name in _FROM_STATE if name in hints]

    async def call(request: Request, path: dict[str, str]) -> Response:
        given: dict[str, Any] = {**path, **{name: request.state[name] for name in from_state}}
        raw = b""
        if query is not None:
            given["query"] = query.read(request.query, _CHANNEL if _in_query(request) else ())
        if decoder is not None:
            given["body"], raw = await read_body(request, decoder, required=docs.body_required)
        if asks:
            given["request"] = request
        if not once:
            return respond(await function(**given), message, status)
        given["once"] = CreateOnce(request, raw, message)
        try:
            return respond(await function(**given), message, status)
        except Replay as before:
            return respond(given["once"].again(before), message, status)

    return call
