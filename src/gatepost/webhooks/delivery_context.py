"""What deliverers share: `DeliveryContext` within the process, `ChannelDelivery` within one owned channel."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar
from uuid import UUID

import msgspec

from gatepost.background import retry_until_available
from gatepost.clock import Clock
from gatepost.model.event import ChannelRef
from gatepost.store.batch import Batch
from gatepost.store.channel_head import Lease, StaleOwner
from gatepost.store.deliveries.record import DeliveryRecord, record_attempts
from gatepost.store.endpoints import Endpoint
from gatepost.store.pool import Database
from gatepost.webhooks.concurrency import ConcurrencyPool
from gatepost.webhooks.delivery_metrics import NO_METRICS, DeliveryMetrics
from gatepost.webhooks.delivery_request import DeliveryCredentials
from gatepost.webhooks.http_post import Poster

TOTAL_IN_FLIGHT = 1024
T = TypeVar("T")


class DeliveryContext:
    """The HTTP client, the concurrency pool, the metrics and the batch that records attempts."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        poster: Poster,
        linger: float,
        *,
        total: int = TOTAL_IN_FLIGHT,
        metrics: DeliveryMetrics = NO_METRICS,
    ) -> None:
        self.db = db
        self.clock = clock
        self.poster = poster
        self.pool = ConcurrencyPool(total)
        self.metrics = metrics
        self._batch: Batch[Lease, DeliveryRecord, None] = Batch(self._write, size=500, limit=1_000_000, linger=linger)

    async def record(self, lease: Lease, records: Sequence[DeliveryRecord]) -> None:
        """Write the records in the next batch of the channel; in one commit if they fit."""
        if len(records) == 1:
            await self._batch.put(lease, records[0])
            return
        for future in [self._batch.enqueue(lease, record) for record in records]:
            await future

    async def _write(self, lease: Lease, records: Sequence[DeliveryRecord]) -> list[Exception | None]:
        await record_attempts(self.db, lease, records, self.clock.now())
        return [None] * len(records)


class ChannelDelivery(msgspec.Struct, frozen=True):
    """Delivery on one channel while this process owns it."""

    context: DeliveryContext
    lease: Lease
    channel: ChannelRef
    open_target: Callable[[Endpoint], DeliveryCredentials]
    in_flight: int  # POSTs at once to one endpoint
    alive: Callable[[], bool]  # whether the lease holds

    @property
    def channel_id(self) -> UUID:
        return self.lease.channel_id

    async def write(self, step: Callable[[], Awaitable[T]]) -> T:
        """Run a database step, again while the database is unavailable and the lease holds."""
        return await retry_until_available(step, self.alive, ended=StaleOwner)

    async def record(self, records: Sequence[DeliveryRecord]) -> None:
        await self.write(lambda: self.context.record(self.lease, records))
