"""Converts errors into HTTP responses. No other module does."""

import math
from collections.abc import Iterable
from typing import Any

import msgspec
import structlog
from litestar import MediaType, Request, Response
from litestar.exceptions import HTTPException

from gatepost.api.contract.failure import Failure
from gatepost.api.json_body import HttpAnswer
from gatepost.api.refusals import note_refusal, safe_path
from gatepost.api.suggestions import KnownRoutes
from gatepost.model.errors import (
    BadRequest,
    Conflict,
    Forbidden,
    GatepostError,
    HeadersTooLarge,
    Invalid,
    LimitReached,
    MissingScope,
    NetworkAway,
    NetworkRefused,
    NoAccess,
    NotAuthenticated,
    NotFound,
    OutOfRange,
    RequestTimeout,
    TooLarge,
    Unavailable,
    WrongMediaType,
)

log = structlog.get_logger("gatepost.api")
_STATUS: dict[type[GatepostError], int] = {
    BadRequest: 400,
    NotAuthenticated: 401,
    NoAccess: 402,
    MissingScope: 403,
    Forbidden: 403,
    NotFound: 404,
    RequestTimeout: 408,
    Conflict: 409,
    TooLarge: 413,
    WrongMediaType: 415,
    OutOfRange: 416,
    Invalid: 422,
    NetworkRefused: 422,
    LimitReached: 429,
    HeadersTooLarge: 431,
    Unavailable: 503,
    NetworkAway: 503,
}
_FRAMEWORK = {
    400: ("malformed_json", "The request cannot be read."),
    404: ("not_found", "There is nothing at this address. The routes are listed at /docs."),
    405: ("method_not_allowed", "This address does not take that method."),
    413: ("body_too_large", "The body is larger than this gateway takes."),
}
_MISSED = {404, 405}  # statuses for which a similar route is suggested
_encode = msgspec.json.Encoder().encode


def answer_error(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """Return the error response for an exception in the framework."""
    near = _near(request) if isinstance(error, HTTPException) and error.status_code in _MISSED else None
    scope, request_id = request.scope, request.scope["state"].get("request_id", "")
    answer = error_answer(error, request_id, scope["path"], near)
    note_refusal(scope["state"]["gateway"], scope, answer, request_id)
    headers = {name.decode(): value.decode() for name, value in answer.headers}
    return Response(answer.body, status_code=answer.status, headers=headers, media_type=MediaType.JSON)


def _near(request: Request[Any, Any, Any]) -> str | None:
    routes: KnownRoutes = request.app.state.known_routes
    return routes.near(request.method, request.scope["path"])


def error_answer(error: Exception, request_id: str, path: str, near: str | None = None) -> HttpAnswer:
    """Return the error response for an exception. `near` is the route that was probably meant."""
    if isinstance(error, GatepostError) and type(error) in _STATUS:
        return _answer(_STATUS[type(error)], error, request_id)
    if isinstance(error, HTTPException) and error.status_code in _FRAMEWORK:
        code, message = _FRAMEWORK[error.status_code]
        message = f"{message} Did you mean {near}?" if near else message
        more = dict(error.headers or {})
        if "allow" in more:
            more["allow"] = name_methods(more["allow"].split(", "))
        return _answer(error.status_code, GatepostError(message, code), request_id, more)
    log.error("request failed", path=safe_path(path), request_id=request_id, exc_info=error)
    sorry = GatepostError("Something went wrong on our side. Nothing is known to have changed.", "internal_error")
    return _answer(500, sorry, request_id)


def name_methods(methods: Iterable[str]) -> str:
    """Return the value of the Allow header. HEAD is allowed where GET is."""
    allowed = set(methods)
    return ", ".join(sorted(allowed | {"HEAD"} if "GET" in allowed else allowed))


def _answer(status: int, error: GatepostError, request_id: str, more: dict[str, str] | None = None) -> HttpAnswer:
    headers = tuple((name.encode(), value.encode()) for name, value in (_headers(error) | (more or {})).items())
    return HttpAnswer(status, _encode(Failure.of(error, request_id)), headers=headers)


def _headers(error: GatepostError) -> dict[str, str]:
    headers = {}
    if isinstance(error, NotAuthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, OutOfRange):
        headers["Content-Range"] = f"bytes */{error.size}"
    if error.retry_after is not None:
        headers["Retry-After"] = str(math.ceil(error.retry_after))
    if error.limit is not None:
        limit = error.limit
        headers["RateLimit-Policy"] = f'"{limit.policy}";q={limit.quota};w={limit.window}'
        headers["RateLimit"] = f'"{limit.policy}";r={limit.remaining};t={limit.reset}'
    return headers
