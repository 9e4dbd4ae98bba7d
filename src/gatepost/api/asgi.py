"""Requests and responses over ASGI: what the routes of this API need, and no more."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import cached_property
from typing import Any
from urllib.parse import parse_qs

from gatepost.model.errors import BadRequest, TooLarge

Scope = dict[str, Any]
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]

JSON = "application/json"
_BODILESS = (204, 304)  # statuses of responses without a body


class NoRoute(Exception):
    """No route has this path."""


class WrongMethod(Exception):
    """The routes of this path have other methods."""

    def __init__(self, allow: str) -> None:
        super().__init__(allow)
        self.allow = allow  # the value of the Allow header


class Request:
    """A request to a route."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.scope = scope
        self.receive = receive
        self.body_limit: int | None = None  # the most bytes of a body, set by the route

    @property
    def method(self) -> str:
        """The method: HEAD is found as GET, but named HEAD."""
        method: str = self.scope["method"]
        return method

    @property
    def state(self) -> dict[str, Any]:
        """What the stages of the request pass on: the gateway, the caller, the request's id, …"""
        state: dict[str, Any] = self.scope["state"]
        return state

    @cached_property
    def headers(self) -> dict[str, str]:
        """The headers by their names in lower case. Each is there once (`http_headers.py`)."""
        return {name.decode("latin-1"): value.decode("latin-1") for name, value in self.scope["headers"]}

    @cached_property
    def query(self) -> dict[str, list[str]]:
        """The query parameters, each with its values."""
        return parse_qs(self.scope["query_string"].decode("latin-1"), keep_blank_values=True)

    @property
    def content_length(self) -> int | None:
        """The announced length of the body in bytes."""
        length = self.headers.get("content-length")
        if length is not None and not (length.isascii() and length.isdigit()):
            raise BadRequest("The header Content-Length must be a number.", "malformed_request")
        return None if length is None else int(length)

    async def stream(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives, or raise if it exceeds the limit of the route or breaks off."""
        limit, size, more = self.body_limit, 0, True
        if limit is not None and (self.content_length or 0) > limit:
            raise _too_large(limit)
        while more:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise BadRequest("The request broke off.", "malformed_request")
            chunk: bytes = message.get("body", b"")
            size += len(chunk)
            if limit is not None and size > limit:
                raise _too_large(limit)
            if chunk:
                yield chunk
            more = message.get("more_body", False)

    async def body(self) -> bytes:
        """Return the whole body."""
        return b"".join([chunk async for chunk in self.stream()])


class Response:
    """A response whose body is known as a whole."""

    def __init__(
        self,
        content: bytes = b"",
        *,
        status_code: int = 200,
        headers: Mapping[str, str] = {},
        media_type: str = JSON,
    ) -> None:
        self.content = content
        self.status_code = status_code
        self.headers = headers
        self.media_type = media_type

    async def send(self, request: Request, send: Send) -> None:
        """Send the response."""
        await self._start(send, {"content-length": str(len(self.content))})
        await send({"type": "http.response.body", "body": self.content})

    async def _start(self, send: Send, more: Mapping[str, str]) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        if self.status_code not in _BODILESS:
            text = self.media_type.startswith("text/") and "charset=" not in self.media_type
            kind = f"{self.media_type}; charset=utf-8" if text else self.media_type
            headers = {"content-type": kind, **more, **headers}
        encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": self.status_code, "headers": encoded})


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"The body may have at most {limit:,} bytes.")
