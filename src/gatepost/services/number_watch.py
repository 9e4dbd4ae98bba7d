"""Keeps the state of an official number current: its quality, status, tier and throughput.

    never read, read long ago, or changed since ─► GET the number ─► state, limits, connection
                                   ▲                     │ no answer
                                   └── 5 s, doubling ────┘

Only the owner of a channel reads its number: an idle channel costs nothing.
"""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta

from gatepost.channel_task import ChannelContext
from gatepost.services.stale_watch import StaleWatch
from gatepost.store.network_updates import STALE_NUMBER


def is_due(state: Mapping[str, object], now: datetime, every: timedelta) -> bool:
    """Return whether the number must be read: it never was, not recently, or it has changed since."""
    read_at = state.get("checked_at")
    if STALE_NUMBER in state or not isinstance(read_at, str):
        return True
    return datetime.fromisoformat(read_at) + every <= now


class NumberWatch(StaleWatch):
    """Reads a channel's number when it is due."""

    name = "reading of the number"
    mark = STALE_NUMBER

    def __init__(self, context: ChannelContext, read: Callable[[], Awaitable[object]], every: float) -> None:
        super().__init__(context)
        self._read = read
        self._every = timedelta(seconds=every)

    def is_due(self, state: Mapping[str, object]) -> bool:
        return is_due(state, self._clock.now(), self._every)

    async def read(self) -> None:
        await self._read()
