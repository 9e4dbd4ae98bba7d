"""A limit of actions in a sliding window of time."""

from collections import deque
from collections.abc import Callable, Hashable

from gatepost.clock import Clock

MINUTE = 60.0
MAX_COUNTED = 5_000  # the least recently active are dropped first


class SlidingLimit:
    """Counts the actions of many actors over the last minute, or another time, in bounded memory."""

    def __init__(self, limit: int, clock: Clock, seconds: float = MINUTE) -> None:
        self.limit = limit
        self.seconds = seconds
        self._clock = clock
        self._times: dict[Hashable, deque[float]] = {}
        self._report: Callable[[Hashable, bool], None] | None = None

    def share(self, report: Callable[[Hashable, bool], None]) -> None:
        """Call a function with each action that is counted (False) or given back (True): other processes `note` it."""
        self._report = report

    def note(self, actor: Hashable, given_back: bool) -> None:
        """Count an action of another process, or stop counting it."""
        if given_back:
            self._remove(actor)
        else:
            self._count(actor, always=True)

    def take(self, actor: Hashable, *, always: bool = False) -> float:
        """Count an action and return 0, or return the seconds to wait. `always` counts it in both cases."""
        wait = self._count(actor, always=always)
        if not wait and self._report is not None:
            self._report(actor, False)
        return wait

    def _count(self, actor: Hashable, *, always: bool) -> float:
        now = self._clock.monotonic()
        times = self._times.pop(actor, None) or deque(maxlen=self.limit)
        full = len(times) == self.limit and now - times[0] < self.seconds
        if always or not full:
            times.append(now)
        self._times[actor] = times
        if len(self._times) > MAX_COUNTED:
            del self._times[next(iter(self._times))]
        return times[0] + self.seconds - now if full else 0.0

    def give_back(self, actor: Hashable) -> None:
        """Stop counting the last action of an actor."""
        self._remove(actor)
        if self._report is not None:
            self._report(actor, True)

    def _remove(self, actor: Hashable) -> None:
        times = self._times.get(actor)
        if times:
            times.pop()
        if not times:
            self._times.pop(actor, None)
