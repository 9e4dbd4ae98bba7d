"""The state and health of an endpoint while its deliverer runs: in memory; each change of state is written and emitted.

    POST ended ─► failure window ─► breaker.decide ─► memory, at once ─► endpoints row + event, one commit
                                                                        │ a user has changed the state meanwhile
    the row as it was read last ─► adopt ◄──────────────────────────────┘

The health counters change too often to be written each time; the owner saves them with the cursors.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
import structlog

from gatepost.model import ids
from gatepost.model.endpoint import ACTIVE, DISABLED, PAUSED, HealthCounters
from gatepost.model.event.endpoints import EndpointExhausted, EndpointFailing
from gatepost.store.endpoints import (
    Endpoint,
    EndpointNotice,
    EndpointStateChange,
    clear_probe,
    save_probe,
    save_state_change,
)
from gatepost.webhooks.breaker import (
    LONGEST_PROBE_WAIT,
    THROTTLE_DELAY,
    FailureWindow,
    ObservedPost,
    decide,
    ends_outage,
    is_throttled,
)
from gatepost.webhooks.delivery_context import ChannelDelivery

log = structlog.get_logger("gatepost.webhooks")
NOTICE_INTERVAL = timedelta(hours=1)


class EndpointHealth:
    """State and health of one endpoint, as long as its channel is owned here."""

    def __init__(self, delivery: ChannelDelivery, target: Endpoint) -> None:
        self._delivery = delivery
        self._context = delivery.context
        self._endpoint_id = target.id
        self._window = FailureWindow()
        self._lock = asyncio.Lock()
        self._exhausted = 0
        self._last_exhausted = ids.ZERO
        self._exhausted_notice: datetime | None = None  # when the last one was emitted
        self._failing_notice: datetime | None = None
        self._throttled_until: datetime | None = None
        self.changes = 0  # grows at the start and at the end of each write
        self.state, self.counters, self.updated_at = target.state, target.health, target.updated_at
        self._context.metrics.breaker(None, self.state)

    def close(self) -> None:
        self._context.metrics.breaker(self.state, None)

    @property
    def paused(self) -> bool:
        return self.state == PAUSED

    @property
    def disabled(self) -> bool:
        return self.state == DISABLED

    @property
    def probing(self) -> bool:
        """Whether the endpoint gets one delivery at a time, and the next one not before `try_at`."""
        return self.paused or is_throttled(self.state, self.counters)

    @property
    def try_at(self) -> datetime | None:
        """While probing: when the next delivery may start; None: now, also if the clock was set back since."""
        at = self.counters.probe_at if self.paused else self._throttled_until
        return at if at is not None and at <= self._context.clock.now() + LONGEST_PROBE_WAIT else None

    def may_try(self, now: datetime) -> bool:
        at = self.try_at
        return at is None or at <= now

    def ends_outage(self, *, probe: bool) -> bool:
        """Return whether a success now ends an outage."""
        return ends_outage(self.state, self.counters, self._context.clock.now(), probe=probe)

    @property
    def reactivated(self) -> bool:
        """Whether a user enabled the endpoint or changed its URL, and its waiting deliveries are not due yet."""
        return self.state == ACTIVE and self.counters.probe_at is not None

    async def clear_reactivated(self) -> None:
        at, self.counters = self.counters.probe_at, msgspec.structs.replace(self.counters, probe_at=None)
        await self._write(lambda: clear_probe(self._context.db, self._delivery.lease, self._endpoint_id, at))

    def adopt(self, target: Endpoint, changes: int) -> bool:
        """Adopt what a user changed; False if a write of our own overlapped the read: `changes` was taken before it."""
        if changes != self.changes or self._lock.locked():
            return False
        if target.updated_at != self.updated_at or target.state != self.state:
            if target.state != self.state:
                self._context.metrics.breaker(self.state, target.state)
                self._window.clear()
            self.state, self.counters, self.updated_at = target.state, target.health, target.updated_at
        elif self.paused:  # a user who retries a delivery also requests a probe
            self.counters = msgspec.structs.replace(self.counters, probe_at=target.health.probe_at)
        return True

    async def record_post(self, *, ok: bool, gone: bool, probe: bool, system: bool) -> bool:
        """Apply the result of a POST, in memory at once and in the database on return; True if the state changed.

        `system`: it contained only system notifications, so that a failure must not cause another one.
        """
        now = self._context.clock.now()
        if self.disabled:
            return False
        self._window.add(now, ok=ok)
        finished, failed = self._window.count(now)
        recent = self._failing_notice is not None and now - self._failing_notice < NOTICE_INTERVAL
        post = ObservedPost(ok, finished, failed, gone, probe, muted=system or recent)
        decision, previous = decide(self.state, self.counters, post, now, random.random()), self.state
        self.state, self.counters = decision.state, decision.health
        self._throttled_until = now + THROTTLE_DELAY
        if any(notice.event is EndpointFailing for notice in decision.notices):
            self._failing_notice = now
        if decision.state != previous:
            self._window.clear()
            self._context.metrics.breaker(previous, decision.state)
        if decision.notices:
            change = EndpointStateChange(previous, decision.state, decision.health)
            await self._emit(change, decision.notices, now)
        elif probe and self.paused:
            counters = decision.health
            await self._write(lambda: save_probe(self._context.db, self._delivery.lease, self._endpoint_id, counters))
        return decision.state != previous

    def record_successes(self, count: int, now: datetime) -> bool:
        """Count successes of a healthy endpoint, which needs no write; False if the endpoint is not healthy."""
        if self.state != ACTIVE or self.counters.failures or self.reactivated:
            return False
        self._window.add(now, ok=True, count=count)
        self.counters = HealthCounters(succeeded_at=now)
        return True

    def count_exhausted(self, event_ids: Sequence[UUID]) -> None:
        self._exhausted, self._last_exhausted = self._exhausted + len(event_ids), event_ids[-1]

    def exhausted_notice_at(self) -> datetime | None:
        """When the next notice of exhausted deliveries is due: at most one an hour."""
        if not self._exhausted:
            return None
        return self._context.clock.now() if self._exhausted_notice is None else self._exhausted_notice + NOTICE_INTERVAL

    async def emit_exhausted(self) -> None:
        """Emit the notice of exhausted deliveries, if it is due."""
        now, at = self._context.clock.now(), self.exhausted_notice_at()
        if at is None or at > now or self._lock.locked():
            return
        reason = "Deliveries were given up after their last attempt"
        notice = EndpointNotice(EndpointExhausted, reason, self._exhausted, self._last_exhausted)
        self._exhausted, self._exhausted_notice = 0, now
        await self._emit(EndpointStateChange(self.state, self.state, self.counters), [notice], now)

    async def _emit(self, change: EndpointStateChange, notices: Sequence[EndpointNotice], now: datetime) -> None:
        await self._write(lambda: self._save(change, notices, now))

    async def _write(self, step: Callable[[], Awaitable[None]]) -> None:
        async with self._lock:
            self.changes += 1
            try:
                await self._delivery.write(step)
            finally:
                self.changes += 1

    async def _save(self, change: EndpointStateChange, notices: Sequence[EndpointNotice], now: datetime) -> None:
        delivery = self._delivery
        done = await save_state_change(
            self._context.db, delivery.lease, delivery.channel, self._endpoint_id, change, notices, now
        )
        if done and change.state != change.previous:
            self.updated_at = now
            log.warning("endpoint " + change.state, endpoint=self._endpoint_id.hex, reason=notices[-1].reason)
