"""Limits of POSTs: how many an endpoint may have in flight, by its health and by the number of others, and its rate.

one endpoint    halved at each failure, at least one; one more at each success, up to `webhooks.in_flight`
one process     `webhooks.total_in_flight` in all; beyond half of that, no endpoint gets more than an even share, with
                one share left for the next endpoint, because a slow endpoint may have taken its slots first
"""

from collections import deque
from collections.abc import Callable, Hashable
from itertools import islice

SECOND = 1.0


class EndpointConcurrency:
    """How many POSTs one endpoint may have in flight at once."""

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self.limit = maximum

    def adjust(self, *, ok: bool) -> None:
        self.limit = min(self._maximum, self.limit + 1) if ok else max(1, self.limit // 2)


class ConcurrencyPool:
    """The slots of one process. A user that finds none is called when one may be free."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._half = max(1, total // 2)
        self._held: dict[Hashable, int] = {}
        self._waiting: dict[Hashable, Callable[[], None]] = {}
        self._without_slot = 0  # of those that wait
        self.used = 0

    def free_slots(self, user: Hashable) -> int:
        """Return how many more slots `user` may take."""
        if self.used < self._half:
            return self._half - self.used
        new = user not in self._held and user not in self._waiting
        users = len(self._held) + self._without_slot + new
        even = max(1, self._total // (users + 1))
        return max(0, min(even - self._held.get(user, 0), self._total - self.used))

    def acquire(self, user: Hashable) -> bool:
        """Take a slot; False if there is none."""
        if not self.free_slots(user):
            return False
        held = self._held.get(user, 0)
        if not held and user in self._waiting:
            self._without_slot -= 1
        self._held[user] = held + 1
        self.used += 1
        return True

    def release(self, user: Hashable) -> None:
        """Return a slot, and call the users that have waited longest."""
        self.used -= 1
        self._held[user] -= 1
        if not self._held[user]:
            del self._held[user]
            if user in self._waiting:
                self._without_slot += 1
        # Below half every user may take a slot, and nothing else would call those that still wait.
        if self._waiting:
            self._call(len(self._waiting) if self.used < self._half else 2)

    def wait(self, user: Hashable, call: Callable[[], None]) -> None:
        """Call once, when a slot may be free."""
        if user not in self._waiting:
            self._waiting[user] = call
            self._without_slot += user not in self._held

    def leave(self, user: Hashable) -> None:
        """Stop waiting."""
        if user in self._waiting:
            self._remove(user)

    def _remove(self, user: Hashable) -> Callable[[], None]:
        self._without_slot -= user not in self._held
        return self._waiting.pop(user)

    def _call(self, count: int) -> None:
        for user in list(islice(self._waiting, count)):
            if self.used >= self._total:
                return  # those before took every slot: the others keep their turn
            self._remove(user)()


class SlidingRate:
    """At most `limit` POSTs in every second, wherever it begins; None: no limit. Times must not decrease."""

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
