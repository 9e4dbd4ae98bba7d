"""The network's rate limits as pure arithmetic, and the state that applies them to one number.

Throughput: at most N messages, in and out together, in any one second.

Pair limit: one message per interval to the same person. Up to `burst` messages may be sent within one interval, but
then no more are accepted until one interval has passed for each message of the burst.

    interval 6 s:   ││││ ─────────── refused ─────────── │
                    0  6                               24

Marketing: at most N templates of this category to the same person in 24 hours.
"""

from collections import deque
from typing import NamedTuple

from gatepost_sandbox.settings import Limits

THROUGHPUT_REACHED = 130429
PAIR_REACHED = 131056
_SWEEP_AT = 50_000
_DAY = 24 * 3600.0


class Burst(NamedTuple):
    """Messages to one person that share one interval."""

    start: float
    size: int


def next_burst(burst: Burst | None, now: float, interval: float, limit: int) -> Burst | None:
    """Return the state after one more message to this person, or None when it comes too soon."""
    if burst is None or now >= burst.start + interval * burst.size:
        return Burst(now, 1)
    if now < burst.start + interval and burst.size < limit:
        return Burst(burst.start, burst.size + 1)
    return None


def forget_before(times: deque[float], cutoff: float) -> None:
    """Drop the times that are no longer inside the window."""
    while times and times[0] <= cutoff:
        times.popleft()


class RecentMarketing:
    """The marketing templates that people got from one number in the last 24 hours."""

    def __init__(self) -> None:
        self._times: dict[str, deque[float]] = {}
        self._sweep_at = _SWEEP_AT

    def take(self, person: str, now: float, limit: int) -> bool:
        """Count one more to a person; return False, and do not count it, if the person has got as many as allowed."""
        times = self._times.setdefault(person, deque())
        forget_before(times, now - _DAY)
        if len(times) >= limit:
            return False
        times.append(now)
        if len(self._times) > self._sweep_at:
            self._times = {one: got for one, got in self._times.items() if got and got[-1] > now - _DAY}
            self._sweep_at = max(_SWEEP_AT, 2 * len(self._times))
        return True

    def move_person(self, old: str, new: str) -> None:
        """Add what a person got to what their new number got before."""
        if old in self._times:
            self._times[new] = deque(sorted([*self._times.get(new, ()), *self._times.pop(old)]))


class Pace:
    """The recent sends of one number."""

    def __init__(self) -> None:
        self._times: deque[float] = deque()
        self._bursts: dict[str, Burst] = {}
        self._sweep_at = _SWEEP_AT

    def take(self, to: str, now: float, limits: Limits) -> int | None:
        """Count one outgoing message, or return the error code of its refusal; a refused message is not counted."""
        if limits.throughput is not None:
            forget_before(self._times, now - 1.0)
            if len(self._times) >= limits.throughput:
                return THROUGHPUT_REACHED
        if limits.pair_interval is not None:
            burst = next_burst(self._bursts.get(to), now, limits.pair_interval, limits.pair_burst)
            if burst is None:
                return PAIR_REACHED
            self._bursts[to] = burst
            if len(self._bursts) > self._sweep_at:
                self._sweep(now, limits.pair_interval)
        if limits.throughput is not None:
            self._times.append(now)
        return None

    def note_incoming(self, now: float) -> None:
        """Count one incoming message: it uses throughput and is never refused."""
        forget_before(self._times, now - 1.0)
        self._times.append(now)

    def _sweep(self, now: float, interval: float) -> None:
        self._bursts = {to: burst for to, burst in self._bursts.items() if burst.start + interval * burst.size > now}
        self._sweep_at = max(_SWEEP_AT, 2 * len(self._bursts))
