"""A rate limit that holds in every second, wherever the second begins, by the start times of the last POSTs."""

from collections import deque

SECOND = 1.0


class SlidingRate:
    """At most `limit` POSTs in any sliding second; None: no limit. Times must not decrease."""

    def __init__(self, limit: int | None) -> None:
        self._begun: deque[float] = deque()
        self.change(limit)

    def change(self, limit: int | None) -> None:
        """Set another limit; POSTs that were begun before still count."""
        self.limit = limit
        self._begun = deque(self._begun, maxlen=limit or 0)

    def free_at(self) -> float:
        """When the next POST may begin."""
        full = self.limit is not None and len(self._begun) == self.limit
        return self._begun[0] + SECOND if full else 0.0

    def quiet_at(self) -> float:
        """When another process may begin without counting our POSTs."""
        return self._begun[-1] + SECOND if self._begun else 0.0

    def begin(self, now: float) -> None:
        self._begun.append(now)
