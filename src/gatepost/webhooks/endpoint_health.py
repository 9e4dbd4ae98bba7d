"""How an endpoint stands while its round runs: state and health in memory, each change of state written and told.

    POST ended ─► tally ─► breaker.judge ─► memory, at once ─► endpoints row + endpoint_notification, in one commit
                                                                │ somebody changed the state by hand meanwhile
    the row as it was read last ─► adopt ◄──────────────────────┘

Health alone changes too often to be written each time; the owner notes it with the cursors.
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
from gatepost.model.event import ChannelRef
from gatepost.store.channel_head import Lease
from gatepost.store.deliveries.queue import EndpointTarget
from gatepost.store.endpoint_state import (
    EndpointNotice,
    EndpointStateChange,
    clear_probe,
    save_probe,
    save_state_change,
)
from gatepost.webhooks.breaker import THROTTLE_DELAY, FailureWindow, ObservedPost, decide, ends_outage, is_throttled
from gatepost.webhooks.delivery_context import DeliveryContext
from gatepost.webhooks.outage_recovery import insist

log = structlog.get_logger("gatepost.webhooks")
NOTICE_PAUSE = timedelta(hours=1)


class EndpointHealth:
    """One endpoint's, as long as we own its channel."""

    def __init__(
        self,
        post: DeliveryContext,
        lease: Lease,
        channel: ChannelRef,
        target: EndpointTarget,
        alive: Callable[[], bool],
    ) -> None:
        self._context = post
        self._lease = lease
        self._channel = channel
        self._alive = alive
        self._endpoint_id = target.id
        self._tally = FailureWindow()
        self._lock = asyncio.Lock()
        self._exhausted = 0
        self._exhausted_last = ids.ZERO
        self._exhausted_told: datetime | None = None
        self._failing_told: datetime | None = None
        self._brake_until: datetime | None = None
        self.writes = 0  # grows at the begin and at the end of each change of ours
        self.state, self.health, self.known = target.state, target.health, target.updated_at
        post.metrics.breaker(None, self.state)

    def close(self) -> None:
        """The round is over."""
        self._context.metrics.breaker(self.state, None)

    @property
    def paused(self) -> bool:
        return self.state == PAUSED

    @property
    def disabled(self) -> bool:
        return self.state == DISABLED

    @property
    def probing(self) -> bool:
        """Whether it gets one delivery at a time, and the next not before `try_at`."""
        return self.paused or is_throttled(self.state, self.health)

    @property
    def try_at(self) -> datetime | None:
        """While it is probed: when the next delivery may go out; None: now."""
        return self.health.probe_at if self.paused else self._brake_until

    def may_try(self, now: datetime) -> bool:
        return self.try_at is None or self.try_at <= now

    def ends_outage(self, *, probe: bool) -> bool:
        """Whether a success of this moment ends an outage."""
        return ends_outage(self.state, self.health, self._context.clock.now(), probe=probe)

    @property
    def repaired(self) -> bool:
        """Whether somebody enabled it or changed its address, and what waits is yet to be tried because of that."""
        return self.state == ACTIVE and self.health.probe_at is not None

    async def note_repaired(self) -> None:
        """What waited is due."""
        at, self.health = self.health.probe_at, msgspec.structs.replace(self.health, probe_at=None)
        await self._change(lambda: clear_probe(self._context.db, self._lease, self._endpoint_id, at))

    def adopt(self, target: EndpointTarget, asked: int) -> bool:
        """Takes over what somebody changed by hand; False when our own change crossed the look that found it."""
        if asked != self.writes or self._lock.locked():
            return False
        if target.updated_at != self.known or target.state != self.state:
            if target.state != self.state:
                self._context.metrics.breaker(self.state, target.state)
                self._tally.clear()
            self.state, self.health, self.known = target.state, target.health, target.updated_at
        elif self.paused:  # somebody who asks for a delivery again also asks for a probe
            self.health = msgspec.structs.replace(self.health, probe_at=target.health.probe_at)
        return True

    async def note(self, *, ok: bool, gone: bool, probe: bool, operational: bool) -> bool:
        """One POST ended: what follows is true in memory at once, and in the database when this returns.

        Returns whether the state has changed by it.
        """
        now = self._context.clock.now()
        if self.disabled:
            return False
        self._tally.add(now, ok=ok)
        finished, failed = self._tally.count(now)
        hushed = operational or not _past(self._failing_told, now)
        seen = ObservedPost(ok, finished, failed, gone, probe, hushed)
        found, previous = decide(self.state, self.health, seen, now, random.random()), self.state
        self.state, self.health = found.state, found.health
        self._brake_until = now + THROTTLE_DELAY
        if any(told.action == "failing" for told in found.told):
            self._failing_told = now
        if found.state != previous:
            self._tally.clear()
            self._context.metrics.breaker(previous, found.state)
        if found.told:
            await self._tell(EndpointStateChange(previous, found.state, found.health), found.told, now)
        elif probe and self.paused:
            health = found.health
            await self._change(lambda: save_probe(self._context.db, self._lease, self._endpoint_id, health))
        return found.state != previous

    def note_well(self) -> bool:
        """One more POST arrived at an endpoint that is well: nothing to write, nothing to tell. False: it was not."""
        if self.state != ACTIVE or self.health.failures or self.repaired:
            return False
        now = self._context.clock.now()
        self._tally.add(now, ok=True)
        self.health = HealthCounters(succeeded_at=now)
        return True

    def count_exhausted(self, event_ids: Sequence[UUID]) -> None:
        """Deliveries were given up."""
        if event_ids:
            self._exhausted, self._exhausted_last = self._exhausted + len(event_ids), event_ids[-1]

    def tells_at(self) -> datetime | None:
        """When deliveries that were given up are to be told of: at most once an hour."""
        if not self._exhausted:
            return None
        return self._context.clock.now() if self._exhausted_told is None else self._exhausted_told + NOTICE_PAUSE

    async def tell_exhausted(self) -> None:
        """Tells of them, if it is time."""
        now, at = self._context.clock.now(), self.tells_at()
        if at is None or at > now or self._lock.locked():
            return
        reason = "Deliveries were given up after their last attempt"
        told = EndpointNotice("exhausted", reason, self._exhausted, self._exhausted_last)
        self._exhausted, self._exhausted_told = 0, now
        await self._tell(EndpointStateChange(self.state, self.state, self.health), [told], now)

    async def _tell(self, change: EndpointStateChange, told: Sequence[EndpointNotice], now: datetime) -> None:
        await self._change(lambda: self._write(change, told, now))

    async def _change(self, write: Callable[[], Awaitable[None]]) -> None:
        """One change after the other, however long the database is away, as long as the lease holds."""
        async with self._lock:
            self.writes += 1
            try:
                await insist(write, self._alive)
            finally:
                self.writes += 1

    async def _write(self, change: EndpointStateChange, told: Sequence[EndpointNotice], now: datetime) -> None:
        done = await save_state_change(
            self._context.db, self._lease, self._channel, self._endpoint_id, change, told, now
        )
        if done and change.state != change.previous:
            self.known = now
            log.warning("endpoint " + change.state, endpoint=self._endpoint_id.hex, reason=told[-1].reason)


def _past(told: datetime | None, now: datetime) -> bool:
    return told is None or now - told >= NOTICE_PAUSE
