"""A chore: work that a channel's owner does in pieces, beside sending and delivering, when somebody rings.

ring ─► work, as far as it goes ─► a pause, so that what comes meanwhile is done together ─► the next ring

Whatever goes wrong in it, the channel goes on: it is noted, and tried again after a while.
"""

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import datetime

from gatepost.background import run_loop
from gatepost.store.channel_head import Lease, StaleOwner

_AFTER_TROUBLE = 5.0


class ChannelTask(ABC):
    """One kind of such work for one channel, as long as we own it."""

    name = "chore"
    next_work: datetime | None = None

    def __init__(self, lease: Lease, alive: Callable[[], bool], pause: float) -> None:
        self._lease = lease
        self._alive = alive
        self._pause = pause
        self._wakeup = asyncio.Event()
        self._wakeup.set()
        self._stopping = False
        self._busy = True

    @abstractmethod
    async def work(self) -> float | None:
        """Does what there is to do; returns the seconds to the next look, None: until there is a ring."""

    @property
    def idle(self) -> bool:
        return not self._busy and not self._wakeup.is_set()

    @property
    def going(self) -> bool:
        """Whether it may go on with the next piece."""
        return not self._stopping and self._alive()

    def wake(self) -> None:
        """There may be something to do."""
        self._wakeup.set()

    async def run(self) -> None:
        """Until stopped, or until the lease is lost."""
        await run_loop(
            self.name,
            self._turn,
            going=lambda: self.going,
            ends_on=(StaleOwner,),
            first_wait=_AFTER_TROUBLE,
            channel=self._lease.channel_id.hex,
        )

    async def _turn(self) -> None:
        self._wakeup.clear()
        self._busy = True
        try:
            wait = await self.work()
        finally:
            self._busy = False
        if not self._stopping:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wakeup.wait(), wait)
            await asyncio.sleep(self._pause)

    async def stop(self) -> None:
        self._stopping = True
        self._wakeup.set()
