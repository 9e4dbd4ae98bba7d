"""A limit of concurrent costly requests (exports, imports, searches, uploads) per key or session, and per process.

A route declares in its `opt` that it is costly: {"costly": ALWAYS}, or {"costly": "q"} if it is with that query
parameter. `api/app.py` takes a slot when it admits the request; `api/dispatcher.py` gives it back at the end.
"""

from collections.abc import Container
from uuid import UUID

from gatepost.model.account import Principal
from gatepost.model.errors import LimitReached, LimitState

ALWAYS = "always"
_RETRY_AFTER = 2.0


def is_costly(marked: str | None, query: Container[str]) -> bool:
    """Return whether a request is costly, by the mark of its route."""
    return marked == ALWAYS or (marked is not None and marked in query)


class CostlyRequests:
    """Counts the costly requests that this process works on, by principal."""

    def __init__(self, per_key: int, total: int) -> None:
        self._per_key = per_key
        self._total = total
        self._running: dict[UUID, int] = {}

    def begin(self, principal: Principal) -> None:
        """Count a request until `end`, or reject it."""
        running = self._running.get(principal.id, 0)
        if running >= self._per_key:
            raise _too_many(
                f"This {principal.noun} has {running} exports, imports, searches and uploads in progress.",
                self._per_key,
            )
        if self.count >= self._total:
            raise _too_many(
                "Too many exports, imports, searches and uploads are in progress on this node.", self._total
            )
        self._running[principal.id] = running + 1

    def end(self, principal_id: UUID) -> None:
        """Stop counting a request."""
        self._running[principal_id] -= 1
        if not self._running[principal_id]:
            del self._running[principal_id]

    @property
    def count(self) -> int:
        """The number of requests in progress."""
        return sum(self._running.values())


def _too_many(reason: str, limit: int) -> LimitReached:
    return LimitReached(
        f"{reason} Retry when one of them has ended.",
        "too_many_requests",
        retry_after=_RETRY_AFTER,
        limit=LimitState("costly", limit, int(_RETRY_AFTER), 0, int(_RETRY_AFTER)),
    )
