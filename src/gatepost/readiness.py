"""The readiness checks behind GET /readyz, cheap enough for frequent requests."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import msgspec
import structlog

from gatepost.api.contract.health import ReadyChecks
from gatepost.background import finish_within
from gatepost.clock import Clock
from gatepost.model.databases import MAIN
from gatepost.model.errors import GatepostError
from gatepost.store.checks import check_writes, ping
from gatepost.store.pool import DRIVER_ERRORS, Database

log = structlog.get_logger("gatepost")

WRITE_EVERY = 5.0  # seconds between test writes, however many callers there are
WRITE_AGAIN = 1.0  # the same after a failed one
# Probes usually wait for a few seconds.
_ANSWER_WITHIN = 2.0
_PATIENCE = 3.0


class Readiness:
    """The checks of one process. The database is queried each time; a test write is made every few seconds."""

    def __init__(self, db: Database, clock: Clock, owner_healthy: Callable[[], bool]) -> None:
        self._db = db
        self._clock = clock
        self._owner_healthy = owner_healthy
        self._writes = True
        self._due = 0.0
        self._writing = asyncio.Lock()
        self.of_cells: Callable[[], Awaitable[Mapping[str, ReadyChecks]]] | None = None  # of the process, if several

    async def checks(self) -> ReadyChecks:
        """Return the result of each check. With several cells, one that is ready is enough."""
        if self.of_cells is None:
            return await self.own_checks()
        cells = await self.of_cells()
        best = next((checks for checks in cells.values() if checks.passed), cells[MAIN])
        return msgspec.structs.replace(best, cells={name: checks.passed for name, checks in cells.items()})

    async def own_checks(self) -> ReadyChecks:
        """Return the result of each check of this cell."""
        if not await self._answers():
            return ReadyChecks(database=False, writes=False, migrations=True, owner=False)
        return ReadyChecks(True, await self._writable(), True, self._owner_healthy())

    async def _answers(self) -> bool:
        try:
            await finish_within(_ANSWER_WITHIN, ping(self._db))
        except (GatepostError, TimeoutError):
            self._due = 0.0  # the last result about writes is out of date
            return False
        return True

    async def _writable(self) -> bool:
        """Return the result of the last test write, and repeat it when it is old. Concurrent callers share one."""
        async with self._writing:
            if self._clock.monotonic() >= self._due:
                was, self._writes = self._writes, await self._try_to_write()
                self._due = self._clock.monotonic() + (WRITE_EVERY if self._writes else WRITE_AGAIN)
                if self._writes and not was:
                    log.info("the database accepts writes again")
            return self._writes

    async def _try_to_write(self) -> bool:
        try:
            async with asyncio.timeout(_PATIENCE):
                await check_writes(self._db)
        except (GatepostError, TimeoutError, *DRIVER_ERRORS) as error:
            if self._writes:
                log.error("the database accepts no writes: not ready", reason=str(error.__cause__ or error))
            return False
        return True
