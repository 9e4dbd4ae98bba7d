"""The metrics of a gateway, including those that are counted in the database on request.

One of several processes adds the metrics of the others to its own, so that any of them answers for all.
"""

import contextlib
from collections.abc import Awaitable, Callable

from gatepost.clock import Clock
from gatepost.metrics import COUNTED, ProcessMetrics
from gatepost.metrics_totals import MetricFamily, add_up, as_text, read_metrics
from gatepost.model.errors import GatepostError
from gatepost.store.deliveries.queue import count_retries
from gatepost.store.pool import Database

COUNT_EVERY = 10.0  # minimum seconds between queries

AskOthers = Callable[[list[MetricFamily]], Awaitable[list[MetricFamily]]]


class MetricsSource:
    """The metrics for GET /metrics, and the token that is required to read them."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        metrics: ProcessMetrics,
        owned: Callable[[], int],
        token: str,
        ask_others: AskOthers | None = None,
    ) -> None:
        self.metrics = metrics
        self.token = token
        self._db = db
        self._clock = clock
        self._owned = owned
        self._ask_others = ask_others
        self._counted_at = float("-inf")

    async def show(self) -> bytes:
        """Return all metrics as text. If the database is unavailable, its last numbers are used."""
        now, waiting = self._clock.monotonic(), None
        if now >= self._counted_at + COUNT_EVERY:
            self._counted_at = now
            with contextlib.suppress(GatepostError):
                waiting = await count_retries(self._db, COUNTED)
        self.metrics.set_current(waiting=waiting, channels=self._owned())
        if self._ask_others is None:
            return self.metrics.show()
        own = read_metrics(self.metrics.registry)
        return as_text(add_up([own, await self._ask_others(own)]))

    def measure(self) -> list[MetricFamily]:
        """Return the metrics of this process, with the last numbers of the database."""
        self.metrics.set_current(waiting=None, channels=self._owned())
        return read_metrics(self.metrics.registry)
