"""The tasks of a channel's owner. Each has its own loop; all are started, woken and stopped in the same way.

    start ─► work ─► wait: a wake-up, or the time that `work` returned ─► work …
               │ error: logged, a pause, again            (`background.run_loop`)
               └ the lease is lost: the task ends

A task is stopped before the lease is released. The next owner continues its work from the state in the database.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import datetime
from typing import Any, ClassVar

import msgspec

from gatepost.background import FIRST_WAIT, LONGEST_WAIT, log_failure, run_loop
from gatepost.clock import Clock
from gatepost.model.event import ChannelRef
from gatepost.store.channel_head import Lease, StaleOwner
from gatepost.store.pool import Database

_LOOK_AGAIN = 15.0  # seconds: the clock may be set forward during a longer wait, as after the machine slept


class ChannelContext(msgspec.Struct, frozen=True):
    """The dependencies of every task of a channel. `alive` returns whether the lease is still valid."""

    db: Database
    clock: Clock
    lease: Lease
    channel: ChannelRef
    alive: Callable[[], bool]


class ChannelTask(ABC):
    """A task that the owner runs for a channel while the lease is valid."""

    name: ClassVar[str]
    first_wait: ClassVar[float] = FIRST_WAIT  # seconds after a failure, doubled after each further one
    longest_wait: ClassVar[float] = LONGEST_WAIT
    retry_when_woken: ClassVar[bool] = False  # whether a wake-up ends the pause after a failure early
    gather: ClassVar[float] = 0.0  # seconds between a wake-up and the work, so that a burst is processed together
    costly_to_move: ClassVar[bool] = False  # whether a change of owner disturbs the channel for seconds

    def __init__(self, context: ChannelContext) -> None:
        self._db = context.db
        self._clock = context.clock
        self._lease = context.lease
        self._channel = context.channel
        self._alive = context.alive
        self._wakeup = asyncio.Event()
        self.looked = asyncio.Event()  # set after the first `work`, whether it succeeded or not
        self._stopping = False
        self._next_work: datetime | None = None
        self._working = True  # until the first `work` is done
        self._task: asyncio.Task[None] | None = None

    @abstractmethod
    async def work(self) -> float | None:
        """Do what is due. Return the seconds until the next work, or None to wait for a wake-up."""

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do now, so that the channel may be released."""
        return not self._working and not self._wakeup.is_set()

    @property
    def next_work(self) -> datetime | None:
        """The time of the next work, if known."""
        return self._next_work

    @property
    def going(self) -> bool:
        """Whether the task may start new work."""
        return not self._stopping and self._alive()

    @property
    def ended(self) -> bool:
        """Whether the task was started and has ended."""
        return self._task is not None and self._task.done()

    def wake(self) -> None:
        """Notify the task that there may be work."""
        self._wakeup.set()

    def start(self) -> None:
        self._task = asyncio.create_task(self.run(), name=self.name)
        self._task.add_done_callback(lambda _: self.looked.set())

    async def run(self) -> None:
        """Run until the task is stopped or the lease is lost."""
        await run_loop(
            self.name,
            self._turn,
            going=lambda: self.going,
            ends_on=(StaleOwner,),
            first_wait=self.first_wait,
            longest_wait=self.longest_wait,
            wake=self._wakeup if self.retry_when_woken else None,
            **self._log_fields,
        )

    async def stop(self) -> None:
        """Start no new work, and wait for work that must not be interrupted."""
        self._stopping = True
        self._wakeup.set()

    async def end(self) -> None:
        """Cancel the loop and wait for its end."""
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.wait([self._task])
        if not self._task.cancelled() and (error := self._task.exception()) and not isinstance(error, StaleOwner):
            log_failure(self.name, error, **self._log_fields)

    @property
    def _log_fields(self) -> dict[str, Any]:
        return {"channel": self._channel.id}

    async def _turn(self) -> None:
        self._wakeup.clear()
        self._working = True
        try:
            seconds = await self.work()
        finally:
            self._working = False
            self.looked.set()
        await self._wait(seconds)
        if self.gather and not self._stopping:
            await asyncio.sleep(self.gather)

    async def _wait(self, seconds: float | None) -> None:
        if self._wakeup.is_set():
            return
        if seconds is None:
            await self._wakeup.wait()
            return
        timer = asyncio.get_running_loop().call_later(min(seconds, _LOOK_AGAIN), self._wakeup.set)
        try:
            await self._wakeup.wait()
        finally:
            timer.cancel()
