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
from gatepost.outbound.channel_sender import ChannelSender
from gatepost.store.channel_head import Lease, LogEnd, StaleOwner
from gatepost.store.deliveries.queue import DeliveryCursor, EndpointTarget, read_targets, save_cursors
from gatepost.store.pool import Database
from gatepost.webhooks.endpoint_deliverer import EndpointDeliverer

log = structlog.get_logger("gatepost.owner")
_REFRESH_EVERY = 1.0


class OwnerTask(Protocol):
    """Something else that a channel's owner does besides sending and delivering: a link to keep, files to fetch."""

    async def run(self) -> None:
        """Until stopped, or until the lease is lost."""

    async def stop(self) -> None:
        """Ends what is under way."""

    def wake(self) -> None:
        """There may be something new."""

    @property
    def idle(self) -> bool: ...

    @property
    def next_work(self) -> datetime | None: ...


class OwnedChannel:
    """One channel while we own it."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        lease: Lease,
        valid_until: float,
        make_deliverer: Callable[["OwnedChannel", EndpointTarget], EndpointDeliverer],
        tune: Callable[["OwnedChannel", ChannelSender], Awaitable[None]],
    ) -> None:
        self.lease = lease
        self.valid_until = valid_until
        self.seen: LogEnd | None = None
        self.busy_at = clock.monotonic()
        self._db = db
        self._clock = clock
        self._make_deliverer = make_deliverer
        self._tune = tune
        self._sender: ChannelSender | None = None
        self.tasks: Sequence[OwnerTask] = ()
        self.channel: ChannelRef | None = None  # how its events name it, once it is served
        self._deliverers: dict[UUID, tuple[EndpointDeliverer, asyncio.Task[None]]] = {}
        self._marks: dict[UUID, DeliveryCursor] = {}
        self._running: list[asyncio.Task[None]] = []
        self._refreshing: asyncio.Task[None] | None = None
        self._one_look = asyncio.Lock()
        self._refreshed_at = 0.0
        self._stale = False
        self._ended = False

    def alive(self) -> bool:
        """Whether we may still act for the channel."""
        return self._clock.monotonic() < self.valid_until

    async def begin(self, sender: ChannelSender) -> None:
        self._sender = sender
        self._running = [asyncio.create_task(sender.run()), *(asyncio.create_task(task.run()) for task in self.tasks)]
        self._stale = False
        await self._look()
        if self._stale:
            self.refresh()

    def wake(self, *, sending: bool = True) -> None:
        """There may be something new: to send, to deliver, or a changed endpoint."""
        if self._sender and sending:
            self._sender.wake()
        for deliverer, _ in self._deliverers.values():
            deliverer.wake()
        for task in self.tasks:
            task.wake()
        self.refresh()

    def refresh(self) -> None:
        """Settings or endpoints may have changed."""
        self._stale = True
        if self._sender and not self._ended and (self._refreshing is None or self._refreshing.done()):
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
            deliverer.idle and not task.done() for deliverer, task in self._deliverers.values()
        )  # one that broke is replaced
        return bool(self._sender and self._sender.idle) and all(rounds) and all(task.idle for task in self.tasks)

    def next_work(self) -> datetime | None:
        """When there will be something to do, as far as is known."""
        times = [*(r.next_work for r, _ in self._deliverers.values()), *(task.next_work for task in self.tasks)]
        if self._sender:
            times.append(self._sender.next_scheduled)
        return min((t for t in times if t is not None), default=None)

    async def _refresh(self) -> None:
        """Follows the channel's settings, and its endpoints as they are made, changed and deleted."""
        self._refreshed_at = self._clock.monotonic()
        if self._sender:
            await self._tune(self, self._sender)
        changes = {id_: deliverer.changes for id_, (deliverer, _) in self._deliverers.items()}
        targets = {target.id: target for target in await read_targets(self._db, self.lease.channel_id)}
        for id_, (deliverer, task) in list(self._deliverers.items()):
            if id_ not in targets or task.done():
                if task.done() and not task.cancelled() and task.exception():
                    log.error("delivery failed", endpoint=id_.hex, exc_info=task.exception())
                await deliverer.stop()
                del self._deliverers[id_]  # not before: should we be broken off here, the end waits for it
        for target in targets.values():
            if target.id in self._deliverers:
                known = self._deliverers[target.id][0].change(target, changes[target.id])
                self._stale = self._stale or not known
            elif self.alive():
                deliverer = self._make_deliverer(self, target)
                self._deliverers[target.id] = (deliverer, asyncio.create_task(deliverer.run()))

    async def save(self) -> None:
        """Notes how far each endpoint is and how it fares, if that has changed."""
        marks = {id_: deliverer.progress for id_, (deliverer, _) in self._deliverers.items()}
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
        stops = [deliverer.stop for deliverer, _ in self._deliverers.values()] + (
            [self._sender.stop] if self._sender else []
        )
        await asyncio.gather(*map(self._try, stops))
        await asyncio.gather(*(self._try(task.stop) for task in self.tasks))  # the lane's last messages need the link
        tasks = [task for _, task in self._deliverers.values()] + self._running
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
