"""After an outage of an endpoint: its retries are due at once, instead of minutes or hours later.

    the success that ends an outage ─► retries with a time ahead, a piece per commit ─► due since their event happened

It comes before the endpoint is noted as well again: after a crash in between, the next success does the rest. The tries
that follow do not count in the schedule of a delivery, so that an endpoint that comes and goes does not use it up.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from gatepost.model.errors import Unavailable
from gatepost.store.channel_head import Lease, StaleOwner
from gatepost.store.deliveries.retry import make_retries_due
from gatepost.webhooks.delivery_context import DeliveryContext

CHUNK = 1000
T = TypeVar("T")


async def insist(write: Callable[[], Awaitable[T]], alive: Callable[[], bool]) -> T:
    """Writes, however long the database is away, as long as the lease holds."""
    while True:
        try:
            return await write()
        except Unavailable:
            if not alive():
                raise StaleOwner from None
            await asyncio.sleep(0.25)


class OutageRecovery:
    """Of one endpoint, while its channel is owned here."""

    def __init__(self, post: DeliveryContext, lease: Lease, endpoint_id: UUID, alive: Callable[[], bool]) -> None:
        self._context = post
        self._lease = lease
        self._endpoint_id = endpoint_id
        self._alive = alive
        self._pulling = False
        self.ended_at: datetime | None = None  # the last outage

    def includes(self, at: datetime) -> bool:
        """Whether an attempt of this moment fell into the outage that has ended."""
        return self.ended_at is not None and at < self.ended_at

    async def pull(self, ended_at: datetime | None) -> None:
        """Makes all retries due. One at a time: successes come side by side."""
        self.ended_at = ended_at
        if self._pulling:
            return
        self._pulling = True
        try:
            while await insist(self._piece, self._alive) == CHUNK:
                pass
        finally:
            self._pulling = False

    async def _piece(self) -> int:
        now = self._context.clock.now()
        return await make_retries_due(self._context.db, self._lease, self._endpoint_id, now, CHUNK)
