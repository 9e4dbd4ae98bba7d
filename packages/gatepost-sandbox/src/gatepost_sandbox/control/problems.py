"""What can go wrong at the control door, and how it is told: {"error": "<what is wrong>"}."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from litestar import MediaType, Request, Response
from litestar.exceptions import HTTPException
from litestar.types import ExceptionHandlersMap


class ControlError(Exception):
    """A control request that cannot be done as asked."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def not_found(what: str, name: str) -> ControlError:
    """There is no such thing."""
    return ControlError(404, f"there is no {what} {name!r}")


async def send_problem(send: Callable[[dict[str, Any]], Awaitable[None]], status: int, message: str) -> None:
    """Answer a request that reaches no handler."""
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


def _http(_: Request[Any, Any, Any], error: HTTPException) -> Response[dict[str, str]]:
    fields = error.extra if isinstance(error.extra, list) else []
    told = "; ".join(f"{field.get('key', 'body')}: {field.get('message')}" for field in fields)
    return _answer(error.status_code, told or error.detail)


EXCEPTION_HANDLERS: ExceptionHandlersMap = {
    ControlError: _control,
    msgspec.ValidationError: _invalid,
    HTTPException: _http,
}
