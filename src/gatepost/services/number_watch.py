"""Keeping up with an official number: its quality, status, tier and throughput, as the network has them now.

    never read, read long ago, or news that did not tell all ─► GET the number ─► state, limits, connection
                                        ▲                              │ no answer
                                        └──────── 5 s, doubling ───────┘

The channel's owner does it while it has the channel anyway: an idle channel costs nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from gatepost.background import run_loop
from gatepost.clock import Clock
from gatepost.store.channel_head import Lease, StaleOwner
from gatepost.store.network_updates import STALE_NUMBER, clear_stale
from gatepost.store.pool import Database

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
        self._wakeup = asyncio.Event()
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
            self._wakeup.set()

    def wake(self) -> None:
        """Its news comes with the channel's state."""

    async def run(self) -> None:
        """Until stopped, or until the lease is lost."""
        await run_loop(
            "reading of the number",
            self._turn,
            going=lambda: not self._stopping and self._alive(),
            ends_on=(StaleOwner,),
            first_wait=_FIRST_WAIT,
            longest_wait=_LONGEST_WAIT,
            wake=self._wakeup,
            channel=self._lease.channel_id.hex,
        )

    async def _turn(self) -> None:
        self._wakeup.clear()
        if self._due:
            await self._look_up()
        await self._wakeup.wait()

    async def stop(self) -> None:
        self._stopping = True
        self._wakeup.set()

    async def _look_up(self) -> None:
        mark = self._mark
        await self._read()
        if mark is not None:
            await clear_stale(self._db, self._lease, mark, STALE_NUMBER)
        if self._mark == mark:
            self._mark = None
        self._due = False
