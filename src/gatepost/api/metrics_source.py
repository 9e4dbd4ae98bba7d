"""The figures of a process, with what is counted in the database on request."""

import contextlib
from collections.abc import Callable

from gatepost.clock import Clock
from gatepost.metrics import COUNTED, ProcessMetrics
from gatepost.model.errors import GatepostError
from gatepost.store.endpoints import count_retries
from gatepost.store.pool import Database

COUNT_EVERY = 10.0  # seconds between queries, however often it is asked for


class MetricsSource:
    """What GET /metrics shows, and the token that its readers need."""

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
        """All figures as text. Without the database, those of it stay as they were."""
        now, waiting = self._clock.monotonic(), None
        if now >= self._counted_at + COUNT_EVERY:
            self._counted_at = now
            with contextlib.suppress(GatepostError):
                waiting = await count_retries(self._db, COUNTED)
        self.metrics.set_current(waiting=waiting, channels=self._owned())
        return self.metrics.show()
