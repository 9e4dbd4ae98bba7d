"""Ownership of channels: at most one process works on a channel at a time, and only while its lease is valid.

claim, 1 s    channels with work and no owner ─► claim ─► OwnedChannel: a sender, a deliverer per endpoint, other tasks
              at once when a channel is woken or released
sweep, 1 s    own channels with new events ─► wake (a lost wake-up costs a second, never a message)
renew, 5 s    leases are extended; a channel whose lease another process took is dropped at once
balance, 5 s  more channels than an equal part ─► some are released, and the others claim them at once
idle          nothing to do for a minute ─► released, with the time of the next work
stop          each channel is released when its work in flight is finished; a few at a time, the others send meanwhile
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import structlog

from gatepost.background import Loop, Supervisor, attempt, attempt_within, log_failure, retry_until_available
from gatepost.channel_claims import AT_ONCE, ChannelClaims
from gatepost.channel_turns import ChannelStarts, ChannelTurns
from gatepost.clock import Clock
from gatepost.grouped_lookup import GroupedLookup
from gatepost.held_leases import STALLED, LeaseListener, LeaseRenewal, look_for_stalls
from gatepost.model.errors import Unavailable, database_unavailable
from gatepost.model.lease_share import excess_of
from gatepost.owned_channel import OwnedChannel, Worker, save_progress
from gatepost.settings import LeaseSettings
from gatepost.store.channel_head import Lease, LogEnd, read_log_ends
from gatepost.store.endpoints import list_delivering
from gatepost.store.leases import release_all, release_channel, remove_owner
from gatepost.store.pool import Database

log = structlog.get_logger("gatepost.owner")
_SWEEP_AGAIN = 2.0  # maximum seconds between failing sweeps
_GATHER = 0.05  # seconds between a wake-up and the claim, so that channels that wake together are claimed together
_RELEASE_WAIT = 1.0  # seconds between attempts to release a channel
_STOP_WITHIN = 2.0  # seconds for the last statements of a process that stops, and for sends in flight
_TOGETHER = 200  # channels that are woken by a sweep in one turn of the event loop
_WANTED = 3.0  # seconds for which a channel that moves to another database is not claimed
_MOVE_WITHIN = 1.0  # seconds for webhooks in flight of such a channel, which waits for them
_DELIVER_WITHIN = 30.0  # seconds for webhooks in flight of a channel that is handed over

MakeWorkers = Callable[[Sequence[OwnedChannel]], Awaitable[Mapping[UUID, Worker]]]


class Owner:
    """Claims, keeps and releases the channels of one process."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        settings: LeaseSettings,
        make_workers: MakeWorkers,
        listener: LeaseListener | None = None,
        id_: UUID | None = None,
    ) -> None:
        self.id = id_ or uuid4()
        self._db, self._clock, self._settings, self._make_workers = db, clock, settings, make_workers
        self._listener = listener or LeaseListener()
        self._owned: dict[UUID, OwnedChannel] = {}
        self._beginning: dict[UUID, asyncio.Task[bool]] = {}
        self._leaving: set[UUID] = set()
        self._wake = asyncio.Event()
        self._find_endpoints = GroupedLookup(partial(list_delivering, db)).find
        self._claims = ChannelClaims(db, clock, self.id, settings.ttl)
        self._starts = ChannelStarts()
        self._turns = ChannelTurns()
        self._renewal = LeaseRenewal(db, clock, self.id, settings.ttl)
        self._claimed_at = self._swept_at = clock.monotonic()
        self._unrenewed_since: float | None = None
        self._loops: list[Loop] = []
        self._endings: set[asyncio.Task[None]] = set()
        self._stopping = False

    def start(self, supervisor: Supervisor) -> None:
        log.info("owner started", owner=self.id.hex)
        renew, sweep = self._settings.renew, self._settings.sweep
        self._loops = [
            supervisor.start("claims", self._claim_step, first_wait=sweep, longest_wait=_SWEEP_AGAIN),
            supervisor.start("sweep", self._sweep_step, first_wait=sweep, longest_wait=_SWEEP_AGAIN),
            supervisor.start(
                "lease renewal",
                self._renew_step,
                first_wait=min(1.0, renew / 2),
                longest_wait=renew / 2,
                failed=self._note_unrenewed,
            ),
            supervisor.start("look for stalled sessions", partial(look_for_stalls, self._db), longest_wait=STALLED),
        ]

    @property
    def healthy(self) -> bool:
        """Whether the loops run, the last claim and the last sweep are recent, and leases are renewed."""
        now, ttl = self._clock.monotonic(), self._settings.ttl
        renewed = self._unrenewed_since is None or now - self._unrenewed_since < ttl
        return all(one.running for one in self._loops) and renewed and now - min(self._claimed_at, self._swept_at) < ttl

    @property
    def owned(self) -> int:
        """The number of channels that this process owns."""
        return len(self._owned)

    @property
    def beginning(self) -> int:
        """The number of channels that are being claimed or started."""
        return len(self._beginning)

    def wake(self, channel_id: UUID, *, sending: bool = True, tasks: bool = True) -> bool:
        """Wake a channel. If this process does not own it, look whether it has an owner, and return False."""
        if (owned := self._owned.get(channel_id)) is None:
            if self._claims.wake(channel_id):
                self._wake.set()
            return False
        owned.wake(sending=sending, tasks=tasks)
        return True

    def look(self, *, lost: bool = False) -> None:
        """Look for channels without an owner now; if notifications were `lost`, read the settings of the own ones."""
        for owned in self._owned.values() if lost else ():
            owned.refresh()
        self._wake.set()

    def hand_over(self, channels: Sequence[UUID]) -> None:
        """Release channels that another program wants, and claim them no more for some seconds."""
        for channel_id in channels:
            self._claims.avoid(channel_id, _WANTED)
            if (owned := self._owned.get(channel_id)) and channel_id not in self._leaving:
                self._leaving.add(channel_id)
                self._end_in_background(self._hand_over(channel_id, owned, "move", _MOVE_WITHIN))

    async def stop(self, seconds: float) -> None:
        """End and release all channels within a time limit, independently of each other."""
        self._stopping = True
        self._starts.end()
        for loop in self._loops[:2]:  # no more claims and sweeps
            await loop.stop()
        await attempt_within(_STOP_WITHIN, "end of ownership", partial(remove_owner, self._db, self.id))
        patience = max(0.0, seconds - _STOP_WITHIN - self._turns.longest_wait)
        for channel_id, owned in self._owned.items():
            if channel_id not in self._leaving:
                self._end_in_background(self._hand_over(channel_id, owned, "stop", patience))
        interrupted = partial(release_all, self._db, self.id, keep=list(self._owned))  # such a claim may have committed
        await attempt_within(_STOP_WITHIN, "release of channels", interrupted)
        if self._endings:  # leases are still renewed meanwhile
            await asyncio.wait(self._endings, timeout=seconds)
        for loop in self._loops:
            loop.cancel()
        for owned in self._owned.values():
            log.warning("channel did not end in time", channel=owned.lease.channel_id.hex)
            owned.valid_until = 0.0
        self._owned.clear()
        await attempt_within(_STOP_WITHIN, "release of channels", partial(release_all, self._db, self.id))
        self._listener.released()
        for task in self._endings:
            task.cancel()

    async def _hand_over(self, channel_id: UUID, owned: OwnedChannel, reason: str, patience: float) -> None:
        """End a channel and release it. It sends until its webhooks in flight have ended, or `patience` has."""
        self._leaving.add(channel_id)
        await self._until_begun(channel_id)
        await attempt("end of deliveries", partial(owned.end_deliveries, patience), channel=channel_id.hex)
        await self._turns.run(partial(self._end_and_release, channel_id, owned, reason))

    async def _end_and_release(self, channel_id: UUID, owned: OwnedChannel, reason: str) -> None:
        try:
            await attempt("end of a channel", owned.end, channel=channel_id.hex)
        finally:
            self._leaving.discard(channel_id)
        if self._owned.get(channel_id) is not owned:
            return  # dropped meanwhile
        del self._owned[channel_id]
        owned.valid_until = 0.0
        self._listener.moved(reason)
        await self._release(owned.lease)

    async def _until_begun(self, channel_id: UUID) -> None:
        if beginning := self._beginning.get(channel_id):
            await asyncio.wait([beginning])

    def _end_in_background(self, ending: Coroutine[Any, Any, None]) -> None:
        """End a channel outside the sweep: work in flight may take long, and other channels must not wait for it."""
        task = asyncio.create_task(ending)
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)

    # -- claiming -----------------------------------------------------------------------------------------------------

    async def _claim_step(self) -> None:
        """Claim once per interval, and when woken. This has its own loop: a sweep may wait for a locked channel."""
        await self.claim()
        self._claimed_at = self._clock.monotonic()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), self._settings.sweep)
            await asyncio.sleep(_GATHER)

    async def claim(self) -> None:
        """Claim channels with work and no owner, as far as this process should take them."""
        self._wake.clear()
        more = True
        while more:
            found = await self._claims.find()
            free = [one for one in found if one not in self._owned and one not in self._beginning]
            wanted = await self._claims.choose(free, self._staying)
            if wanted:
                await self._claim(wanted)
            more = bool(wanted) and len(found) == AT_ONCE

    async def _claim(self, wanted: Sequence[UUID]) -> None:
        asked_at = self._clock.monotonic()
        leases = await self._claims.take(wanted)
        for channel_id in set(wanted) - {lease.channel_id for lease in leases}:
            self._beginning[channel_id] = self._in_begin(channel_id, self._claim_locked(channel_id))
            self._wake.set()  # if another process has claimed it, there may be others left for this one
        await self._begin(leases, asked_at)

    async def _claim_locked(self, channel_id: UUID) -> None:
        claimed = await self._claims.take_locked(channel_id)
        if claimed is None:
            return
        lease, asked_at = claimed
        if self._stopping:
            await self._release(lease)
        else:
            await self._begin([lease], asked_at)

    @property
    def _staying(self) -> int:
        """The number of channels that this process owns and does not hand over."""
        return len(self._owned) - len(self._leaving)

    async def _begin(self, leases: Sequence[Lease], asked_at: float) -> None:
        """Begin to work on claimed channels, in the background."""
        made = {}
        for lease in leases:
            self._listener.claimed(lease)
            until = asked_at + self._renewal.lasting
            owned = OwnedChannel(self._db, self._clock, lease, until, self._find_endpoints)
            made[lease.channel_id] = self._owned[lease.channel_id] = owned
        try:
            workers = await self._make_workers(list(made.values())) if made else {}
        except Exception:
            for channel_id, owned in made.items():
                self._drop(channel_id, owned, "its settings could not be read")
            raise
        for channel_id, owned in made.items():
            worker = workers.get(channel_id)
            if worker is None:
                self._drop(channel_id, owned, "it cannot be served", avoid=True)
            else:
                self._beginning[channel_id] = self._in_begin(channel_id, self._begin_one(channel_id, owned, worker))

    def _in_begin(self, channel_id: UUID, step: Coroutine[Any, Any, None]) -> "asyncio.Task[bool]":
        """Run a step of a channel that begins."""
        task = asyncio.create_task(attempt("start of a channel", lambda: step, channel=channel_id.hex))
        task.add_done_callback(partial(self._begun, channel_id))
        return task

    def _begun(self, channel_id: UUID, task: "asyncio.Task[bool]") -> None:
        if self._beginning.get(channel_id) is task:
            del self._beginning[channel_id]

    async def _begin_one(self, channel_id: UUID, owned: OwnedChannel, worker: Worker) -> None:
        async with self._starts.place() as settle:
            try:
                if not owned.alive():  # the process was suspended; a renewal could make it valid without any tasks
                    self._drop(channel_id, owned, "its lease ended before it was started")
                elif not self._stopping:
                    await owned.begin(worker, settle)
            except Exception:
                self._drop(channel_id, owned, "it could not be started", avoid=True)
                raise

    # -- checking -----------------------------------------------------------------------------------------------------

    async def _sweep_step(self) -> None:
        await self.sweep()
        self._swept_at = self._clock.monotonic()
        await asyncio.sleep(self._settings.sweep)

    async def sweep(self) -> None:
        """Check all own channels once. An error of one channel must not affect the others."""
        owned_now = dict(self._owned)  # a copy: nothing is known about channels that are claimed meanwhile
        ends = await read_log_ends(self._db, list(owned_now)) if owned_now else {}
        for number, (channel_id, owned) in enumerate(owned_now.items(), 1):
            if number % _TOGETHER == 0:
                await asyncio.sleep(0)
            if channel_id in self._beginning or channel_id in self._leaving or (owned.alive() and not owned.begun):
                continue
            try:
                await self._check(channel_id, owned, ends.get(channel_id))
            except Unavailable:  # of the database: it affects all channels
                raise
            except Exception as error:
                log_failure("check of a channel", error, channel=channel_id.hex)
                self._drop(channel_id, owned, "it could not be checked")
        await save_progress(self._db, list(owned_now.values()))

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
        owned.on_sweep()

    async def _release_idle(self, channel_id: UUID, owned: OwnedChannel) -> None:
        await owned.save()
        released = await release_channel(self._db, owned.lease, seen=owned.seen, work_at=owned.next_work())
        if released and self._owned.get(channel_id) is owned:
            del self._owned[channel_id]
            owned.valid_until = 0.0
            self._listener.moved("idle")
            self._end_in_background(owned.end())

    def _drop(self, channel_id: UUID, owned: OwnedChannel, why: str, *, avoid: bool = False) -> None:
        """Drop a channel whose lease is lost or whose tasks failed. Its next owner starts from the database's state."""
        if self._owned.get(channel_id) is not owned:
            return  # released or dropped meanwhile
        if avoid:
            self._claims.avoid(channel_id)
        self._listener.failed("dropped")
        self._listener.moved("dropped")
        log.warning("channel dropped", channel=channel_id.hex, alive=owned.alive(), reason=why)
        del self._owned[channel_id]
        owned.valid_until = 0.0
        self._end_in_background(self._end_dropped(channel_id, owned))

    async def _end_dropped(self, channel_id: UUID, owned: OwnedChannel) -> None:
        await self._until_begun(channel_id)
        await attempt("end of a channel", owned.end, channel=channel_id.hex)
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
        self._listener.released()

    # -- renewing -----------------------------------------------------------------------------------------------------

    async def _renew_step(self) -> None:
        renew = self._settings.renew
        try:
            async with asyncio.timeout(max(renew, self._renewal.lasting - renew)):
                await self.renew()
        except TimeoutError as error:  # there is time for another attempt
            raise database_unavailable() from error
        self._unrenewed_since = None
        await self.balance()
        await asyncio.sleep(renew)

    def _note_unrenewed(self) -> None:
        self._listener.failed("renewal_failed")
        if self._unrenewed_since is None:
            self._unrenewed_since = self._clock.monotonic()

    async def renew(self) -> None:
        """Renew the leases. A channel whose lease another process took is dropped at the next sweep."""
        if not self._stopping:
            await self._renewal.report()
        await self._renewal.renew(self._owned)

    async def balance(self) -> None:
        """Release channels if this process owns more than an equal part: the others claim them.

        Those that are idle first, then those without a link, because a phone that is linked has to connect again.
        """
        others = [] if self._stopping or not self._owned else await self._claims.count_others()
        if not (excess := excess_of(self._staying, others) if others else 0):
            return
        settled = [(id_, one) for id_, one in self._owned.items() if id_ not in self._beginning.keys() | self._leaving]
        settled.sort(key=lambda pair: pair[1].move_cost)
        log.info("channels released to other processes", channels=excess, owned=self._staying, others=others)
        for channel_id, owned in settled[:excess]:
            self._leaving.add(channel_id)
            self._end_in_background(self._hand_over(channel_id, owned, "balance", _DELIVER_WITHIN))
