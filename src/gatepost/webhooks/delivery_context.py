"""What deliverers share: `DeliveryContext` within the process, `ChannelDelivery` within one owned channel."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar
from uuid import UUID

import msgspec

from gatepost.background import retry_until_available
from gatepost.clock import Clock
from gatepost.grouped_lookup import GroupedLookup
from gatepost.metrics import ProcessMetrics
from gatepost.model.event import ChannelRef
from gatepost.store.batch import Batch
from gatepost.store.channel_head import Lease, StaleOwner
from gatepost.store.deliveries.queue import PENDING_AT_ONCE, read_pending
from gatepost.store.deliveries.record import DeliveryRecord, is_first_success, record_attempts, record_together
from gatepost.store.endpoints import Endpoint
from gatepost.store.pool import Database
from gatepost.tracing import Tracer
from gatepost.webhooks.concurrency import ConcurrencyPool
from gatepost.webhooks.delivery_request import DeliveryCredentials
from gatepost.webhooks.http_post import Poster

TOTAL_IN_FLIGHT = 1024
RECORDS = 500  # in one commit
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
        metrics: ProcessMetrics | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        self.db = db
        self.clock = clock
        self.poster = poster
        self.pool = ConcurrencyPool(total)
        self.metrics = metrics or ProcessMetrics()
        self.tracer = tracer
        # A commit wakes the deliverers of several channels at once: they read with one statement.
        self.read_pending = GroupedLookup(partial(read_pending, db), PENDING_AT_ONCE).find
        self._batch: Batch[Lease, Sequence[DeliveryRecord], None] = Batch(
            self._write,
            size=RECORDS,
            limit=1_000_000,
            linger=linger,
            weigh=len,
            together=self._write_together,
            alone=lambda records: not all(map(is_first_success, records)),
            stage="delivery",
            note=self.metrics.committed,
        )

    @property
    def waiting(self) -> int:
        """How many records wait for their commit."""
        return self._batch.waiting

    async def record(self, lease: Lease, records: Sequence[DeliveryRecord]) -> None:
        """Write the records in the next batch, all in one commit."""
        await self._batch.put(lease, records)

    async def _write(self, lease: Lease, groups: Sequence[Sequence[DeliveryRecord]]) -> list[Exception | None]:
        await record_attempts(self.db, lease, _flat(groups), self.clock.now())
        return [None] * len(groups)

    async def _write_together(
        self, batches: Mapping[Lease, Sequence[Sequence[DeliveryRecord]]]
    ) -> dict[Lease, list[Exception | None]]:
        """Write the records of several channels in one commit. Those of a lost lease, for example, are left out."""
        records = {lease: _flat(groups) for lease, groups in batches.items()}
        written = await record_together(self.db, records, self.clock.now())
        return {lease: [None] * len(batches[lease]) for lease in written}


def _flat(groups: Sequence[Sequence[DeliveryRecord]]) -> Sequence[DeliveryRecord]:
    return groups[0] if len(groups) == 1 else [record for group in groups for record in group]


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
