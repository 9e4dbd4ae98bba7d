"""One channel while this process owns it: a lane that sends, a round per endpoint that delivers, and its duties.

begin ─► lane, duties ─► look: settings, endpoints ─► rounds       again after each ring, at most once a second
end   ─► nothing new begins ─► what is in flight comes to its end ─► how far each endpoint is, noted
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

import structlog

from gatepost.background import attempt, log_failure
from gatepost.clock import Clock
from gatepost.model.errors import Unavailable
from gatepost.model.event import ChannelRef
from gatepost.outbound.lane import Lane
from gatepost.store.deliveries import Mark, Target, read_targets, save_cursors
from gatepost.store.heads import End, Lease, StaleOwner
from gatepost.store.pool import Database
from gatepost.webhooks.deliver import Round

log = structlog.get_logger("gatepost.owner")
_REFRESH_EVERY = 1.0


class Duty(Protocol):
    """Something else that a channel's owner does besides sending and delivering: a link to keep, files to fetch."""

    async def run(self) -> None:
        """Until stopped, or until the lease is lost."""

    async def stop(self) -> None:
        """Ends what is under way."""

    def ring(self) -> None:
        """There may be something new."""

    @property
    def idle(self) -> bool: ...

    @property
    def next_work(self) -> datetime | None: ...


class Holding:
    """One channel while we own it."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        lease: Lease,
        valid_until: float,
        make_round: Callable[["Holding", Target], Round],
        tune: Callable[["Holding", Lane], Awaitable[None]],
    ) -> None:
        self.lease = lease
        self.valid_until = valid_until
        self.seen: End | None = None
        self.busy_at = clock.monotonic()
        self._db = db
        self._clock = clock
        self._make_round = make_round
        self._tune = tune
        self._lane: Lane | None = None
        self.duties: Sequence[Duty] = ()
        self.channel: ChannelRef | None = None  # how its events name it, once it is served
        self._rounds: dict[UUID, tuple[Round, asyncio.Task[None]]] = {}
        self._marks: dict[UUID, Mark] = {}
        self._running: list[asyncio.Task[None]] = []
        self._refreshing: asyncio.Task[None] | None = None
        self._one_look = asyncio.Lock()
        self._refreshed_at = 0.0
        self._stale = False
        self._ended = False

    def alive(self) -> bool:
        """Whether we may still act for the channel."""
        return self._clock.monotonic() < self.valid_until

    async def begin(self, lane: Lane) -> None:
        self._lane = lane
        self._running = [asyncio.create_task(lane.run()), *(asyncio.create_task(duty.run()) for duty in self.duties)]
        self._stale = False
        await self._look()
        if self._stale:
            self.refresh()

    def ring(self, *, sending: bool = True) -> None:
        """There may be something new: to send, to deliver, or a changed endpoint."""
        if self._lane and sending:
            self._lane.ring()
        for round_, _ in self._rounds.values():
            round_.ring()
        for duty in self.duties:
            duty.ring()
        self.refresh()

    def refresh(self) -> None:
        """Settings or endpoints may have changed."""
        self._stale = True
        if self._lane and not self._ended and (self._refreshing is None or self._refreshing.done()):
            self._refreshing = asyncio.create_task(self._refresh_soon())

    async def _refresh_soon(self) -> None:
        """At most once a second, and never less than a second after something may have changed."""
        while self._stale and self.alive():
            await asyncio.sleep(max(0.0, self._refreshed_at + _REFRESH_EVERY - self._clock.monotonic()))
            self._stale = False
            await self._look()

    async def _look(self) -> None:
        """One at a time: two could each begin a round for the same endpoint. One that fails is repeated."""
        async with self._one_look:
            try:
                await self._refresh()
            except Unavailable:
                self._stale = True
            except Exception as error:
                self._stale = True
                log_failure("reading of a channel's settings", error, channel=self.lease.channel_id.hex)

    @property
    def broken(self) -> bool:
        """Whether its lane or one of its duties has ended by itself."""
        return not self._running or any(task.done() for task in self._running)

    @property
    def idle(self) -> bool:
        rounds = (
            round_.idle and not task.done() for round_, task in self._rounds.values()
        )  # one that broke is replaced
        return bool(self._lane and self._lane.idle) and all(rounds) and all(duty.idle for duty in self.duties)

    def next_work(self) -> datetime | None:
        """When there will be something to do, as far as is known."""
        times = [*(r.next_work for r, _ in self._rounds.values()), *(duty.next_work for duty in self.duties)]
        if self._lane:
            times.append(self._lane.next_scheduled)
        return min((t for t in times if t is not None), default=None)

    async def _refresh(self) -> None:
        """Follows the channel's settings, and its endpoints as they are made, changed and deleted."""
        self._refreshed_at = self._clock.monotonic()
        if self._lane:
            await self._tune(self, self._lane)
        asked = {id_: round_.writes for id_, (round_, _) in self._rounds.items()}
        targets = {target.id: target for target in await read_targets(self._db, self.lease.channel_id)}
        for id_, (round_, task) in list(self._rounds.items()):
            if id_ not in targets or task.done():
                if task.done() and not task.cancelled() and task.exception():
                    log.error("round broke", endpoint=id_.hex, exc_info=task.exception())
                await round_.stop()
                del self._rounds[id_]  # not before: should we be broken off here, the end waits for it
        for target in targets.values():
            if target.id in self._rounds:
                known = self._rounds[target.id][0].change(target, asked[target.id])
                self._stale = self._stale or not known
            elif self.alive():
                round_ = self._make_round(self, target)
                self._rounds[target.id] = (round_, asyncio.create_task(round_.run()))

    async def save(self) -> None:
        """Notes how far each endpoint is and how it fares, if that has changed."""
        marks = {id_: round_.mark for id_, (round_, _) in self._rounds.items()}
        changed = {id_: mark for id_, mark in marks.items() if self._marks.get(id_) != mark}
        if changed and self.alive():
            await save_cursors(self._db, self.lease, changed)
            self._marks |= changed

    async def end(self) -> None:
        """Stops everything, letting what is in flight come to its end; what fails in that stops nothing else.

        A look that goes on would begin new rounds.
        """
        self._ended = True
        if self._refreshing:
            self._refreshing.cancel()
            await asyncio.wait([self._refreshing])
        stops = [round_.stop for round_, _ in self._rounds.values()] + ([self._lane.stop] if self._lane else [])
        await asyncio.gather(*map(self._try, stops))
        await asyncio.gather(*(self._try(duty.stop) for duty in self.duties))  # the lane's last messages need the link
        tasks = [task for _, task in self._rounds.values()] + self._running
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for task in tasks:
            if not task.cancelled() and (error := task.exception()) and not isinstance(error, StaleOwner):
                log_failure("loop of a channel", error, channel=self.lease.channel_id.hex)
        await self._try(self.save)

    async def _try(self, step: Callable[[], Awaitable[None]]) -> None:
        await attempt("end of a channel", step, channel=self.lease.channel_id.hex)
