"""One channel while this process owns it: a sender, a deliverer per endpoint, and the other tasks of the channel.

begin ─► sender ─► other tasks ─► refresh: settings, endpoints ─► deliverers      again after wake-ups, once a second
end   ─► deliverers ─► sender ─► other tasks: no new work starts, and work in flight is finished
         the progress of each endpoint is saved before the sender ends, so that the channel waits for little
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from gatepost.background import attempt, log_failure
from gatepost.channel_task import ChannelTask
from gatepost.clock import Clock
from gatepost.model.errors import GatepostError, Unavailable
from gatepost.outbound.channel_sender import ChannelSender
from gatepost.store.channel_head import Lease, LogEnd
from gatepost.store.deliveries.queue import DeliveryCursor, save_cursors
from gatepost.store.endpoints import Endpoint
from gatepost.store.pool import Database
from gatepost.webhooks.endpoint_deliverer import EndpointDeliverer

_RARELY = 3  # sweeps between two looks of the minor tasks, and between two saves of the endpoints' progress
_REFRESH_EVERY = 1.0
_TOGETHER = 200  # channels whose progress is saved by one statement


class Worker(Protocol):
    """The tasks of an owned channel; `channel_worker.py` creates them."""

    sender: ChannelSender
    others: Sequence[ChannelTask]  # other than sending and delivering

    def make_deliverer(self, target: Endpoint) -> EndpointDeliverer:
        """Create the deliverer of an endpoint."""

    async def tune(self) -> None:
        """Apply changes of the channel's settings to the tasks."""


