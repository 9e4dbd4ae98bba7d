"""Answers that are written while they are sent, for as long as their key is good."""

from collections.abc import AsyncIterator
from typing import Any

from litestar import Litestar, Request
from litestar.response import Stream
from litestar.response.base import ASGIResponse

from gatepost.access.access_recheck import checked_parts


class StreamResponse(Stream):
    """A stream that does not begin for HEAD, which wants its headers only, and that ends when its key does."""

    def to_asgi_response(self, app: Litestar | None, request: Request[Any, Any, Any], **options: Any) -> ASGIResponse:
        if request.method == "HEAD":
            self.iterator = ()
        elif isinstance(self.iterator, AsyncIterator):
            self.iterator = checked_parts(request.scope, self.iterator)
        return super().to_asgi_response(app, request, **options)
