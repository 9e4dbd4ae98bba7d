"""Fair shares: how many POSTs an endpoint may have under way, by how it fares and by how many others there are.

one endpoint    halved at each failure, never below one; one more at each success, up to `webhooks.in_flight`
one process     `webhooks.total_in_flight` in all; beyond half of that, nobody gets more than an even share, with one
                share left for whoever comes next: an endpoint that is slow today was there first
"""

from collections.abc import Callable, Hashable
from itertools import islice


class EndpointConcurrency:
    """How many POSTs one endpoint is trusted with at once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.now = most

    def note(self, *, ok: bool) -> None:
        self.now = min(self._most, self.now + 1) if ok else max(1, self.now // 2)


class ConcurrencyPool:
    """The places of one process. Whoever finds none is called when one may be free."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._half = max(1, total // 2)
        self._held: dict[Hashable, int] = {}
        self._waiting: dict[Hashable, Callable[[], None]] = {}
        self.used = 0

    def room(self, who: Hashable) -> int:
        """How many more places there are for `who`."""
        if self.used < self._half:
            return self._half - self.used
        many = len(self._held.keys() | self._waiting.keys() | {who})
        even = max(1, self._total // (many + 1))
        return max(0, min(even - self._held.get(who, 0), self._total - self.used))

    def take(self, who: Hashable) -> bool:
        """Takes a place, if there is one."""
        if not self.room(who):
            return False
        self._held[who] = self._held.get(who, 0) + 1
        self.used += 1
        return True

    def give(self, who: Hashable) -> None:
        """Gives a place back, and wakes who waited longest."""
        self.used -= 1
        self._held[who] -= 1
        if not self._held[who]:
            del self._held[who]
        # Below half everybody may take: nobody must be left asleep there, for nothing else would wake them.
        self._wake(len(self._waiting) if self.used < self._half else 2)

    def wait(self, who: Hashable, wake: Callable[[], None]) -> None:
        """Calls once, when a place may be free."""
        self._waiting.setdefault(who, wake)

    def leave(self, who: Hashable) -> None:
        """Waits no longer."""
        self._waiting.pop(who, None)

    def _wake(self, most: int) -> None:
        for who in list(islice(self._waiting, most)):
            if self.used >= self._total:
                return  # those before took it all: whoever would find nothing keeps its turn
            self._waiting.pop(who)()
