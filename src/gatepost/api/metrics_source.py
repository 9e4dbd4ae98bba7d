"""The metrics of a process, including those that are counted in the database on request."""

import contextlib
from collections.abc import Callable

from gatepost.clock import Clock
from gatepost.metrics import COUNTED, ProcessMetrics
from gatepost.model.errors import GatepostError
from gatepost.store.deliveries.queue import count_retries
from gatepost.store.pool import Database

COUNT_EVERY = 10.0  # minimum seconds between queries


class MetricsSource:
    """The metrics for GET /metrics, and the token that is required to read them."""

    def __init__(
        self, db: Database, clock: Clock, metrics: ProcessMetrics, owned: Callable[[], int], token: str
    ) -> None:
        self.metrics = metrics
        self.token = token
        self._db = db
        self._clock = clock
        self._owned = owned
        self._counted_at = float("-inf")

    async def show(self) -> bytes:
        """Return all metrics as text. If the database is unavailable, its last numbers are used."""
        now, waiting = self._clock.monotonic(), None
        if now >= self._counted_at + COUNT_EVERY:
            self._counted_at = now
            with contextlib.suppress(GatepostError):
                waiting = await count_retries(self._db, COUNTED)
        self.metrics.set_current(waiting=waiting, channels=self._owned())
        return self.metrics.show()
