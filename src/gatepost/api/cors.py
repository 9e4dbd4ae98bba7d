"""CORS: the origins whose pages may call the API from a browser. Without the setting there are none, and no headers.

preflight (OPTIONS + Origin + Access-Control-Request-Method) ─► 204, the allowed methods and headers (known origins)
any other request with an Origin ─────────────────────────────► its response, with the origin that may read it

Pages send the API key in a header. Sessions are for the gateway's own pages: cookies are never allowed.
"""

from collections.abc import Iterable

from gatepost.api.asgi import Scope
from gatepost.api.json_body import HttpAnswer

Headers = tuple[tuple[bytes, bytes], ...]
_ALLOWED = (
    (b"access-control-allow-methods", b"GET, POST, PUT, PATCH, DELETE"),
    (
        b"access-control-allow-headers",
        b"Authorization, Content-Type, Idempotency-Key, If-None-Match, If-Range, Last-Event-ID, Range",
    ),
    (b"access-control-max-age", b"7200"),
)
_EXPOSED = (
    b"access-control-expose-headers",
    b"Content-Disposition, Content-Range, Deprecation, ETag, Idempotent-Replayed, Link, RateLimit, RateLimit-Policy, "
    b"Retry-After, Sunset, X-Request-Id",
)
_VARY = (b"vary", b"origin")


class CorsPolicy:
    """The origins of the setting `api.cors_origins`."""

    def __init__(self, known: Iterable[str]) -> None:
        self._known = frozenset(origin.encode() for origin in known)

    def headers(self, scope: Scope) -> Headers:
        """Return the headers of a response. They vary by origin, so that caches do not mix up origins."""
        origin = _find(scope, b"origin")
        if origin not in self._known or origin is None:
            return (_VARY,)
        return _VARY, (b"access-control-allow-origin", origin), _EXPOSED

    def preflight(self, scope: Scope) -> HttpAnswer | None:
        """Return the response to a preflight request; None if it is none, or from a forbidden origin."""
        if scope["method"] != "OPTIONS" or _find(scope, b"access-control-request-method") is None:
            return None
        return HttpAnswer(204, b"", headers=_ALLOWED) if _find(scope, b"origin") in self._known else None


def _find(scope: Scope, wanted: bytes) -> bytes | None:
    return next((value for name, value in scope["headers"] if name == wanted), None)
