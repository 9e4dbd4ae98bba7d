"""A rate that holds in every second, wherever the second begins: by the times of the last POSTs."""

from collections import deque

SECOND = 1.0


class SlidingRate:
    """At most `most` POSTs in any sliding second; None: no limit. The time is handed in, and never goes back."""

    def __init__(self, most: int | None) -> None:
        self._begun: deque[float] = deque()
        self.change(most)

    def change(self, most: int | None) -> None:
        """Another limit; what was begun under the old one counts."""
        self.most = most
        self._begun = deque(self._begun, maxlen=most or 0)

    def free_at(self) -> float:
        """When the next POST may begin."""
        full = self.most is not None and len(self._begun) == self.most
        return self._begun[0] + SECOND if full else 0.0

    def quiet_at(self) -> float:
        """When another process may begin as if nothing had been."""
        return self._begun[-1] + SECOND if self._begun else 0.0

    def begin(self, now: float) -> None:
        """One POST begins."""
        self._begun.append(now)
