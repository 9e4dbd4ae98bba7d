"""Errors of the control API: {"error": "<what is wrong>"}."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from litestar import MediaType, Request, Response
from litestar.exceptions import HTTPException
from litestar.types import ExceptionHandlersMap


class ControlError(Exception):
    """A control request that fails, with its HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def not_found(what: str, name: str) -> ControlError:
    """Return the error for an object that does not exist."""
    return ControlError(404, f"there is no {what} {name!r}")


async def send_problem(send: Callable[[dict[str, Any]], Awaitable[None]], status: int, message: str) -> None:
    """Send an error without a handler."""
    body = msgspec.json.encode({"error": message})
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _answer(status: int, message: str) -> Response[dict[str, str]]:
    return Response({"error": message}, status_code=status, media_type=MediaType.JSON)


def _control(_: Request[Any, Any, Any], error: ControlError) -> Response[dict[str, str]]:
    return _answer(error.status, str(error))


def _invalid(_: Request[Any, Any, Any], error: msgspec.ValidationError) -> Response[dict[str, str]]:
    return _answer(400, str(error))


def _unreadable(_: Request[Any, Any, Any], __: Exception) -> Response[dict[str, str]]:
    return _answer(400, "the body has a number of more than 64 bits, or is nested too deeply")


def _http(_: Request[Any, Any, Any], error: HTTPException) -> Response[dict[str, str]]:
    fields = error.extra if isinstance(error.extra, list) else []
    message = "; ".join(f"{field.get('key', 'body')}: {field.get('message')}" for field in fields)
    return _answer(error.status_code, message or error.detail)


EXCEPTION_HANDLERS: ExceptionHandlersMap = {
    ControlError: _control,
    msgspec.ValidationError: _invalid,
    OverflowError: _unreadable,  # when it is recorded
    RecursionError: _unreadable,
    HTTPException: _http,
}
