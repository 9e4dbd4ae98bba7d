"""The one source of time. `app.py` passes it on, so that tests can move it.

Times that one node writes and another compares (leases, due times, schedules, expiry) use the database's clock. A
`DatabaseClock` knows the offset between it and this machine's clock.
"""

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

_SAME = 1.0  # seconds


class Clock(Protocol):
    def now(self) -> datetime:
        """Return the current time in UTC."""

    def monotonic(self) -> float:
        """Return seconds that never jump, for pacing and deadlines."""


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


class DatabaseClock:
    """This machine's clock, corrected by its offset from the database's clock."""

    def __init__(self, local: Clock) -> None:
        self.local = local
        self.offset = timedelta(0)  # database time minus local time

    def now(self) -> datetime:
        return self.local.now() + self.offset

    def monotonic(self) -> float:
        return self.local.monotonic()

    def correct(self, asked_at: datetime, shown: datetime, answered_at: datetime) -> bool:
        """Correct the offset by the database's time, read between two local times. Return whether the offset changed.

        It does not change while it is consistent with both local times: such a correction would only add jitter.
        """
        ahead, behind = shown - asked_at, shown - answered_at
        if asked_at > answered_at or behind <= self.offset <= ahead:
            return False
        self.offset = behind + (ahead - behind) / 2
        return True


class FollowingClock:
    """The clock of another process, which may move it: for test set-ups that share the sandbox's clock.

    `monotonic` jumps forward with it, so that deadlines pass; it never goes back.
    """

    def __init__(self) -> None:
        self._now, self._speed = time.time(), 1.0
        self._anchor, self._leaps = time.monotonic(), 0.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(self._seconds(), UTC)

    def monotonic(self) -> float:
        return time.monotonic() + self._leaps

    def set_time(self, now: float, speed: float) -> None:
        """Set the time in Unix seconds. A difference below one second is ignored: it is the latency of the message."""
        leap = now - self._seconds()
        if speed == self._speed and abs(leap) < _SAME:
            return
        self._now, self._anchor, self._speed = now, time.monotonic(), speed
        self._leaps += max(leap, 0.0) if abs(leap) >= _SAME else 0.0

    def _seconds(self) -> float:
        return self._now + (time.monotonic() - self._anchor) * self._speed
