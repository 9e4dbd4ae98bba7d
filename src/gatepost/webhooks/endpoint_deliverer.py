"""Delivering: each endpoint of a channel has a round of its own, so that a dead one holds nobody back.

    deliveries behind the cursor ─┐
                                  ├─► in hand (hand.py): in order, gathered ─► as many as its standing (standing.py),
    retries that are due ─────────┘                                            the process (share.py), its rate allow
                                                                                 │
      settled, or again at t ◄─ recorded ◄─ answer ◄─ sign, POST through the guard (courier.py)
               └─► breaker: active, paused, disabled

An attempt that was not recorded (a crash after the receiver's 200) is made again, under the same webhook-id.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime

import structlog

from gatepost.background import run_loop
from gatepost.model.errors import Unavailable
from gatepost.model.event import ChannelRef
from gatepost.store.channel_head import Lease, StaleOwner
from gatepost.store.deliveries.queue import (
    DeliveryCursor,
    DueDelivery,
    EndpointTarget,
    next_retry,
    read_pending,
    read_retries,
)
from gatepost.store.deliveries.record import DeliveryRecord, OrderedWait, OrphanedRetry, release_ordered_waits
from gatepost.webhooks.concurrency import EndpointConcurrency
from gatepost.webhooks.delivery_buffer import DeliveryBuffer
from gatepost.webhooks.delivery_context import DeliveryContext
from gatepost.webhooks.delivery_request import (
    DeliveryCredentials,
    DeliveryResult,
    DeliveryUnit,
    InFlightDelivery,
    attempt_records,
    first_attempt_lags,
    send,
)
from gatepost.webhooks.endpoint_health import EndpointHealth
from gatepost.webhooks.outage_recovery import OutageRecovery, insist
from gatepost.webhooks.sliding_rate import SlidingRate

log = structlog.get_logger("gatepost.webhooks")
_PAGE = 200  # deliveries read at once; of batches so many POSTs' worth, up to five pages
_LOW = 3  # more are read when less than a third of a page is in hand: a look at the database for each would cost more
_UNRECORDED = 256  # POSTs that ended and are not written down yet: a crash repeats as many
_LINES_AT_ONCE = 1000
_SHORTEST, _LONGEST = 0.01, 3600.0  # seconds between two looks at the clock


class EndpointDeliverer:
    """The deliveries to one endpoint, while the lease of its channel holds."""

    def __init__(
        self,
        post: DeliveryContext,
        lease: Lease,
        channel: ChannelRef,
        target: EndpointTarget,
        open_target: Callable[[EndpointTarget], DeliveryCredentials],
        in_flight: int,
        alive: Callable[[], bool],
    ) -> None:
        self._context = post
        self._db = post.db
        self._clock = post.clock
        self._lease = lease
        self._open = open_target
        self._alive = alive
        self.target, self._credentials = target, open_target(target)
        self._health = EndpointHealth(post, lease, channel, target, alive)
        self._buffer = DeliveryBuffer(target.cursor, target.options)
        self._rate, self._width = SlidingRate(target.options.rate), EndpointConcurrency(in_flight)
        self._flying: dict[asyncio.Task[None], InFlightDelivery] = {}
        self._posting = 0
        self._more = True
        self._next_retry: datetime | None = None
        self._retries_known = False
        self._lines = target.options.ordered  # whether deliveries may stand in line
        self._recovery = OutageRecovery(post, lease, target.id, alive)
        self._wakeup = asyncio.Event()
        self._stopping = False

    # -- for the owner ------------------------------------------------------------------------------------------------

    def wake(self) -> None:
        """There may be something new."""
        self._more = True
        self._wakeup.set()

    @property
    def writes(self) -> int:
        """Stands still as long as the round does not change the endpoint's row: ask before you read that row."""
        return self._health.writes

    def change(self, target: EndpointTarget, asked: int) -> bool:
        """The endpoint as it was read, perhaps changed by hand; False: our own change crossed that, read it again."""
        before, self.target = self.target, target
        if (target.secret, target.headers) != (before.secret, before.headers):
            self._credentials = self._open(target)
        if target.options != before.options:
            self._rate.change(target.options.rate)
            self._rewind()
        was = self._health.state
        current = self._health.adopt(target, asked)
        if self._health.state != was:
            self._rewind()
        self._retries_known = False  # somebody may have asked for deliveries again
        self._wakeup.set()
        return current

    @property
    def in_flight(self) -> int:
        """POSTs under way, and those that are being written down."""
        return len(self._flying)

    @property
    def idle(self) -> bool:
        waiting = self._flying or self._buffer.ready or self._buffer.gathering or self._health.tells_at()
        return not waiting and self._retries_known and (self._health.paused or not self._more)

    @property
    def next_work(self) -> datetime | None:
        """When there will be something to do, as far as is known."""
        if not self._health.paused:
            return self._next_retry
        due, probe_at = self._clock.now() if self._more else self._next_retry, self._health.health.probe_at
        return due and max(due, probe_at or due)

    @property
    def progress(self) -> DeliveryCursor:
        """How far it is, and how it fares."""
        return DeliveryCursor(self._buffer.cursor, self._health.health, self._health.known)

    async def run(self) -> None:
        """The loop: until stopped, or until the lease is lost."""
        try:
            going, endpoint = lambda: not self._stopping and self._alive(), self.target.id.hex
            await run_loop("delivery", self._turn, going=going, ends_on=(StaleOwner,), endpoint=endpoint)
        finally:
            self._context.share.leave(self)
            self._health.close()

    async def _turn(self) -> None:
        try:
            await self._wait(await self.step())
        except Exception as error:
            self._more, self._retries_known = True, False  # a look that was broken off found nothing
            if not isinstance(error, Unavailable):
                raise
            await asyncio.sleep(0.5)

    async def stop(self) -> None:
        """Starts nothing more, waits for what is under way, and for as long as its rate concerns the next owner."""
        self._stopping = True
        self._wakeup.set()
        await self.settled()
        await asyncio.sleep(min(1.0, max(0.0, self._rate.quiet_at() - self._clock.monotonic())))

    async def settled(self) -> None:
        while self._flying:
            await asyncio.wait(self._flying)

    # -- reading ------------------------------------------------------------------------------------------------------

    async def step(self) -> float | None:
        """Starts what is due, as far as there is room; returns the seconds to the next look, None: until a ring."""
        self._wakeup.clear()
        await self._health.tell_exhausted()
        if self._health.repaired:
            await self._recovery.pull(self._clock.now())
            await self._health.note_repaired()
            self._retries_known = False
        self._launch()
        if not self._retries_known:
            await self._look_at_retries()
        now = self._clock.now()
        if self._next_retry is not None and self._next_retry <= now and self._wanted():
            await self._start_retries(now)
        if self._more and self._wanted():
            await self._start_pending()
        self._launch()
        return 0.0 if self._wakeup.is_set() else self._delay()

    def _room(self) -> int:
        """How many more POSTs may be under way. Where only the process is full, we are called when it is not."""
        if self._health.disabled or self._stopping:
            return 0
        probing = self._health.probing
        if probing and (self._flying or not self._health.may_try(self._clock.now())):
            return 0
        own = 1 if probing else self._width.now - self._posting
        if len(self._flying) - self._posting >= _UNRECORDED:
            return 0
        free = self._context.share.room(self)
        if own > 0 and not free:
            self._context.share.wait(self, self._take_place)
        return max(0, min(own, free))

    def _wanted(self) -> int:
        """How many more deliveries are to be read: a probe, or as many as make a page again once it runs low."""
        ready, gathering = len(self._buffer.ready), self._buffer.gathering
        if self._health.paused:
            return max(0, self._room() - ready - gathering)
        if self._health.disabled or self._stopping:
            return 0
        batch = self.target.options.batch
        page, in_hand = _PAGE * min(batch, 5), ready * batch + gathering
        return page - in_hand if in_hand < page // _LOW else 0

    async def _start_pending(self) -> None:
        self._more = False
        most, options, after, reach = self._wanted(), self.target.options, self._buffer.read_to, self._buffer.reach
        self._buffer.begin_read()
        channel_id, ordered = self._lease.channel_id, options.ordered
        page = await read_pending(self._db, channel_id, self.target.id, after, most, ordered=ordered)
        if after != self._buffer.read_to or options != self.target.options:
            self.wake()  # it was wound back meanwhile
            return
        await self._place(self._buffer.turn_page(page, most))
        if reach != self._buffer.reach:
            self._retries_known = False
            self._wakeup.set()
        if len(page) == most:
            self._more = True
            if self._wanted():
                self._wakeup.set()

    async def _start_retries(self, now: datetime) -> None:
        self._buffer.begin_read()
        hand, options, most = self._buffer, self.target.options, self._wanted()
        who = (self._lease.channel_id, self.target.id)
        found = await read_retries(
            self._db, *who, now, hand.retried, most, ordered=options.ordered, busy=hand.busy, reach=hand.reach
        )
        if found.lost:
            await self._record([OrphanedRetry(self.target.id, id_) for id_ in found.lost])
        if options == self.target.options:
            await self._place(found.due)
        await self._look_at_retries()

    async def _look_at_retries(self) -> None:
        self._retries_known = True
        hand, who = self._buffer, (self._lease.channel_id, self.target.id)
        ahead = await next_retry(self._db, *who, hand.retried, hand.busy, hand.reach)
        self._next_retry, self._lines = ahead.at, ahead.waiting
        if ahead.waiting and not self.target.options.ordered:
            await release_ordered_waits(self._db, self._lease, self.target.id, self._clock.now(), _LINES_AT_ONCE)
            self._retries_known = False
            self._wakeup.set()

    async def _place(self, items: Sequence[DueDelivery]) -> None:
        lined = self._buffer.place(items, self._clock.monotonic())
        if lined:
            await self._put_in_line(lined)

    async def _put_in_line(self, items: Sequence[DueDelivery]) -> None:
        await self._record([OrderedWait(self.target.id, item.event_id, item.key) for item in items])
        self._buffer.let_go(items)
        self._lines, self._retries_known = True, False
        self._wakeup.set()

    # -- delivering ---------------------------------------------------------------------------------------------------

    def _launch(self) -> None:
        now, hand, share = self._clock.monotonic(), self._buffer, self._context.share
        hand.cut(now, all_now=self._health.paused)
        room = self._room() if hand.ready else 0
        while room and hand.ready and self._rate.free_at() <= now and share.take(self):
            room -= 1
            self._rate.begin(now)
            flight = InFlightDelivery(DeliveryUnit(self._buffer.ready.popleft(), self._health.paused))
            task = asyncio.create_task(self._deliver(flight, self.target, self._credentials))
            self._flying[task] = flight
            self._posting += 1
            task.add_done_callback(self._done)

    def _land(self, flight: InFlightDelivery) -> None:
        """Its POST has ended: another one may have its place."""
        if flight.posting:
            flight.posting = False
            self._posting -= 1
            self._context.share.give(self)

    def _done(self, task: "asyncio.Task[None]") -> None:
        flight = self._flying.pop(task)
        self._land(flight)
        self._buffer.forget(flight.unit.items)
        self._go_on_launching()
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._stopping = True
            if not isinstance(error, StaleOwner):
                log.error("round broke", endpoint=self.target.url, exc_info=error)

    def _go_on_launching(self) -> None:
        """What is in hand follows at once. The loop, which costs more, is woken only where it has something to do."""
        self._launch()
        more = (self._more or self._next_retry is not None) and self._wanted()
        timed = self._buffer.gathering or (self._buffer.ready and self._rate.most)
        if more or timed or self._health.probing or not self._retries_known or not self._flying:
            self._wakeup.set()

    def _take_place(self) -> None:
        """A place may be free: taken here and now, or whoever gave it back would take it again, time after time."""
        self._launch()
        self._wakeup.set()

    async def _deliver(
        self, flight: InFlightDelivery, target: EndpointTarget, credentials: DeliveryCredentials
    ) -> None:
        """One POST, from the signature to the record of it, and what follows."""
        if not self._alive():
            raise StaleOwner
        unit = flight.unit
        sent = await send(self._context.poster, self._clock, self._lease.channel_id, target, credentials, unit)
        self._measure(sent)
        if sent.ok:  # what failed may open the breaker: nobody takes its place before that is known
            self._land(flight)
            self._go_on_launching()
        await self._record(attempt_records(sent))
        self._buffer.let_go(unit.items)
        self._schedule(sent)
        if sent.exhausted:
            self._health.count_exhausted(sent.exhausted)
            self._wakeup.set()
        if not (sent.ok and self._health.note_well()):
            await self._pull_forward(sent)
            await self._judge(sent)
        if self.target.options.ordered:
            await self._go_on(sent)
        flight.over = True

    async def _judge(self, sent: DeliveryResult) -> None:
        """What a POST means for the endpoint that failed, or that was failing."""
        operational, probe = all(item.operational for item in sent.unit.items), sent.unit.probe
        if await self._health.note(ok=sent.ok, gone=sent.gone, probe=probe, operational=operational):
            self._rewind()
            self._stopping = self._stopping or self._health.disabled

    async def _pull_forward(self, sent: DeliveryResult) -> None:
        """After an outage, what failed in it is due at once; also what was under way when the outage ended."""
        if sent.ok and self._health.ends_outage(probe=sent.unit.probe):
            await self._recovery.pull(self._clock.now())
        elif not sent.ok and self._recovery.includes(sent.at):
            await self._recovery.pull(self._recovery.ended_at)
        else:
            return
        self._retries_known = False
        self._wakeup.set()

    def _measure(self, sent: DeliveryResult) -> None:
        self._width.note(ok=sent.ok)
        self._context.metrics.attempt(sent.decisions[0].fate, sent.answer.latency_ms / 1000)
        for seconds in first_attempt_lags(sent):
            self._context.metrics.lag(seconds)

    def _schedule(self, sent: DeliveryResult) -> None:
        for decision in sent.decisions:
            if decision.at is not None and (self._next_retry is None or decision.at < self._next_retry):
                self._next_retry = decision.at
                self._wakeup.set()

    async def _go_on(self, sent: DeliveryResult) -> None:
        """The conversations of an ordered endpoint after a POST: what is held goes on, or stands in line now."""
        while held := self._buffer.drain(sent.held_up):
            await self._put_in_line(held)
        self._buffer.go_on(sent.unit.keys, self._clock.monotonic())
        if self._lines or any(item.retried for item in sent.unit.items):
            self._retries_known = False

    def _rewind(self) -> None:
        self._buffer.rewind(self.target.options, [flight.unit for flight in self._flying.values() if not flight.over])
        self._retries_known = False
        self.wake()

    async def _record(self, notes: Sequence[DeliveryRecord]) -> None:
        """Writes what happened, however long the database is away, as long as the lease holds."""
        await insist(lambda: self._context.record(self._lease, notes), self._alive)

    # -- waiting ------------------------------------------------------------------------------------------------------

    async def _wait(self, delay: float | None) -> None:
        """Until somebody rings, or something falls due."""
        if self._wakeup.is_set():
            return
        seconds = None if delay is None else min(_LONGEST, max(_SHORTEST, delay))
        handle = asyncio.get_running_loop().call_later(seconds, self._wakeup.set) if seconds is not None else None
        await self._wakeup.wait()
        if handle:
            handle.cancel()

    def _delay(self) -> float | None:
        now, monotonic, room = self._clock.now(), self._clock.monotonic(), self._room()
        probing = self._health.paused and not self._flying
        reading = (room and self._wanted()) or probing
        moments = [self._health.tells_at(), self.next_work if reading else None, self._brake_ends(now)]
        waits = [(moment - now).total_seconds() for moment in moments if moment is not None]
        if self._buffer.ripe_at is not None:
            waits.append(self._buffer.ripe_at - monotonic)
        if room and self._buffer.ready:
            waits.append(self._rate.free_at() - monotonic)
        return min(waits, default=None)

    def _brake_ends(self, now: datetime) -> datetime | None:
        """When an endpoint that fails gets its next delivery, if there is one."""
        if self._health.paused or not self._health.probing or self._flying:
            return None
        due = now if self._more or self._buffer.ready else self._next_retry
        return due and max(due, self._health.try_at or due)
