"""Deprecated routes: the headers of their responses, and who still uses them.

A line in DEPRECATIONS is enough. From then on the route answers with `Deprecation` (RFC 9745), `Sunset`
(RFC 8594) and a link to what to use instead, the reference marks it, and its use is logged once an hour per key.
"""

from collections.abc import Container, Mapping
from datetime import datetime, timedelta
from email.utils import format_datetime
from uuid import UUID

import msgspec
import structlog
from litestar.types import HTTPScope

from gatepost.clock import Clock
from gatepost.model import ids, times
from gatepost.model.account import Caller

log = structlog.get_logger("gatepost.api")
NOTICE = timedelta(days=180)  # between the first word of an end and the end
_AGAIN = timedelta(hours=1)
_MOST = 20_000

Headers = tuple[tuple[bytes, bytes], ...]


class Deprecation(msgspec.Struct, frozen=True):
    """The end of a route: announced since, gone at, and where to read what to use instead."""

    since: datetime
    sunset: datetime
    docs: str


DEPRECATIONS: dict[str, Deprecation] = {}  # "GET /api/v1/things/{thing_id}" → its end


def check_deprecations(deprecations: Mapping[str, Deprecation], routes: Container[str]) -> None:
    """Refuses a table that would break the promise of the contract, or speaks of nothing."""
    for route, deprecation in deprecations.items():
        if route not in routes:
            raise ValueError(f"{route} is to end, but there is no such route")
        if deprecation.sunset - deprecation.since < NOTICE:
            raise ValueError(f"{route} must be announced at least {NOTICE.days} days before its end")


def show_deprecation(deprecation: Deprecation) -> Headers:
    """What every answer of the route says."""
    return (
        (b"deprecation", b"@%d" % int(deprecation.since.timestamp())),
        (b"sunset", format_datetime(deprecation.sunset, usegmt=True).encode()),
        (b"link", f'<{deprecation.docs}>; rel="deprecation"'.encode()),
    )


class Deprecations:
    """Announces the end of a route in every response, and from time to time in the log."""

    def __init__(self, deprecations: Mapping[str, Deprecation], clock: Clock) -> None:
        self._deprecations = deprecations
        self._headers = {route: show_deprecation(deprecation) for route, deprecation in deprecations.items()}
        self._clock = clock
        self._logged: dict[tuple[str, UUID], datetime] = {}

    def headers(self, scope: HTTPScope) -> Headers:
        """For the answer to a request that has found its route; nothing for all others."""
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
            if len(self._logged) >= _MOST:
                self._logged.clear()
            self._logged[place] = now
            log.warning(
                "deprecated route used",
                route=route,
                channel=ids.show("ch", caller.channel_id),
                key=ids.show("key", caller.principal.id),
                sunset=times.show(self._deprecations[route].sunset),
            )
