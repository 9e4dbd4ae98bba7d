"""The metrics of a gateway, including those that are counted in the database on request.

One of several processes adds the metrics of the others to its own, so that any of them answers for all.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from gatepost.background import finish_within
from gatepost.clock import Clock
from gatepost.metrics import COUNTED, UNOWNED, BacklogFigures, CurrentFigures, ProcessMetrics
from gatepost.metrics_totals import MetricFamily, add_up, add_up_cells, as_text, read_metrics
from gatepost.model.errors import GatepostError
from gatepost.store.checks import count_unowned
from gatepost.store.deliveries.queue import count_retries
from gatepost.store.pool import Database

COUNT_EVERY = 10.0  # minimum seconds between queries
_COUNT_WITHIN = 3.0  # seconds; Prometheus waits for 10, and metrics matter most when the database is stuck

AskOthers = Callable[[list[MetricFamily]], Awaitable[list[MetricFamily]]]


class MetricsSource:
    """The metrics for GET /metrics, and the token that is required to read them."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        metrics: ProcessMetrics,
        read_current: Callable[[], CurrentFigures],
        token: str,
        ask_others: AskOthers | None = None,
    ) -> None:
        self.metrics = metrics
        self.token = token
        self._db = db
        self._clock = clock
        self._read_current = read_current
        self._ask_others = ask_others
        self._counted_at = float("-inf")
        self.cells: list[MetricsSource] = []  # of the other cells of this process

    async def show(self) -> bytes:
        """Return all metrics as text. If the database is unavailable, its last numbers are used."""
        await asyncio.gather(self.count(), *(cell.count() for cell in self.cells))
        if self._ask_others is None and not self.cells:
            return self.metrics.show()
        own = self.measure()
        return as_text(add_up([own, await self._ask_others(own)]) if self._ask_others else own)

    async def count(self) -> None:
        """Count in the database, unless that was done just now."""
        now, backlog = self._clock.monotonic(), None
        if now >= self._counted_at + COUNT_EVERY:
            self._counted_at = now
            with contextlib.suppress(GatepostError, TimeoutError):
                backlog = await finish_within(_COUNT_WITHIN, self._count_backlog())
        self.metrics.set_current(self._read_current(), backlog)

    def measure(self) -> list[MetricFamily]:
        """Return the metrics of this process, with the last numbers of the database."""
        self.metrics.set_current(self._read_current())
        own = read_metrics(self.metrics.registry)
        return add_up_cells(own, [cell.measure() for cell in self.cells]) if self.cells else own

    async def _count_backlog(self) -> BacklogFigures:
        unowned = await count_unowned(self._db, self._clock.now(), UNOWNED)
        return BacklogFigures(await count_retries(self._db, COUNTED), unowned.count, unowned.seconds)
