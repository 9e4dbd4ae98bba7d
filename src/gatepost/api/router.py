"""Finds the route of a request, admits the request, calls the handler, and turns errors into responses.

path ─► Router.find ─► admit (key or session, costly requests) ─► Route.call ─► Response.send
         │ none: 404, other methods: 405       │ refused                │ raised
         └─────────────────────────────────────┴────────────────────────┴─► errors.py
"""

from collections.abc import Iterable
from functools import cached_property

import msgspec

from gatepost.access.access_recheck import remember_access
from gatepost.access.costly import is_costly
from gatepost.api.admission import admit_request, read_headers
from gatepost.api.asgi import NoRoute, Receive, Request, Response, Scope, Send, WrongMethod
from gatepost.api.context import ApiContext
from gatepost.api.errors import answer_error, name_methods
from gatepost.api.openapi.document import build_document
from gatepost.api.openapi.routes import Operation, list_operations
from gatepost.api.route import Route
from gatepost.api.suggestions import KnownRoutes

_VARIABLE = "{}"  # the key of the child that stands for any part of a path


class _Node:
    """The routes of one path, and the paths that continue it."""

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.routes: dict[str, Route] = {}  # by method
        self.template = ""  # the path with the names of its variable parts

    @property
    def allow(self) -> str:
        """The value of the Allow header."""
        return name_methods([*self.routes, "OPTIONS"])


class Router:
    """The routes of the API as an ASGI app, except the hot ones. It has no state: each request carries its gateway."""

    def __init__(self, routes: Iterable[Route], described: Iterable[Route], body_limit: int) -> None:
        self.routes = list(routes)
        self._described = list(described)
        self._body_limit = body_limit
        self._root = _Node()
        for route in self.routes:
            self._add(route)

    @cached_property
    def operations(self) -> list[Operation]:
        """The routes of the reference."""
        return list_operations(self._described)

    @cached_property
    def openapi(self) -> bytes:
        """The OpenAPI document."""
        return msgspec.json.encode(build_document(self.operations))

    @cached_property
    def known_routes(self) -> KnownRoutes:
        """The routes that are suggested for a misspelt path."""
        return KnownRoutes.of((operation.method, operation.path) for operation in self.operations)

    def _add(self, route: Route) -> None:
        node = self._root
        for part in _parts(route.path):
            node = node.children.setdefault(_VARIABLE if part.startswith("{") else part, _Node())
        if route.method in node.routes:
            raise ValueError(f"There are two routes {route.method} {route.path}.")
        node.routes[route.method] = route
        node.template = route.path

    def find(self, path: str) -> tuple[_Node, list[str]]:
        """Return the node of a path, and the values of its variable parts; a fixed part goes before a variable one."""
        node, values = self._root, []
        for part in _parts(path):
            child = node.children.get(part)
            if child is None:
                child = node.children.get(_VARIABLE)
                values.append(part)
            if child is None:
                raise NoRoute
            node = child
        if not node.routes:
            raise NoRoute
        return node, values

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. An error after the start of the response is raised."""
        request = Request(scope, receive)
        try:
            response = await self._respond(request)
        except Exception as error:
            response = answer_error(request, error, self._near(scope, error))
        await response.send(request, send)

    async def _respond(self, request: Request) -> Response:
        scope = request.scope
        scope["path"] = "/" + "/".join(_parts(scope["path"]))
        node, values = self.find(scope["path"])
        scope["path_template"] = node.template
        if scope["method"] == "OPTIONS":  # it names the methods, and needs no key
            return Response(status_code=204, headers={"Allow": node.allow})
        route = node.routes.get(scope["method"])
        if route is None:
            raise WrongMethod(node.allow)
        request.body_limit = self._body_limit if route.body_limit else None
        if request.state.get("head"):  # the route is found as GET: restore the method
            scope["method"] = "HEAD"
        request.state["router"] = self
        await _admit(request, route)
        return await route.call(request, dict(zip(_variables(route.path), values, strict=True)))

    def _near(self, scope: Scope, error: Exception) -> str | None:
        missed = isinstance(error, NoRoute | WrongMethod)
        return self.known_routes.near(scope["method"], scope["path"]) if missed else None


async def _admit(request: Request, route: Route) -> None:
    """Authenticate a request, unless its route is public, and check what the route requires."""
    rule = route.access
    if rule is None:
        return
    scope, state = request.scope, request.state
    gateway: ApiContext = state["gateway"]
    admitted = await admit_request(gateway, scope, read_headers(scope), rule)
    state.update(left=admitted.left, access=rule)
    if admitted.caller is not None:
        state["caller"] = admitted.caller
    if admitted.user is not None:
        state["user"] = admitted.user
    remember_access(scope, admitted.recheck)
    if is_costly(route.costly, request.query):
        gateway.costly.begin(admitted.principal)
        state["costly"] = admitted.principal.id  # ended in `dispatcher.py`


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _variables(path: str) -> list[str]:
    return [part[1:-1] for part in _parts(path) if part.startswith("{")]
