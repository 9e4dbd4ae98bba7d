"""Ownership of channels: at most one process works on a channel at a time, and only while its lease is valid.

sweep, 1 s    channels with work and no owner ─► claim ─► OwnedChannel: a sender, a deliverer per endpoint, other tasks
              own channels with new events    ─► wake (a lost wake-up costs a second, never a message)
renew, 5 s    leases are extended; a channel whose lease another process took is dropped at once
idle          nothing to do for a minute ─► released, with the time of the next work
stop          each channel is released when its work in flight is finished, independently of the others
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import structlog

from gatepost.background import Loop, Supervisor, attempt, log_failure, retry_until_available
from gatepost.clock import Clock
from gatepost.model.errors import Unavailable, database_unavailable
from gatepost.owned_channel import OwnedChannel, Worker
from gatepost.settings import LeaseSettings
from gatepost.store.channel_head import (
    Lease,
    LogEnd,
    claim_channel,
    end_stalled_sessions,
    find_unowned_channels,
    read_log_ends,
    release_all,
    release_channel,
    renew_leases,
)
from gatepost.store.pool import Database

log = structlog.get_logger("gatepost.owner")
_CLAIMS_PER_SWEEP = 100
_AVOID = 10.0  # seconds before a channel that could not be served is claimed again
_STALLED = 5.0  # seconds that a session may wait for the rest of a statement; the same limit as for a transaction
_MARGIN = 0.2  # fraction of the TTL: an owner that could not renew stops this long before its lease ends
_SWEEP_AGAIN = 2.0  # maximum seconds between failing sweeps
_YIELD = 1.5  # seconds that a channel is left to the process that should take it: longer than a sweep takes
_RELEASE_WAIT = 1.0  # seconds between attempts to release a channel
_STOP_WITHIN = 2.0  # seconds for the last statements of a process that stops


class Owner:
    """Claims, keeps and releases the channels of one process."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        settings: LeaseSettings,
        make_worker: Callable[[OwnedChannel], Awaitable[Worker | None]],
        count: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.id = uuid4()
        self._db = db
        self._clock = clock
        self._settings = settings
        self._make_worker = make_worker
        self._count = count
        self._owned: dict[UUID, OwnedChannel] = {}
        self._avoid: dict[UUID, float] = {}
        self._prefers: Callable[[UUID], bool] | None = None
        self._unowned_since: dict[UUID, float] = {}  # channels that another process should take
        self._wake = asyncio.Event()
        self._swept_at = clock.monotonic()
        self._unrenewed_since: float | None = None
        self._loops: list[Loop] = []
        self._endings: set[asyncio.Task[None]] = set()
        self._stopping = False

    def share(self, owner: UUID, prefers: Callable[[UUID], bool]) -> None:
        """Share the channels with other processes: take those that it prefers at once, and others if nobody does."""
        self.id, self._prefers = owner, prefers
        self._wake.set()

    def start(self, supervisor: Supervisor) -> None:
        log.info("owner started", owner=self.id.hex)
        renew = self._settings.renew
        self._loops = [
            supervisor.start("sweep", self._sweep_step, first_wait=self._settings.sweep, longest_wait=_SWEEP_AGAIN),
            supervisor.start(
                "lease renewal",
                self._renew_step,
                first_wait=min(1.0, renew / 2),
                longest_wait=renew / 2,
                failed=self._note_unrenewed,
            ),
            supervisor.start("look for stalled sessions", self._stall_step, longest_wait=_STALLED),
        ]

    @property
    def healthy(self) -> bool:
        """Whether the loops run, the last sweep is recent, and leases are renewed."""
        now, ttl = self._clock.monotonic(), self._settings.ttl
        renewed = self._unrenewed_since is None or now - self._unrenewed_since < ttl
        return all(loop.running for loop in self._loops) and now - self._swept_at < ttl and renewed

    @property
    def owned(self) -> int:
        """The number of channels that this process owns."""
        return len(self._owned)

    def wake(self, channel_id: UUID, *, sending: bool = True, tasks: bool = True) -> bool:
        """Wake a channel. If this process does not own it, start a sweep (it may have no owner) and return False.

        Of several processes, only the one that should take the channel sweeps at once.
        """
        owned = self._owned.get(channel_id)
        if owned is None:
            if self._prefers is None or self._prefers(channel_id):
                self._wake.set()
            return False
        owned.wake(sending=sending, tasks=tasks)
        return True

    async def stop(self, seconds: float) -> None:
        """End and release all channels within a time limit, independently of each other."""
        self._stopping = True
        for sweep in self._loops[:1]:
            await sweep.stop()
        for channel_id, owned in self._owned.items():
            self._end_in_background(self._end_and_release(channel_id, owned))
        if self._endings:  # leases are still renewed meanwhile
            await asyncio.wait(self._endings, timeout=seconds)
        for loop in self._loops:
            loop.cancel()
        for owned in self._owned.values():
            log.warning("channel did not end in time", channel=owned.lease.channel_id.hex)
            owned.valid_until = 0.0
        self._owned.clear()
        last = asyncio.create_task(attempt("release of channels", partial(release_all, self._db, self.id)))
        await asyncio.wait([last], timeout=_STOP_WITHIN)
        for task in (last, *self._endings):
            task.cancel()

    async def _end_and_release(self, channel_id: UUID, owned: OwnedChannel) -> None:
        """End a channel and release it. The lease is kept until work in flight is finished."""
        await attempt("end of a channel", owned.end, channel=channel_id.hex)
        self._owned.pop(channel_id, None)
        owned.valid_until = 0.0
        await self._release(owned.lease)

    def _end_in_background(self, ending: Coroutine[Any, Any, None]) -> None:
        """End a channel outside the sweep: work in flight may take long, and other channels must not wait for it."""
        task = asyncio.create_task(ending)
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)

    # -- the sweep ----------------------------------------------------------------------------------------------------

    async def _sweep_step(self) -> None:
        self._wake.clear()
        await self.sweep()
        self._swept_at = self._clock.monotonic()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), self._settings.sweep)
            await asyncio.sleep(0.05)

    async def sweep(self) -> None:
        """Check all channels once. An error of one channel must not affect the others."""
        now = self._clock.monotonic()
        for channel_id in self._mine(await find_unowned_channels(self._db, self._clock.now(), _CLAIMS_PER_SWEEP), now):
            if channel_id in self._owned or now < self._avoid.get(channel_id, now):
                continue
            if not await self._try("claim of a channel", partial(self._claim, channel_id), channel_id):
                self._avoid[channel_id] = self._clock.monotonic() + _AVOID
        ends = await read_log_ends(self._db, list(self._owned)) if self._owned else {}
        for channel_id, owned in list(self._owned.items()):
            check = partial(self._check, channel_id, owned, ends.get(channel_id))
            if not await self._try("check of a channel", check, channel_id) and channel_id in self._owned:
                self._drop(channel_id, owned, "it could not be checked")

    def _mine(self, unowned: list[UUID], now: float) -> list[UUID]:
        """Return the channels that this process may take now."""
        prefers = self._prefers
        if prefers is None:
            return unowned
        before = self._unowned_since
        self._unowned_since = {one: before.get(one, now) for one in unowned if not prefers(one)}
        return [one for one in unowned if now - self._unowned_since.get(one, now - _YIELD) >= _YIELD]

    async def _try(self, name: str, step: Callable[[], Awaitable[None]], channel_id: UUID) -> bool:
        """Run a step for one channel. Only an outage of the database is raised: it affects all channels."""
        try:
            await step()
        except Unavailable:
            raise
        except Exception as error:
            log_failure(name, error, channel=channel_id.hex)
            return False
        return True

    async def _claim(self, channel_id: UUID) -> None:
        asked_at = self._clock.monotonic()
        lease = await claim_channel(self._db, channel_id, self.id, self._settings.ttl)
        if lease is None:
            return
        if lease.taken_from is not None:
            self._count("taken_over")
            before = lease.taken_from.hex
            log.warning("channel taken over", channel=channel_id.hex, previous_owner=before, epoch=lease.epoch)
        owned = self._owned[channel_id] = OwnedChannel(self._db, self._clock, lease, self._valid_until(asked_at))
        worker = await self._make_worker(owned)
        if worker is not None:
            await owned.begin(worker)

    async def _check(self, channel_id: UUID, owned: OwnedChannel, end: LogEnd | None) -> None:
        """Wake a channel with new events, drop one that is lost, release one that is idle."""
        now = self._clock.monotonic()
        if end is None or owned.broken or not owned.alive():
            why = "the channel does not exist" if end is None else "one of its tasks ended" if owned.alive() else None
            self._drop(channel_id, owned, why or "its lease was lost or not renewed in time")
            return
        if end != owned.seen:
            owned.seen, owned.busy_at = end, now
            owned.wake(tasks=False)
        elif not owned.idle:
            owned.busy_at = now
            owned.refresh()
        elif now - owned.busy_at > self._settings.idle:
            await self._release_idle(channel_id, owned)
            return
        await owned.on_sweep()

    async def _release_idle(self, channel_id: UUID, owned: OwnedChannel) -> None:
        await owned.save()
        if await release_channel(self._db, owned.lease, seen=owned.seen, work_at=owned.next_work()):
            del self._owned[channel_id]
            owned.valid_until = 0.0
            self._end_in_background(owned.end())

    def _drop(self, channel_id: UUID, owned: OwnedChannel, why: str) -> None:
        """Drop a channel whose lease is lost or whose tasks failed. Its next owner starts from the database's state."""
        self._count("dropped")
        log.warning("channel dropped", channel=channel_id.hex, alive=owned.alive(), reason=why)
        del self._owned[channel_id]
        owned.valid_until = 0.0
        self._end_in_background(self._end_dropped(owned))

    async def _end_dropped(self, owned: OwnedChannel) -> None:
        await attempt("end of a channel", owned.end, channel=owned.lease.channel_id.hex)
        await self._release(owned.lease)

    async def _release(self, lease: Lease) -> None:
        """Release a channel; retried while the database is unavailable, until the lease would have expired."""
        expires = self._clock.monotonic() + self._settings.ttl
        release = retry_until_available(
            partial(release_channel, self._db, lease, seen=None, work_at=None),
            lambda: not self._stopping and self._clock.monotonic() < expires,
            wait=_RELEASE_WAIT,
        )
        await attempt("release of a channel", lambda: release, channel=lease.channel_id.hex)

    # -- renewing -----------------------------------------------------------------------------------------------------

    async def _renew_step(self) -> None:
        if self._owned:
            lasting = self._settings.ttl * (1 - _MARGIN)
            try:
                async with asyncio.timeout(max(self._settings.renew, lasting - self._settings.renew)):
                    await self.renew()
            except TimeoutError as error:  # there is time for another attempt
                raise database_unavailable() from error
        self._unrenewed_since = None
        await asyncio.sleep(self._settings.renew)

    def _note_unrenewed(self) -> None:
        self._count("renewal_failed")
        if self._unrenewed_since is None:
            self._unrenewed_since = self._clock.monotonic()

    async def _stall_step(self) -> None:
        """End stalled sessions. This has its own loop: the others may wait for locks that a stalled session holds."""
        await asyncio.sleep(_STALLED / 2)
        if ended := await end_stalled_sessions(self._db, _STALLED):
            log.warning("stalled sessions ended", sessions=ended)

    async def renew(self) -> None:
        """Renew the leases. A channel whose lease another process took is dropped.

        Unlocked rows are renewed first: a long lock on one row must not cost the others their leases.
        """
        asked = dict(self._owned)  # a copy: channels that are claimed meanwhile are not affected
        await self._renew(asked, skip_locked=True)
        if asked:
            await self._renew(asked, skip_locked=False)
        for owned in asked.values():
            owned.valid_until = 0.0

    async def _renew(self, asked: dict[UUID, OwnedChannel], *, skip_locked: bool) -> None:
        """Renew leases, and remove the renewed ones from `asked`."""
        asked_at = self._clock.monotonic()
        for channel_id in await renew_leases(
            self._db, self.id, list(asked), self._settings.ttl, skip_locked=skip_locked
        ):
            asked.pop(channel_id).valid_until = self._valid_until(asked_at)

    def _valid_until(self, asked_at: float) -> float:
        return asked_at + self._settings.ttl * (1 - _MARGIN)
