"""The return types of handlers, and the envelope of responses: `{success, message, data, paging?}`.

-> Label            data, with the message of the route's decorator
-> None             data is null
-> list[Checked]    data is a list without pages
-> Page[Label]      a page of a list, with the cursor of the next one
-> Reply[Label]     data with a message, a status or headers of its own
-> Created[Label]   the same with status 201
-> Encoded[Media]   data in an envelope that is already encoded
-> Response         a response without the envelope, passed through
"""

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import msgspec

from gatepost.api.asgi import Response

T = TypeVar("T")
_encode = msgspec.json.Encoder().encode
SECRET = {"Cache-Control": "no-store"}


class Page(msgspec.Struct, Generic[T], frozen=True):
    """A page of a list."""

    items: list[T]
    next: str | None = None
    message: str = "OK"
    previous: str | msgspec.UnsetType | None = msgspec.UNSET  # only of lists that can be read in both directions


class Reply(msgspec.Struct, Generic[T], frozen=True):
    """Data with a message, a status or headers of its own."""

    data: T
    message: str | None = None  # None: that of the route
    status: int | None = None  # None: that of the route
    headers: Mapping[str, str] = {}


class Created(Reply[T], Generic[T], frozen=True):
    """Data of a new resource."""


class Encoded(msgspec.Struct, Generic[T], frozen=True):
    """An encoded response that is stored under an Idempotency-Key."""

    body: bytes
    headers: Mapping[str, str] = {}


class _Paging(msgspec.Struct, frozen=True):
    next: str | None
    previous: str | msgspec.UnsetType | None


def respond(result: Any, message: str, status: int) -> Response:
    """Return the HTTP response for a handler's return value."""
    if isinstance(result, Response):
        return result
    headers: Mapping[str, str] = {}
    if isinstance(result, Encoded):
        return Response(result.body, status_code=status, headers=result.headers)
    if isinstance(result, Page):
        body = envelope(result.items, result.message, _Paging(result.next, result.previous))
    elif isinstance(result, Reply):
        status, headers = result.status or status, result.headers
        body = envelope(result.data, result.message or message, success=status < 400)
    else:
        body = envelope(result, message)
    return Response(body, status_code=status, headers=headers)


def envelope(data: Any, message: str = "OK", paging: Any = msgspec.UNSET, *, success: bool = True) -> bytes:
    """Return the envelope with its data as JSON."""
    body = {"success": success, "message": message, "data": data}
    if paging is not msgspec.UNSET:
        body["paging"] = paging
    return _encode(body)
