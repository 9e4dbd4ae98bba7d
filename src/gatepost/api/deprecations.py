"""Deprecated routes: the headers of their responses, and a log of their use.

To deprecate a route, add it to DEPRECATIONS. Its responses then have the headers `Deprecation` (RFC 9745), `Sunset`
(RFC 8594) and `Link` to what to use instead, the reference marks it, and its use is logged once an hour per key.
"""

from collections.abc import Container, Mapping
from datetime import datetime, timedelta
from email.utils import format_datetime
from uuid import UUID

import msgspec
import structlog

from gatepost.api.asgi import Scope
from gatepost.clock import Clock
from gatepost.model import ids, times
from gatepost.model.account import Caller

log = structlog.get_logger("gatepost.api")
NOTICE = timedelta(days=180)  # minimum time between announcement and end
_AGAIN = timedelta(hours=1)
_MAX = 20_000

Headers = tuple[tuple[bytes, bytes], ...]


class Deprecation(msgspec.Struct, frozen=True):
    """The deprecation of a route: since when, when it is removed, and the page about what to use instead."""

    since: datetime
    sunset: datetime
    docs: str


DEPRECATIONS: dict[str, Deprecation] = {}  # by route, such as "GET /api/v1/things/{thing_id}"


def check_deprecations(deprecations: Mapping[str, Deprecation], routes: Container[str]) -> None:
    """Raise if an entry names an unknown route, or has less notice than the contract promises."""
    for route, deprecation in deprecations.items():
        if route not in routes:
            raise ValueError(f"{route} is to end, but there is no such route")
        if deprecation.sunset - deprecation.since < NOTICE:
            raise ValueError(f"{route} must be announced at least {NOTICE.days} days before its end")


def show_deprecation(deprecation: Deprecation) -> Headers:
    """Return the headers of the route's responses."""
    return (
        (b"deprecation", b"@%d" % int(deprecation.since.timestamp())),
        (b"sunset", format_datetime(deprecation.sunset, usegmt=True).encode()),
        (b"link", f'<{deprecation.docs}>; rel="deprecation"'.encode()),
    )


class Deprecations:
    """Adds deprecation headers to responses, and logs the use of deprecated routes."""

    def __init__(self, deprecations: Mapping[str, Deprecation], clock: Clock) -> None:
        self._deprecations = deprecations
        self._headers = {route: show_deprecation(deprecation) for route, deprecation in deprecations.items()}
        self._clock = clock
        self._logged: dict[tuple[str, UUID], datetime] = {}

    def headers(self, scope: Scope) -> Headers:
        """Return the headers for the response to a request; none if its route is not deprecated."""
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        route = f"{method} {scope.get('path_template') or scope['path']}"
        if route not in self._headers:
            return ()
        caller = scope.get("state", {}).get("caller")
        if caller is not None:
            self._note(route, caller)
        return self._headers[route]

    def _note(self, route: str, caller: Caller) -> None:
        now, place = self._clock.now(), (route, caller.principal.id)
        logged = self._logged.get(place)
        if logged is None or now - logged >= _AGAIN:
            if len(self._logged) >= _MAX:
                self._logged.clear()
            self._logged[place] = now
            log.warning(
                "deprecated route used",
                route=route,
                channel=ids.format_id("ch", caller.channel_id),
                **_principal(caller),
                sunset=times.format_time(self._deprecations[route].sunset),
            )


def _principal(caller: Caller) -> dict[str, str]:
    """Return the log field of a caller's key or session."""
    principal = caller.principal
    return {principal.kind: ids.format_id("ses" if principal.kind == "session" else "key", principal.id)}
