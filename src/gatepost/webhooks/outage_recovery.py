"""After an outage of an endpoint its retries are due at once, instead of minutes or hours later.

    the success that ends an outage ─► retries due in the future, in chunks of one commit ─► due since their event

The retries are made due before the endpoint is recorded as healthy: after a crash in between, the next success makes
the rest due. These attempts do not count in the retry schedule, so that a flapping endpoint does not use it up.
"""

from datetime import datetime
from uuid import UUID

from gatepost.store.deliveries.retry import make_retries_due
from gatepost.webhooks.delivery_context import ChannelDelivery

CHUNK = 1000


class OutageRecovery:
    """The end of outages of one endpoint."""

    def __init__(self, delivery: ChannelDelivery, endpoint_id: UUID) -> None:
        self._delivery = delivery
        self._endpoint_id = endpoint_id
        self._running = False
        self.ended_at: datetime | None = None  # the end of the last outage

    def includes(self, at: datetime) -> bool:
        """Return whether an attempt at this time belongs to the outage that has ended."""
        return self.ended_at is not None and at < self.ended_at

    async def make_due(self, ended_at: datetime | None) -> None:
        """Make all retries due. Concurrent successes start this only once."""
        self.ended_at = ended_at
        if self._running:
            return
        self._running = True
        try:
            while await self._delivery.write(self._next_chunk) == CHUNK:
                pass
        finally:
            self._running = False

    async def _next_chunk(self) -> int:
        context = self._delivery.context
        return await make_retries_due(
            context.db, self._delivery.lease, self._endpoint_id, context.clock.now(), limit=CHUNK
        )
