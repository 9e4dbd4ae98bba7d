"""The throughput of one number, as it lives: spaced evenly, a little lateness made good, no second over the limit.

    lane ─► starts ─► intent committed, files attached ─► calls ─► network
                                                            ▲         │
                                                            └─────────┘ the answer tells when it can have arrived

Messages pass two of these. The first keeps what waits in the queue; a group commit lets many go at once, and so the
second spaces them again, right before the call: it is the network that counts. What was held up on the way arrives
together with what left later; so a message counts from when it can have arrived at the latest.
"""

import asyncio
from bisect import bisect_left, bisect_right, insort

from gatepost.clock import Clock
from gatepost.outbound import pace

_MOST_LATE = 0.1  # beyond that, an answer says more about the network's work than about the way


class Throttle:
    """Lets through what the rate allows."""

    def __init__(self, clock: Clock, rate: float) -> None:
        self._clock = clock
        self._rate = rate
        self._due = 0.0
        self._passed: list[float] = []  # lately; sorted
        self._usual = 0.0  # how long an answer takes when nothing holds it up
        self._line = asyncio.Lock()

    def change(self, rate: float) -> None:
        """Another rate counts at once, for what passed lately too."""
        if rate != self._rate:
            self._rate, self._due = rate, 0.0

    def wait(self, now: float) -> float:
        """How long until the next may pass."""
        self._forget(now)
        even, _ = pace.evenly(self._due, now, pace.SECOND / self._rate, pace.throughput_burst(self._rate))
        return max(even, pace.second_wait(self._passed, self._rate, now))

    def take(self, now: float) -> None:
        """One passes."""
        self._due = max(self._due, now) + pace.SECOND / self._rate
        insort(self._passed, now)

    def answered(self, left: float, now: float) -> None:
        """The answer to one that passed at `left` is here: it may have arrived later than it left."""
        took = now - left
        self._usual = pace.usual(self._usual, took)
        late = min(took - self._usual, _MOST_LATE)
        place = bisect_left(self._passed, left)
        if late > 0 and place < len(self._passed) and self._passed[place] == left:
            del self._passed[place]
            insort(self._passed, left + late)

    def used(self, now: float) -> int:
        """How many passed within the last second."""
        return len(self._passed) - bisect_right(self._passed, now - 1)

    async def passage(self) -> float:
        """Returns when the caller may pass, who then has; first come, first served. Tells the moment."""
        now = self._clock.monotonic()
        if not self._line.locked() and not self.wait(now):
            self.take(now)
            return now
        async with self._line:
            now = await self._free()
            self.take(now)
            return now

    async def _free(self) -> float:
        """Waits until one may pass; timers may be early."""
        while True:
            now = self._clock.monotonic()
            wait = self.wait(now)
            if not wait:
                return now
            await asyncio.sleep(wait)

    def _forget(self, now: float) -> None:
        if self._passed and self._passed[0] <= now - pace.SECOND:
            del self._passed[: bisect_right(self._passed, now - pace.SECOND)]
