"""Keeping up with an official number: its quality, status, tier and throughput, as the network has them now.

    never read, read long ago, or news that did not tell all ─► GET the number ─► state, limits, connection
                                        ▲                              │ no answer
                                        └──────── 5 s, doubling ───────┘

The channel's owner does it while it has the channel anyway: an idle channel costs nothing.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import structlog

from gatepost.clock import Clock
from gatepost.model.errors import GatepostError
from gatepost.store.heads import Lease
from gatepost.store.news import STALE_NUMBER, clear_stale
from gatepost.store.pool import Database

log = structlog.get_logger("gatepost.number")
_FIRST_WAIT, _LONGEST_WAIT = 5.0, 600.0


def is_due(state: dict[str, object], now: datetime, every: timedelta) -> bool:
    """Whether the number should be read: it never was, that is long ago, or something has changed since."""
    read_at = state.get("checked_at")
    if STALE_NUMBER in state or not isinstance(read_at, str):
        return True
    return datetime.fromisoformat(read_at) + every <= now


class NumberWatch:
    """Reads a channel's number when it is due."""

    next_work: datetime | None = None

    def __init__(
        self,
        db: Database,
        clock: Clock,
        lease: Lease,
        read: Callable[[], Awaitable[object]],
        alive: Callable[[], bool],
        every: float,
    ) -> None:
        self._db = db
        self._clock = clock
        self._lease = lease
        self._read = read
        self._alive = alive
        self._every = timedelta(seconds=every)
        self._bell = asyncio.Event()
        self._due = False
        self._mark: str | None = None
        self._stopping = False

    @property
    def idle(self) -> bool:
        """Only news keeps a channel from being given back."""
        return self._mark is None

    def look(self, state: dict[str, object]) -> None:
        """The channel's state was read: begins where it says that the number is due."""
        mark = state.get(STALE_NUMBER)
        self._mark = str(mark) if mark is not None else None
        if not self._due and is_due(state, self._clock.now(), self._every):
            self._due = True
            self._bell.set()

    def ring(self) -> None:
        """Its news comes with the channel's state."""

    async def run(self) -> None:
        """Until stopped, or until the lease is lost."""
        wait = 0.0
        while not self._stopping and self._alive():
            self._bell.clear()
            if self._due:
                wait = 0.0 if await self._look_up() else min(max(_FIRST_WAIT, wait * 2), _LONGEST_WAIT)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._bell.wait(), wait or None)

    async def stop(self) -> None:
        self._stopping = True
        self._bell.set()

    async def _look_up(self) -> bool:
        mark = self._mark
        try:
            await self._read()
            if mark is not None:
                await clear_stale(self._db, self._lease, mark, STALE_NUMBER)
        except GatepostError as error:
            log.warning("number not read", channel=self._lease.channel_id.hex, reason=error.message)
            return False
        if self._mark == mark:
            self._mark = None
        self._due = False
        return True
