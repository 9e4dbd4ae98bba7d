"""Costly requests: exports, imports, searches and uploads. So many at once per key and per process, then 429.

A route says in its `opt` that it is costly: {"costly": ALWAYS}, or {"costly": "q"}, if it is with that query parameter.
The slot is taken when the request is admitted (`app.py`) and given back when it has ended, however it ended
(`front.py`).
"""

from collections.abc import Container
from uuid import UUID

from gatepost.model.errors import LimitReached, LimitState

ALWAYS = "always"
_RETRY_AFTER = 2.0


def is_costly(marked: str | None, query: Container[str]) -> bool:
    """Whether a request is costly, by what its route is marked with."""
    return marked == ALWAYS or (marked is not None and marked in query)


class CostlyRequests:
    """The costly requests that this process is working on."""

    def __init__(self, per_key: int, total: int) -> None:
        self._per_key = per_key
        self._total = total
        self._of_key: dict[UUID, int] = {}

    def begin(self, key_id: UUID) -> None:
        """Counts a request, to be ended; or refuses it."""
        running = self._of_key.get(key_id, 0)
        if running >= self._per_key:
            raise _too_many(f"This key has {running} exports, imports, searches and uploads under way.", self._per_key)
        if self.count >= self._total:
            raise _too_many("Too many exports, imports, searches and uploads are under way on this node.", self._total)
        self._of_key[key_id] = running + 1

    def end(self, key_id: UUID) -> None:
        """Counts a request down."""
        self._of_key[key_id] -= 1
        if not self._of_key[key_id]:
            del self._of_key[key_id]

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(self._of_key.values())


def _too_many(what: str, most: int) -> LimitReached:
    return LimitReached(
        f"{what} Wait until one has ended.",
        "too_many_requests",
        retry_after=_RETRY_AFTER,
        limit=LimitState("costly", most, int(_RETRY_AFTER), 0, int(_RETRY_AFTER)),
    )
