"""The leases of a process: their renewal, who is told what happens to them, and stalled sessions that hold locks."""

import asyncio
from collections.abc import Callable, Mapping
from uuid import UUID

import msgspec
import structlog

from gatepost.clock import Clock
from gatepost.owned_channel import OwnedChannel
from gatepost.store.channel_head import Lease
from gatepost.store.leases import end_stalled_sessions, renew_leases, report_owner
from gatepost.store.pool import Database

log = structlog.get_logger("gatepost.owner")
STALLED = 5.0  # seconds that a session may wait for the rest of a statement; the same limit as for a transaction
_MARGIN = 0.2  # fraction of the TTL: an owner that could not renew stops this long before its lease ends


class LeaseRenewal:
    """Renews the leases of one process."""

    def __init__(self, db: Database, clock: Clock, owner: UUID, ttl: float) -> None:
        self._db = db
        self._clock = clock
        self._owner = owner
        self._ttl = ttl

    @property
    def lasting(self) -> float:
        """The seconds for which a lease may be relied on."""
        return self._ttl * (1 - _MARGIN)

    async def report(self) -> None:
        """Report that this process works, so that it gets its part of the channels."""
        await report_owner(self._db, self._owner, self._ttl)

    async def renew(self, owned: Mapping[UUID, OwnedChannel]) -> None:
        """Renew leases. One that another process took is not valid any more.

        Unlocked rows are renewed first: a long lock on one row must not cost the others their leases.
        """
        asked = dict(owned)  # a copy: channels that are claimed meanwhile are not affected
        for skip_locked in (True, False):
            if asked:
                await self._renew(asked, skip_locked=skip_locked)
        for one in asked.values():
            one.valid_until = 0.0

    async def _renew(self, asked: dict[UUID, OwnedChannel], *, skip_locked: bool) -> None:
        """Renew leases, and remove the renewed ones from `asked`."""
        asked_at = self._clock.monotonic()
        renewed = await renew_leases(self._db, self._owner, list(asked), self._ttl, skip_locked=skip_locked)
        for channel_id in renewed:
            asked.pop(channel_id).valid_until = asked_at + self.lasting


def _ignore(*_: object) -> None:
    """Does nothing."""


class LeaseListener(msgspec.Struct, frozen=True):
    """Called when something happens to leases."""

    failed: Callable[[str], None] = _ignore  # what went wrong: one of `metrics.LEASE_EVENTS`
    moved: Callable[[str], None] = _ignore  # why a channel was claimed or released: one of `metrics.LEASE_MOVES`
    released: Callable[[], None] = _ignore  # there are channels that other processes can claim

    def claimed(self, lease: Lease) -> None:
        """Count and log a claim."""
        self.moved("claimed" if lease.taken_from is None else "taken_over")
        if lease.taken_from is not None:
            self.failed("taken_over")
            channel, before = lease.channel_id.hex, lease.taken_from.hex
            log.warning("channel taken over", channel=channel, previous_owner=before, epoch=lease.epoch)


async def look_for_stalls(db: Database) -> None:
    """Wait, then end stalled sessions. A loop of its own: the others may wait for locks that such a session holds."""
    await asyncio.sleep(STALLED / 2)
    if ended := await end_stalled_sessions(db, STALLED):
        log.warning("stalled sessions ended", sessions=ended)
