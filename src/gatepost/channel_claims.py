"""Which channels without an owner this process takes: an equal part of them at once, others if nobody does."""

import asyncio
from collections.abc import Collection, Sequence
from uuid import UUID

from gatepost.clock import Clock
from gatepost.model.lease_share import room_for
from gatepost.store.channel_head import Lease
from gatepost.store.leases import claim_channel, claim_channels, count_owned, find_unowned_channels
from gatepost.store.pool import Database

AT_ONCE = 500  # channels in one claim
_AVOID = 10.0  # seconds before a channel that could not be served is claimed again
_YIELD = 1.5  # seconds that a channel is left to the process that should take it: longer than a sweep takes
_ELSEWHERE = 5.0  # seconds for which a channel that was found to have an owner starts no claim
_ELSEWHERE_MAX = 10_000
_LOCK_WAIT = 1.0  # seconds to wait for the lock of a busy channel
_WAITING = 16  # channels whose locks are waited for at the same time, each with a database connection


class ChannelClaims:
    """Finds, chooses and claims channels for one process."""

    def __init__(self, db: Database, clock: Clock, owner: UUID, ttl: float) -> None:
        self._db = db
        self._clock = clock
        self._owner = owner
        self._ttl = ttl
        self._avoid: dict[UUID, float] = {}
        self._unowned_since: dict[UUID, float] = {}  # also of channels whose claim waits for a lock
        self._waiting = asyncio.Semaphore(_WAITING)
        self._woken: set[UUID] = set()  # channels of others, or of nobody
        self._elsewhere: dict[UUID, float] = {}  # channels that had an owner, and until when this is believed

    def wake(self, channel_id: UUID) -> bool:
        """Note a change of a channel of others or of nobody. Return whether it may have no owner."""
        if asyncio.get_running_loop().time() < self._elsewhere.get(channel_id, 0.0):
            return False
        self._woken.add(channel_id)
        return True

    def avoid(self, channel_id: UUID, seconds: float = _AVOID) -> None:
        """Do not claim a channel for a while: it could not be served, or another program wants it."""
        self._avoid[channel_id] = self._clock.monotonic() + seconds

    async def find(self) -> list[UUID]:
        """Return channels with work and no owner."""
        now = self._clock.monotonic()
        self._avoid = {one: until for one, until in self._avoid.items() if now < until}
        woken, self._woken = self._woken, set()
        found = await find_unowned_channels(self._db, self._clock.now(), AT_ONCE, avoid=list(self._avoid))
        self._unowned_since = {one: self._unowned_since.get(one, now) for one in found}
        self._note_elsewhere(woken.difference(found))
        return found

    def _note_elsewhere(self, channels: Collection[UUID]) -> None:
        """Remember channels that have an owner: their changes need no claim. A release is notified."""
        if len(self._elsewhere) > _ELSEWHERE_MAX:
            self._elsewhere.clear()
        until = asyncio.get_running_loop().time() + _ELSEWHERE
        self._elsewhere |= dict.fromkeys(channels, until)

    async def choose(self, unowned: Sequence[UUID], mine: int) -> Sequence[UUID]:
        """Return the channels to claim: as many as an equal part allows, and those that nobody else has taken."""
        others = await self.count_others() if unowned else []
        if not others:
            return unowned
        now, since = self._clock.monotonic(), self._unowned_since
        left = [one for one in unowned if now - since.get(one, now) >= _YIELD]
        rest = [one for one in unowned if now - since.get(one, now) < _YIELD]
        rest.sort(key=lambda one: hash((one, self._owner)))  # another order in each process: they want different ones
        return left + rest[: max(0, room_for(mine, others, len(unowned)) - len(left))]

    async def count_others(self) -> list[int]:
        """Return the numbers of channels of the other processes that work."""
        return [channels for owner, channels in (await count_owned(self._db)).items() if owner != self._owner]

    async def take(self, channels: Sequence[UUID]) -> list[Lease]:
        """Claim channels, except those that are locked now, or that another process has claimed."""
        return await claim_channels(self._db, channels, self._owner, self._ttl)

    async def take_locked(self, channel_id: UUID) -> tuple[Lease, float] | None:
        """Claim a channel whose head was locked: a busy one would be left out again and again.

        Return the lease and when it was requested: it counts from there.
        """
        async with self._waiting:
            asked_at = self._clock.monotonic()
            patience = min(_LOCK_WAIT, self._ttl / 4)
            lease = await claim_channel(self._db, channel_id, self._owner, self._ttl, patience=patience)
        return None if lease is None else (lease, asked_at)
