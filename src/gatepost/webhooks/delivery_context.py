"""What every round of a process shares: the client, the places, the figures, and the batch that records attempts."""

from collections.abc import Sequence

from gatepost.clock import Clock
from gatepost.store.batch import Batch
from gatepost.store.channel_head import Lease
from gatepost.store.deliveries.record import DeliveryRecord, record_attempts
from gatepost.store.pool import Database
from gatepost.webhooks.concurrency import ConcurrencyPool
from gatepost.webhooks.delivery_metrics import NO_METRICS, DeliveryMetrics
from gatepost.webhooks.http_post import Poster

TOTAL_IN_FLIGHT = 1024


class DeliveryContext:
    """One for all endpoints."""

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
        self.share = ConcurrencyPool(total)
        self.metrics = metrics
        self._batch: Batch[Lease, DeliveryRecord, None] = Batch(self._write, size=500, limit=1_000_000, linger=linger)

    async def record(self, lease: Lease, notes: Sequence[DeliveryRecord]) -> None:
        """Writes all of them, together with what others have to write; in one commit where they fit."""
        if len(notes) == 1:
            await self._batch.put(lease, notes[0])
            return
        futures = [self._batch.enqueue(lease, note) for note in notes]
        for future in futures:
            await future

    async def _write(self, lease: Lease, notes: Sequence[DeliveryRecord]) -> list[Exception | None]:
        await record_attempts(self.db, lease, notes, self.clock.now())
        return [None] * len(notes)
