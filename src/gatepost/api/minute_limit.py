"""So many in any minute: for things that the rate of a key does not bound well."""

from collections import deque
from collections.abc import Hashable

from gatepost.clock import Clock

MINUTE = 60.0
MOST_COUNTED = 5_000  # whoever was quiet for the longest is forgotten first


class MinuteLimit:
    """Counts what each of many does in a minute that moves with the clock, in bounded memory."""

    def __init__(self, most: int, clock: Clock) -> None:
        self.most = most
        self._clock = clock
        self._times: dict[Hashable, deque[float]] = {}

    def take(self, who: Hashable, *, always: bool = False) -> float:
        """Counts one more, and returns 0; or the seconds to wait. `always`: one that is refused counts all the same."""
        now = self._clock.monotonic()
        times = self._times.pop(who, None) or deque(maxlen=self.most)
        full = len(times) == self.most and now - times[0] < MINUTE
        if always or not full:
            times.append(now)
        self._times[who] = times
        if len(self._times) > MOST_COUNTED:
            del self._times[next(iter(self._times))]
        return times[0] + MINUTE - now if full else 0.0
