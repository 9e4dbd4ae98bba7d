"""Answers that are written while they are sent."""

from typing import Any

from litestar import Litestar, Request
from litestar.response import Stream
from litestar.response.base import ASGIResponse


class Streamed(Stream):
    """A stream that does not begin for HEAD, which wants its headers only."""

    def to_asgi_response(self, app: Litestar | None, request: Request[Any, Any, Any], **options: Any) -> ASGIResponse:
        if request.method == "HEAD":
            self.iterator = ()
        return super().to_asgi_response(app, request, **options)
