"""How the leases of a process are renewed, and how long it may rely on them."""

from collections.abc import Mapping
from uuid import UUID

from gatepost.clock import Clock
from gatepost.owned_channel import OwnedChannel
from gatepost.store.leases import renew_leases, report_owner
from gatepost.store.pool import Database

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
