"""Converts errors into HTTP responses. No other module does."""

import math
from collections.abc import Iterable

import msgspec
import structlog

from gatepost.api.asgi import NoRoute, Request, Response, WrongMethod
from gatepost.api.contract.failure import Failure
from gatepost.api.json_body import HttpAnswer
from gatepost.api.refusals import note_refusal, safe_path
from gatepost.model.errors import (
    BadRequest,
    Conflict,
    Forbidden,
    GatepostError,
    HeadersTooLarge,
    Invalid,
    LimitReached,
    Misconfigured,
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
_encode = msgspec.json.Encoder().encode


def answer_error(request: Request, error: Exception, near: str | None = None) -> Response:
    """Return the error response for an exception in a route. `near` is the route that was probably meant."""
    scope, request_id = request.scope, request.state.get("request_id", "")
    answer = error_answer(error, request_id, scope["path"], near)
    note_refusal(request.state["gateway"], scope, answer, request_id)
    headers = {name.decode(): value.decode() for name, value in answer.headers}
    return Response(answer.body, status_code=answer.status, headers=headers)


def error_answer(error: Exception, request_id: str, path: str, near: str | None = None) -> HttpAnswer:
    """Return the error response for an exception. `near` is the route that was probably meant."""
    if isinstance(error, GatepostError) and type(error) in _STATUS:
        return _answer(_STATUS[type(error)], error, request_id)
    meant = f" Did you mean {near}?" if near else ""
    if isinstance(error, NoRoute):
        missing = f"There is nothing at this address. The routes are listed at /docs.{meant}"
        return _answer(404, GatepostError(missing, "not_found"), request_id)
    if isinstance(error, WrongMethod):
        wrong = GatepostError(f"This address does not take that method.{meant}", "method_not_allowed")
        return _answer(405, wrong, request_id, {"allow": error.allow})
    if isinstance(error, Misconfigured):
        log.error("request failed", path=safe_path(path), request_id=request_id, reason=error.message)
        return _answer(500, error, request_id)
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