class OwnedChannel:
    """A channel that this process owns."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        lease: Lease,
        valid_until: float,
        find_endpoints: Callable[[UUID], Awaitable[list[Endpoint] | None]],
    ) -> None:
        self.lease = lease
        self.valid_until = valid_until
        self.seen: LogEnd | None = None
        self.save_due = False  # whether the progress of the endpoints should be saved
        self.busy_at = clock.monotonic()
        self._db = db
        self._clock = clock
        self._find_endpoints = find_endpoints
        self._worker: Worker | None = None
        self._deliverers: dict[UUID, EndpointDeliverer] = {}
        self._saved: dict[UUID, DeliveryCursor] = {}
        self._sweeps = 0
        self._refreshing: asyncio.Task[None] | None = None
        self._one_look = asyncio.Lock()
        self._refreshed_at = 0.0
        self._stale = False
        self._unlooked = False  # whether something has happened that the other tasks have not looked at
        self._ended = False
        self._delivering: list[asyncio.Task[None]] = []

    def alive(self) -> bool:
        """Return whether the lease is valid."""
        return self._clock.monotonic() < self.valid_until

    async def begin(self, worker: Worker, settle: Callable[[], Awaitable[None]] | None = None) -> None:
        """Start the tasks: first the sender, then, after `settle`, the others."""
        self._worker = worker
        worker.sender.start()
        await worker.sender.looked.wait()
        if settle is not None:
            await settle()
        for task in worker.others:
            task.start()
        self._stale = False
        await self._look()
        if self._stale:
            self.refresh()

    def wake(self, *, sending: bool = True, tasks: bool = True) -> None:
        """Notify the tasks that there may be something to send or deliver, or a changed endpoint.

        Without `tasks`, the tasks other than sending and delivering look at it within a few seconds.
        """
        if self._worker and sending:
            self._worker.sender.wake()
        for deliverer in self._deliverers.values():
            deliverer.wake()
        self._unlooked = True
        if tasks:
            self._wake_tasks()

    def on_sweep(self) -> None:
        """Every few sweeps: wake all tasks if something has happened, and let the progress be saved."""
        self._sweeps += 1
        if self._sweeps % _RARELY == 0:
            self.save_due = True
            if self._unlooked:
                self._wake_tasks()

    def _wake_tasks(self) -> None:
        self._unlooked = False
        for task in self._others:
            task.wake()
        self.refresh()

    def refresh(self) -> None:
        """Schedule a refresh: settings or endpoints may have changed."""
        self._stale = True
        if self._worker and not self._ended and (self._refreshing is None or self._refreshing.done()):
            self._refreshing = asyncio.create_task(self._refresh_soon())

    async def _refresh_soon(self) -> None:
        """Refresh while stale, at most once a second."""
        while self._stale and self.alive():
            await asyncio.sleep(max(0.0, self._refreshed_at + _REFRESH_EVERY - self._clock.monotonic()))
            self._stale = False
            await self._look()

    async def _look(self) -> None:
        """Refresh under a lock: two refreshes could each start a deliverer for an endpoint. A failure is retried."""
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
        """Whether the sender or a task has ended without being stopped."""
        return self._worker is not None and any(task.ended for task in (self._worker.sender, *self._others))

    @property
    def begun(self) -> bool:
        """Whether the tasks were started."""
        return self._worker is not None

    @property
    def idle(self) -> bool:
        if self._worker is None or any(deliverer.ended for deliverer in self._deliverers.values()):
            return False  # an ended deliverer is replaced
        return all(task.idle for task in self._all_tasks) and not self._unlooked

    @property
    def move_cost(self) -> tuple[bool, bool]:
        """How much a move to another process disturbs this channel; less is better."""
        return any(task.costly_to_move for task in self._others), not self.idle

    def next_work(self) -> datetime | None:
        """Return the time of the next work, if known."""
        return min((task.next_work for task in self._all_tasks if task.next_work is not None), default=None)

    @property
    def _all_tasks(self) -> Sequence[ChannelTask]:
        sender = [self._worker.sender] if self._worker else []
        return [*sender, *self._deliverers.values(), *self._others]

    @property
    def _others(self) -> Sequence[ChannelTask]:
        return self._worker.others if self._worker else ()

    async def _refresh(self) -> None:
        """Read the channel's settings and endpoints, and apply changes."""
        self._refreshed_at = self._clock.monotonic()
        worker = self._worker
        assert worker is not None  # a channel is not refreshed before it begins
        await worker.tune()
        changes = {id_: deliverer.changes for id_, deliverer in self._deliverers.items()}
        targets = {target.id: target for target in await self._find_endpoints(self.lease.channel_id) or ()}
        for id_, deliverer in list(self._deliverers.items()):
            if id_ not in targets or deliverer.ended:
                await deliverer.stop()
                await deliverer.end()
                del self._deliverers[id_]  # only now: if this is cancelled, `end` still waits for it
        for target in targets.values():
            try:
                if target.id in self._deliverers:
                    known = self._deliverers[target.id].change(target, changes[target.id])
                    self._stale = self._stale or not known
                elif self.alive():
                    deliverer = self._deliverers[target.id] = worker.make_deliverer(target)
                    deliverer.start()
            except GatepostError as error:  # its secrets cannot be decrypted; the other endpoints can be used
                log_failure("start of an endpoint", error, channel=self.lease.channel_id.hex, endpoint=target.id.hex)

    def unsaved(self) -> Mapping[UUID, DeliveryCursor]:
        """Return the progress and health of the endpoints for which they changed."""
        if not self.alive():
            return {}
        progress = {id_: deliverer.progress for id_, deliverer in self._deliverers.items()}
        return {id_: cursor for id_, cursor in progress.items() if self._saved.get(id_) != cursor}

    def saved(self, cursors: Mapping[UUID, DeliveryCursor]) -> None:
        """Note what is saved."""
        self.save_due = False
        self._saved.update(cursors)

    async def save(self) -> None:
        """Save the progress and health of the endpoints for which they changed."""
        cursors = self.unsaved()
        done = await save_cursors(self._db, {self.lease: cursors}, wait=True)
        self.saved({id_: cursor for id_, cursor in cursors.items() if id_ in done})

    async def end_deliveries(self, patience: float = 0.0) -> None:
        """Begin no more webhooks, wait for those in flight for up to `patience` seconds, and save the progress.

        The sender continues: a slow receiver does not hold up the messages of its channel. The refresh ends first: it
        would start new deliverers.
        """
        self._ended = True
        if self._refreshing:
            self._refreshing.cancel()
            await asyncio.wait([self._refreshing])
        self._delivering = [asyncio.create_task(self._try(one.stop)) for one in self._deliverers.values()]
        if self._delivering and patience:
            await asyncio.wait(self._delivering, timeout=patience)
            await self._try(self.save)

    async def end(self) -> None:
        """Stop all tasks after work in flight is finished. A task that fails to stop does not block the others.

        The sender ends before the link that it sends over.
        """
        if not self._ended:
            await self.end_deliveries()
        try:
            if self._worker:
                await self._try(self._worker.sender.stop)
        finally:
            await asyncio.gather(*self._delivering)
        await asyncio.gather(*(self._try(task.stop) for task in self._others))
        await asyncio.gather(*(task.end() for task in self._all_tasks))
        await self._try(self.save)

    async def _try(self, step: Callable[[], Awaitable[None]]) -> None:
        await attempt("end of a channel", step, channel=self.lease.channel_id.hex)


async def save_progress(db: Database, owned: Sequence[OwnedChannel]) -> None:
    """Save what has changed, of the channels for which it is time. If that fails, of each channel by itself."""
    due = [one for one in owned if one.save_due]
    for first in range(0, len(due), _TOGETHER):
        some = due[first : first + _TOGETHER]
        try:
            await _save(db, some)
        except Unavailable:
            raise
        except Exception as error:
            log_failure("saving of endpoints' progress", error)
            for one in some:
                await attempt("saving of endpoints' progress", one.save, channel=one.lease.channel_id.hex)


async def _save(db: Database, channels: Sequence[OwnedChannel]) -> None:
    changed = {one: unsaved for one in channels if (unsaved := one.unsaved())}
    done = await save_cursors(db, {one.lease: some for one, some in changed.items()}, wait=False)
    for one in channels:
        one.saved({id_: cursor for id_, cursor in changed.get(one, {}).items() if id_ in done})
