"""Streamed responses, which end when their key becomes invalid."""

from collections.abc import AsyncIterator
from typing import Any

from litestar import Litestar, Request
from litestar.response import Stream
from litestar.response.base import ASGIResponse

from gatepost.access.access_recheck import checked_parts


class StreamResponse(Stream):
    """A stream that sends only headers for HEAD, and that ends when its key becomes invalid."""

    def to_asgi_response(self, app: Litestar | None, request: Request[Any, Any, Any], **options: Any) -> ASGIResponse:
        if request.method == "HEAD":
            self.iterator = ()
        elif isinstance(self.iterator, AsyncIterator):
            self.iterator = checked_parts(request.scope, self.iterator)
        return super().to_asgi_response(app, request, **options)
