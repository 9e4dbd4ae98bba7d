"""A clock for tests."""

from datetime import datetime, timedelta


class MovableClock:
    """A clock that only moves when a test advances it."""

    def __init__(self, start: datetime) -> None:
        self._now = start

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._now.timestamp()

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)
