"""Owning channels: at most one process acts for a channel at a time, and only while its lease holds.

sweep, 1 s    channels with work and no owner ─► claim ─► Holding: a lane that sends, a round per endpoint
              channels of ours with news      ─► ring (a lost wake-up costs a second, never a message)
renew, 5 s    what is still ours is kept; what is not ends at once
idle          nothing to do for a minute ─► given back, with the time of the next thing to do
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID, uuid4

import structlog

from gatepost.clock import Clock
from gatepost.model.errors import GatepostError, Unavailable
from gatepost.model.event import ChannelRef
from gatepost.outbound.lane import Lane
from gatepost.settings import Lease as LeaseSettings
from gatepost.store.deliveries import Mark, Target, read_targets, save_cursors
from gatepost.store.heads import (
    End,
    Lease,
    claim_channel,
    end_stalled_sessions,
    ends_of,
    release_channel,
    renew_leases,
    wanting_owner,
)
from gatepost.store.pool import Database
from gatepost.webhooks.deliver import Round

log = structlog.get_logger("gatepost.owner")
_CLAIMS_PER_SWEEP = 100
_REFRESH_EVERY = 1.0
_AVOID = 10.0  # seconds before a channel that could not be served is tried again
_STALLED = 5.0  # seconds that a session may wait for the rest of a statement: as long as for the rest of a transaction
_MARGIN = 0.2  # of the time to live: an owner that could not renew stops this much before its lease ends


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
            except GatepostError:
                self._stale = True

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
        """Stops everything, letting what is in flight come to its end. A look that goes on would begin new rounds."""
        self._ended = True
        if self._refreshing:
            self._refreshing.cancel()
            await asyncio.wait([self._refreshing])
        rounds = [round_ for round_, _ in self._rounds.values()]
        await asyncio.gather(*(round_.stop() for round_ in rounds), *([self._lane.stop()] if self._lane else []))
        await asyncio.gather(*(duty.stop() for duty in self.duties))  # the lane's last messages need the link
        for task in [task for _, task in self._rounds.values()] + self._running:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, GatepostError):
                await task
        with contextlib.suppress(GatepostError):
            await self.save()


class Owner:
    """Claims, keeps and gives back the channels of one process."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        settings: LeaseSettings,
        make_lane: Callable[[Holding], Awaitable[Lane | None]],
        make_round: Callable[[Holding, Target], Round],
        tune: Callable[[Holding, Lane], Awaitable[None]],
    ) -> None:
        self.id = uuid4()
        self._db = db
        self._clock = clock
        self._settings = settings
        self._make_lane = make_lane
        self._make_round = make_round
        self._tune = tune
        self._holdings: dict[UUID, Holding] = {}
        self._avoid: dict[UUID, float] = {}
        self._wake = asyncio.Event()
        self._swept_at = clock.monotonic()
        self._loops: list[asyncio.Task[Any]] = []
        self._endings: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        loops = self._sweep_loop(), self._renew_loop(), self._stall_loop()
        self._loops = [asyncio.create_task(loop) for loop in loops]

    @property
    def healthy(self) -> bool:
        """Whether the loops run and the last sweep is not long ago."""
        late = self._clock.monotonic() - self._swept_at
        return not any(loop.done() for loop in self._loops) and late < self._settings.ttl

    @property
    def owned(self) -> int:
        """How many channels are ours."""
        return len(self._holdings)

    def ring(self, channel_id: UUID, *, sending: bool = True) -> bool:
        """Wakes a channel of ours. False: it is not ours (and is looked at soon, in case nobody owns it)."""
        holding = self._holdings.get(channel_id)
        if holding is None:
            self._wake.set()
            return False
        holding.ring(sending=sending)
        return True

    async def stop(self, seconds: float) -> None:
        """Ends all holdings within the time given, and gives their channels back."""
        for loop in self._loops[:1]:
            loop.cancel()
        with contextlib.suppress(TimeoutError):
            endings = [*(holding.end() for holding in self._holdings.values()), *self._endings]
            await asyncio.wait_for(asyncio.gather(*endings), seconds)
        for loop in self._loops:
            loop.cancel()
        for holding in self._holdings.values():
            with contextlib.suppress(GatepostError):
                await release_channel(self._db, holding.lease, seen=None, work_at=None)
        self._holdings.clear()

    async def _sweep_loop(self) -> None:
        while True:
            self._wake.clear()
            try:
                await self.sweep()
                self._swept_at = self._clock.monotonic()
            except GatepostError as error:
                log.warning("sweep failed", reason=error.message)
            except Exception:
                log.exception("sweep broke")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), self._settings.sweep)
                await asyncio.sleep(0.05)

    async def sweep(self) -> None:
        """One look around."""
        now = self._clock.monotonic()
        for channel_id in await wanting_owner(self._db, self._clock.now(), _CLAIMS_PER_SWEEP):
            if channel_id not in self._holdings and now >= self._avoid.get(channel_id, now):
                await self._try_claim(channel_id)
        ends = await ends_of(self._db, list(self._holdings)) if self._holdings else {}
        for channel_id, holding in list(self._holdings.items()):
            await self._tend(channel_id, holding, ends.get(channel_id))

    async def _try_claim(self, channel_id: UUID) -> None:
        """A channel that cannot be served (its secrets cannot be read, say) must not keep us from the others."""
        try:
            await self._claim(channel_id)
        except Unavailable:
            raise
        except Exception:
            log.exception("channel cannot be served", channel=channel_id.hex)
            self._avoid[channel_id] = self._clock.monotonic() + _AVOID

    async def _claim(self, channel_id: UUID) -> None:
        asked_at = self._clock.monotonic()
        lease = await claim_channel(self._db, channel_id, self.id, self._settings.ttl)
        if lease is None:
            return
        holding = Holding(self._db, self._clock, lease, self._valid_until(asked_at), self._make_round, self._tune)
        self._holdings[channel_id] = holding
        lane = await self._make_lane(holding)
        if lane is not None:
            await holding.begin(lane)

    async def _tend(self, channel_id: UUID, holding: Holding, end: End | None) -> None:
        """Rings when there is news, ends what is lost, gives back what is idle."""
        now = self._clock.monotonic()
        if end is None or holding.broken or not holding.alive():
            await self._drop(channel_id, holding)
            return
        if end != holding.seen:
            holding.seen, holding.busy_at = end, now
            holding.ring()
        elif not holding.idle:
            holding.busy_at = now
            holding.refresh()
        elif now - holding.busy_at > self._settings.idle:
            await self._give_back(channel_id, holding)
            return
        await holding.save()

    async def _give_back(self, channel_id: UUID, holding: Holding) -> None:
        await holding.save()
        if await release_channel(self._db, holding.lease, seen=holding.seen, work_at=holding.next_work()):
            del self._holdings[channel_id]
            holding.valid_until = 0.0
            await holding.end()

    async def _drop(self, channel_id: UUID, holding: Holding) -> None:
        """A channel that is no longer ours, or whose lane broke: it starts anew with whoever claims it next."""
        log.warning("channel dropped", channel=channel_id.hex, alive=holding.alive())
        del self._holdings[channel_id]
        holding.valid_until = 0.0
        ending = asyncio.create_task(self._end(holding))
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)

    async def _end(self, holding: Holding) -> None:
        """Apart from the sweep: what is in flight may take its time, and no other channel waits for it."""
        try:
            await holding.end()
            await release_channel(self._db, holding.lease, seen=None, work_at=None)
        except GatepostError as error:
            log.warning("channel not given back", channel=holding.lease.channel_id.hex, reason=error.message)
        except Exception:
            log.exception("channel ended badly", channel=holding.lease.channel_id.hex)

    async def _renew_loop(self) -> None:
        while True:
            await asyncio.sleep(self._settings.renew)
            if self._holdings:
                with contextlib.suppress(GatepostError):
                    await self.renew()

    async def _stall_loop(self) -> None:
        """Apart from the other loops, which may wait for the very locks that a stalled session holds."""
        while True:
            await asyncio.sleep(_STALLED / 2)
            try:
                if ended := await end_stalled_sessions(self._db, _STALLED):
                    log.warning("stalled sessions ended", sessions=ended)
            except GatepostError as error:
                log.warning("stalled sessions not looked for", reason=error.message)
            except Exception:
                log.exception("stalled sessions not looked for")

    async def renew(self) -> None:
        """Keeps the leases. A lease that another took meanwhile ends here and now."""
        asked_at = self._clock.monotonic()
        asked = dict(self._holdings)  # one that is claimed meanwhile is not asked for, and stays
        kept = await renew_leases(self._db, self.id, list(asked), self._settings.ttl)
        for channel_id, holding in asked.items():
            holding.valid_until = self._valid_until(asked_at) if channel_id in kept else 0.0

    def _valid_until(self, asked_at: float) -> float:
        return asked_at + self._settings.ttl * (1 - _MARGIN)
