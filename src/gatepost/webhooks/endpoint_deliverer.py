"""Delivers the events of a channel to one endpoint. Each endpoint has its own deliverer: a dead one delays no other.

    deliveries after the cursor ─┐
    (delivery_reader.py)         ├─► buffer (delivery_buffer.py): order, batches ─► limits: health (endpoint_health.py),
    retries that are due ────────┘                                     │            concurrency (concurrency.py), rate
                                                                       ▼
       settled, or retry at t ◄─ recorded ◄─ response ◄─ sign, POST through the guard (delivery_request.py)
               └─► breaker: active, paused, disabled

An attempt that was not recorded (a crash after the receiver's 200) is repeated with the same webhook-id.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import structlog

from gatepost.channel_task import ChannelContext, ChannelTask
from gatepost.model.errors import Unavailable
from gatepost.store.channel_head import StaleOwner
from gatepost.store.deliveries.queue import DeliveryCursor
from gatepost.store.endpoints import Endpoint
from gatepost.webhooks.concurrency import EndpointConcurrency, SlidingRate
from gatepost.webhooks.delivery_buffer import DeliveryBuffer
from gatepost.webhooks.delivery_context import ChannelDelivery
from gatepost.webhooks.delivery_reader import DeliveryReader
from gatepost.webhooks.delivery_request import (
    DeliveryResult,
    DeliveryUnit,
    EndpointRequests,
    InFlightDelivery,
    attempt_records,
    log_outcome,
    note_lags,
    outdated,
    request_fields,
)
from gatepost.webhooks.delivery_trace import trace_delivery
from gatepost.webhooks.endpoint_health import EndpointHealth
from gatepost.webhooks.outage_recovery import OutageRecovery
from gatepost.webhooks.success_recorder import Succeeded, SuccessRecorder

log = structlog.get_logger("gatepost.webhooks")
_PAGE = 200  # POSTs' worth of deliveries that are read at once; with batches at most five times as many deliveries
_REFILL = 3  # read when less than a third of a page is buffered: a query for each delivery would cost more
_UNRECORDED_MAX = 256  # finished POSTs that are not recorded yet: a crash repeats at most this many
_MIN_WAIT, _MAX_WAIT = 0.01, 3600.0  # seconds


class EndpointDeliverer(ChannelTask):
    """The deliveries to one endpoint, while the lease of its channel holds."""

    name = "delivery"

    def __init__(self, delivery: ChannelDelivery, target: Endpoint) -> None:
        context = delivery.context
        super().__init__(ChannelContext(context.db, context.clock, delivery.lease, delivery.channel, delivery.alive))
        self._delivery, self._context, self._pool = delivery, context, context.pool
        self.target, self._requests = target, self._prepare(target)
        self._log = log.bind(channel=delivery.channel.id, endpoint=target.id.hex)
        self._buffer = DeliveryBuffer(target.cursor, target.options)
        self._reader = DeliveryReader(delivery, target, self._buffer, self._wakeup)
        self._health = EndpointHealth(delivery, target)
        self._recovery = OutageRecovery(delivery, target.id)
        self._rate, self._concurrency = SlidingRate(target.options.rate), EndpointConcurrency(delivery.in_flight)
        self._in_flight: set[InFlightDelivery] = set()
        self._posting = 0
        self._nothing_in_flight = asyncio.Event()
        self._recorder = SuccessRecorder(delivery, self._apply_group, self._fail)
        self._tasks: set[asyncio.Task[None]] = set()

    # -- for the owner ------------------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Look for new deliveries. While reading pauses, the loop waits for the end of the pause already."""
        self._reader.expect_pending()
        if self._reader.may_read or self._health.probing:
            self._wakeup.set()

    @property
    def changes(self) -> int:
        """Changes whenever the deliverer writes the endpoint's row: take it before reading that row."""
        return self._health.changes

    def change(self, target: Endpoint, changes: int) -> bool:
        """Adopt the endpoint's row, which a user may have changed; False: our own write overlapped, read it again."""
        before, self.target = self.target, target
        self._reader.target = target
        if request_fields(target) != request_fields(before):
            self._requests = self._prepare(target)
        if target.options != before.options:
            self._rate.change(target.options.rate)
            self._rewind()
        state = self._health.state
        current = self._health.adopt(target, changes)
        if self._health.state != state:
            self._rewind()
        if target.has_retries or self._reader.next_retry is not None:
            self._reader.retries_changed()  # a user may have requested retries
        return current

    def _prepare(self, target: Endpoint) -> EndpointRequests:
        credentials = self._delivery.open_target(target)
        return EndpointRequests(self._context.poster, self._clock, self._delivery.channel_id, target, credentials)

    @property
    def in_flight(self) -> int:
        """POSTs that run, or that are being recorded."""
        return len(self._in_flight)

    @property
    def idle(self) -> bool:
        buffered = self._in_flight or self._buffer.ready or self._buffer.collecting
        reader = self._reader
        nothing_to_read = reader.retries_known and (self._health.paused or not reader.pending)
        return not buffered and not self._health.exhausted_notice_at() and nothing_to_read

    @property
    def next_work(self) -> datetime | None:
        """When something will be due, as far as it is known."""
        if not self._health.paused:
            return self._reader.next_retry
        due, probe_at = self._next_delivery(self._clock.now()), self._health.try_at
        return due and max(due, probe_at or due)

    def _next_delivery(self, now: datetime, *, buffered: bool = False) -> datetime | None:
        return now if self._reader.pending or buffered else self._reader.next_retry

    @property
    def progress(self) -> DeliveryCursor:
        """The cursor and the health, to be saved by the owner."""
        return DeliveryCursor(self._buffer.cursor, self._health.counters, self._health.updated_at)

    async def run(self) -> None:
        try:
            await super().run()
        finally:
            self._pool.leave(self)
            self._health.close()

    async def work(self) -> float | None:
        try:
            seconds = await self.step()
        except Exception as error:
            self._reader.start_over()  # a read that failed has found nothing
            if not isinstance(error, Unavailable):
                raise
            await asyncio.sleep(0.5)
            return 0.0
        return None if seconds is None else min(_MAX_WAIT, max(_MIN_WAIT, seconds))

    @property
    def _log_fields(self) -> dict[str, Any]:
        return {"endpoint": self.target.id.hex}

    async def stop(self) -> None:
        """Start nothing more, and wait for the POSTs in flight and for the rate limit to be free for the next owner."""
        await super().stop()
        await self.settled()
        await asyncio.sleep(min(1.0, max(0.0, self._rate.quiet_at() - self._clock.monotonic())))

    async def settled(self) -> None:
        """Return when no POST runs or is being recorded."""
        while self._in_flight:
            self._nothing_in_flight.clear()
            await self._nothing_in_flight.wait()

    # -- reading ------------------------------------------------------------------------------------------------------

    async def step(self) -> float | None:
        """Start what is due, within the limits; return the seconds until the next step, None: until woken."""
        self._wakeup.clear()
        await self._health.emit_exhausted()
        if self._health.reactivated:
            await self._recovery.make_due(self._clock.now())
            await self._health.clear_reactivated()
            self._reader.retries_known = False
        self._start()
        reader = self._reader
        if not reader.retries_known:
            await reader.find_next_retry()
        now = self._clock.now()
        if reader.next_retry is not None and reader.next_retry <= now and (limit := self._read_limit()):
            await reader.read_retries(now, limit)
        if reader.may_read and (limit := self._read_limit()):
            await reader.read_pending(limit)
            if reader.may_read and self._read_limit():
                self._wakeup.set()
        self._start()
        return 0.0 if self._wakeup.is_set() else self._delay()

    def _free_slots(self) -> int:
        """How many more POSTs may start. If only the process is at its limit, the pool calls when a slot is free."""
        if self._posting >= self._concurrency.limit or self._health.disabled or self._stopping:
            return 0
        probing = self._health.probing
        if probing and (self._in_flight or not self._health.may_try(self._clock.now())):
            return 0
        if len(self._in_flight) - self._posting >= _UNRECORDED_MAX:
            return 0
        own, free = 1 if probing else self._concurrency.limit - self._posting, self._pool.free_slots(self)
        if own > 0 and not free:
            self._pool.wait(self, self._use_slot)
        return max(0, min(own, free))

    def _read_limit(self) -> int:
        """How many deliveries to read: one to probe with, or as many as fill the buffer when it runs low."""
        ready, collecting = len(self._buffer.ready), self._buffer.collecting
        if self._health.paused:
            return max(0, self._free_slots() - ready - collecting)
        if self._health.disabled or self._stopping:
            return 0
        batch = self.target.options.batch
        page, buffered = _PAGE * min(batch, 5), ready * batch + collecting
        return page - buffered if buffered < page // _REFILL else 0

    # -- delivering ---------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        """Start POSTs of what is ready, within the limits."""
        while flight := self._next_flight():
            task = asyncio.create_task(self._post_all(flight))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _next_flight(self) -> InFlightDelivery | None:
        """Take the next unit that is ready, and a slot for its POST; None if there is none."""
        buffer, rate = self._buffer, self._rate
        if buffer.collecting:
            buffer.close_batch(self._clock.monotonic(), at_once=self._health.paused)
        if not buffer.ready or not self._free_slots():
            return None
        if rate.limit is not None and rate.free_at() > self._clock.monotonic():
            return None
        if not self._pool.acquire(self):
            return None
        if rate.limit is not None:
            rate.begin(self._clock.monotonic())
        flight = InFlightDelivery(DeliveryUnit(buffer.ready.popleft(), self._health.paused))
        self._in_flight.add(flight)
        self._posting += 1
        return flight

    def _end_post(self, flight: InFlightDelivery) -> None:
        """Free the slot of a POST that has ended."""
        if flight.posting:
            flight.posting = False
            self._posting -= 1
            self._pool.release(self)

    def _remove(self, flight: InFlightDelivery) -> None:
        """The unit is not in flight any more."""
        self._end_post(flight)
        self._in_flight.discard(flight)
        self._buffer.forget(flight.unit.items)
        if not self._in_flight:
            self._nothing_in_flight.set()

    def _fail(self, flights: Sequence[InFlightDelivery], error: BaseException) -> None:
        """Drop units that could not be posted or recorded: the next deliverer reads them again."""
        self._stopping = self._stopping or isinstance(error, Exception)
        for flight in flights:
            self._remove(flight)
        self._wakeup.set()
        if isinstance(error, Exception) and not isinstance(error, StaleOwner):
            log.error("delivery failed", endpoint=self.target.id.hex, exc_info=error)

    def _start_next(self) -> None:
        """Start what is buffered. The loop, which costs more, is woken only if it has something to do."""
        self._start()
        reader, buffer = self._reader, self._buffer
        more = (reader.may_read or reader.next_retry is not None) and self._read_limit()
        timed = buffer.collecting or (buffer.ready and self._rate.limit)
        if more or timed or self._health.probing or not reader.retries_known or not self._in_flight:
            self._wakeup.set()

    def _use_slot(self) -> None:
        """Use a free slot at once: otherwise the deliverer that released it would take it again and again."""
        self._start()
        self._wakeup.set()

    async def _post_all(self, flight: InFlightDelivery | None) -> None:
        """Make one POST after the other, while something is ready: a task for each would cost more."""
        while flight is not None:
            try:
                if not self._delivery.alive():
                    raise StaleOwner
                sent = await self._requests.send(flight.unit)
                if not sent.ok and sent.target.url != self.target.url:
                    sent = outdated(sent, self._clock.now())
                self._measure(sent)
                if sent.ok:
                    self._end_post(flight)
                    self._recorder.add(flight, sent)
                else:  # it may open the breaker: its slot is not free before that is known
                    await self._delivery.record(attempt_records(sent))
                    await self._apply(sent)
                    self._remove(flight)
            except BaseException as error:
                self._fail([flight], error)
                if not isinstance(error, Exception):
                    raise
            flight = self._next_flight()
            self._start_next()

    async def _apply_group(self, group: Sequence[Succeeded]) -> None:
        healthy = self._health.record_successes(len(group), self._clock.now())
        for flight, sent in group:
            if not healthy:
                await self._apply(sent)
            else:
                self._buffer.release(sent.unit.items)
                if self.target.options.ordered:
                    await self._continue_conversations(sent)
            self._remove(flight)
        self._start_next()

    async def _apply(self, sent: DeliveryResult) -> None:
        """Apply what follows from a POST that is recorded."""
        self._buffer.release(sent.unit.items)
        if not sent.ok:
            for decision in sent.decisions:
                self._reader.expect_retry(decision.at)
            if sent.exhausted:
                self._health.count_exhausted(sent.exhausted)
                self._wakeup.set()
        await self._make_retries_due(sent)
        await self._record_health(sent)
        if self.target.options.ordered:
            await self._continue_conversations(sent)

    def _measure(self, sent: DeliveryResult) -> None:
        self._concurrency.adjust(ok=sent.ok)
        self._context.metrics.attempt(sent.decisions[0].fate, sent.response.latency_ms / 1000)
        note_lags(sent, self._context.metrics.lag)
        log_outcome(self._log, sent)
        if self._context.tracer is not None:
            trace_delivery(self._context.tracer, sent, self._clock.now())

    async def _make_retries_due(self, sent: DeliveryResult) -> None:
        """After an outage make its failed deliveries due, also those that were in flight when it ended."""
        if sent.ok and self._health.ends_outage(probe=sent.unit.probe):
            await self._recovery.make_due(self._clock.now())
        elif not sent.ok and self._recovery.includes(sent.at):
            await self._recovery.make_due(self._recovery.ended_at)
        else:
            return
        self._reader.retries_changed()

    async def _record_health(self, sent: DeliveryResult) -> None:
        if sent.outdated:
            return
        system = all(item.system for item in sent.unit.items)
        if await self._health.record_post(ok=sent.ok, gone=sent.gone, probe=sent.unit.probe, system=system):
            self._rewind()
            self._stopping = self._stopping or self._health.disabled

    async def _continue_conversations(self, sent: DeliveryResult) -> None:
        """Of an ordered endpoint: start what is held behind this POST, or defer it if the POST has to be repeated."""
        while held := self._buffer.drain(sent.retried_keys):
            await self._reader.defer(held)
        self._buffer.continue_with(sent.unit.keys, self._clock.monotonic())
        if self._reader.waits or any(item.retried for item in sent.unit.items):
            self._reader.retries_known = False

    def _rewind(self) -> None:
        """Read again what is not in flight, after a change of the options or of the state."""
        self._buffer.rewind(self.target.options, [flight.unit for flight in self._in_flight])
        self._reader.start_over()

    # -- waiting ------------------------------------------------------------------------------------------------------

    def _delay(self) -> float | None:
        now, monotonic, slots = self._clock.now(), self._clock.monotonic(), self._free_slots()
        probing = self._health.paused and not self._in_flight
        reads = (slots and self._read_limit()) or probing
        moments = [
            self._health.exhausted_notice_at(),
            self.next_work if reads else None,
            self._throttled_delivery(now),
        ]
        waits = [(moment - now).total_seconds() for moment in moments if moment is not None]
        if self._buffer.batch_due_at is not None:
            waits.append(self._buffer.batch_due_at - monotonic)
        can_read = self._reader.pending and not self._health.paused and self._read_limit()
        if can_read or self._reader.read_at > monotonic:
            waits.append(self._reader.read_at - monotonic)
        if slots and self._buffer.ready:
            waits.append(self._rate.free_at() - monotonic)
        return min(waits, default=None)

    def _throttled_delivery(self, now: datetime) -> datetime | None:
        """When a throttled endpoint gets its next delivery, if there is one."""
        if self._health.paused or not self._health.probing or self._in_flight:
            return None
        due = self._next_delivery(now, buffered=bool(self._buffer.ready))
        return due and max(due, self._health.try_at or due)
