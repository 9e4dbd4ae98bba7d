"""The throughput of one number: evenly spaced, short delays made up for, no second over the limit.

    sender ─► starts ─► intent committed, files attached ─► calls ─► network
                                                            ▲         │
                                                            └─────────┘ the answer shows when it can have arrived

Messages pass two throttles. The first one decides when they leave the queue. A group commit releases many at once, and
so the second one spaces them again right before the call: the network is what counts. A message that was delayed on its
way arrives together with later ones; so it counts from the latest time at which it can have arrived. A long delay of a
single message comes from the network's processing after it arrived, and counts in part. If half of the recent answers
are that late, the way is slow, or was blocked, and all of the delay counts.
"""

import asyncio
from bisect import bisect_left, bisect_right, insort
from collections import deque

from gatepost.clock import Clock
from gatepost.outbound import pace

_MOST_LATE = 0.1  # seconds of delay that count of a single message
_RECENT = 3  # times a typical answer: how old recent answers are; at least as old as the delay above


class Throttle:
    """Limits the rate of sends."""

    def __init__(self, clock: Clock, rate: float) -> None:
        self._clock = clock
        self._rate = rate
        self._due = 0.0
        self._passed: list[float] = []  # within the last second; sorted
        self._typical = 0.0  # how long an answer takes without delays
        self._delays: deque[tuple[float, float]] = deque()  # of recent answers: when, and how late
        self._lock = asyncio.Lock()

    def change(self, rate: float) -> None:
        """Sets another rate, effective at once."""
        if rate != self._rate:
            self._rate, self._due = rate, 0.0

    def wait(self, now: float) -> float:
        """Seconds until the next one may pass."""
        self._forget(now)
        even, _ = pace.space_evenly(self._due, now, pace.SECOND / self._rate, pace.throughput_burst(self._rate))
        return max(even, pace.second_wait(self._passed, self._rate, now))

    def take(self, now: float) -> None:
        """Counts one that passes now."""
        self._due = max(self._due, now) + pace.SECOND / self._rate
        insort(self._passed, now)

    def note_answer(self, left: float, now: float) -> None:
        """Moves one that passed at `left` to when it can have arrived, given that its answer is here now."""
        took = now - left
        self._typical = pace.typical_latency(self._typical, took, self._rate)
        late = took - self._typical
        self._add_delay(now, late)
        if late > _MOST_LATE:
            late = min(late, max(_MOST_LATE, self._median_delay()))
        if late <= 0:
            return
        place = bisect_left(self._passed, left)
        if place < len(self._passed) and self._passed[place] == left:
            del self._passed[place]
        if left + late > now - pace.SECOND:
            insort(self._passed, left + late)

    def _add_delay(self, now: float, late: float) -> None:
        """Adds the delay of an answer to the recent ones."""
        oldest, most = now - max(_MOST_LATE, _RECENT * self._typical), max(5, int(self._rate / 50))
        self._delays.append((now, late))
        while self._delays[0][0] < oldest or len(self._delays) > most:
            self._delays.popleft()

    def _median_delay(self) -> float:
        return sorted(late for _, late in self._delays)[len(self._delays) // 2]

    def used(self, now: float) -> int:
        """How many passed within the last second."""
        return len(self._passed) - bisect_right(self._passed, now - 1)

    async def acquire(self) -> float:
        """Waits until the caller may pass, first come first served; returns the time, which is counted."""
        now = self._clock.monotonic()
        if not self._lock.locked() and not self.wait(now):
            self.take(now)
            return now
        async with self._lock:
            now = await self._wait_for_slot()
            self.take(now)
            return now

    async def _wait_for_slot(self) -> float:
        """Waits until one may pass. It loops because timers may fire early."""
        while True:
            now = self._clock.monotonic()
            wait = self.wait(now)
            if not wait:
                return now
            await asyncio.sleep(wait)

    def _forget(self, now: float) -> None:
        if self._passed and self._passed[0] <= now - pace.SECOND:
            del self._passed[: bisect_right(self._passed, now - pace.SECOND)]
