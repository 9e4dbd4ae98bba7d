"""One cell of a process: its database, the parts that work on it, and whether it answers.

unopened ── migrate, check the name and the secret key, start the parts ──► opened ── ping ──► up │ down

A cell that cannot be opened is tried again: only its own accounts wait for it. A cell that is down gets no requests:
they are refused at once, because each try to connect costs a millisecond, or seconds if there is no answer.
"""

import asyncio
import time

import structlog

from gatepost.admin.cells import check_name
from gatepost.admin.unlock import unlock
from gatepost.app import Gatepost
from gatepost.metrics import ProcessMetrics
from gatepost.model.databases import MAIN
from gatepost.model.errors import GatepostError, Unavailable
from gatepost.settings import Settings
from gatepost.store.cells import name_cell
from gatepost.store.checks import ping
from gatepost.store.migrate import MigrationError, migrate
from gatepost.store.pool import DRIVER_ERRORS, Database

log = structlog.get_logger("gatepost.cells")
_AGAIN = 2.0  # seconds between two tries to open a cell, and between two pings
_DOWN_AGAIN = 0.5  # seconds between two pings while the cell is down
_PING_WITHIN = 5.0


class Cell:
    """A cell. `refused` is why its database may not be used, if it answers and is not the right one."""

    def __init__(self, name: str, dsn: str, db: Database, gatepost: Gatepost, metrics: ProcessMetrics) -> None:
        self.name = name
        self.db = db
        self.gatepost = gatepost
        self.opened = False
        self.up = False
        self.refused: Exception | None = None
        self.tried = asyncio.Event()
        self._dsn = dsn
        self._metrics = metrics
        self._reason = ""
        metrics.cell_up(name, False)

    async def step(self, settings: Settings) -> None:
        """Open the cell, or check that it answers; then wait."""
        try:
            await (self._ping() if self.opened else self._open(settings))
            self._note(None)
        except (GatepostError, MigrationError, OSError, *DRIVER_ERRORS) as error:  # a timeout among them
            self._note(error)
        self.tried.set()
        await asyncio.sleep(min(_AGAIN, _DOWN_AGAIN) if self.opened and not self.up else _AGAIN)

    async def _open(self, settings: Settings) -> None:
        self.refused = None
        try:
            await prepare_cell(self.name, self._dsn, self.db, settings)
        except (GatepostError, MigrationError) as error:
            self.refused = None if isinstance(error, Unavailable) else error
            raise
        with structlog.contextvars.bound_contextvars(cell=self.name):  # all its loops log it
            await self.gatepost.start()
        self.opened = True

    async def _ping(self) -> None:
        """Raise if the database does not answer, unless it has answered others meanwhile."""
        began = time.monotonic()
        for last in (False, True):
            try:
                async with asyncio.timeout(_PING_WITHIN):
                    await ping(self.db.reserved("own"))
                return
            except (GatepostError, OSError, *DRIVER_ERRORS) as error:
                if self.db.answered_at >= began:
                    return
                if last or isinstance(error, TimeoutError):
                    raise  # another error may be that of one connection

    def _note(self, error: Exception | None) -> None:
        """Log when the cell begins or ceases to answer, and when the reason changes."""
        reason = "" if error is None else f"{error.__cause__ or error}" or type(error).__name__
        self.up = error is None
        self._metrics.cell_up(self.name, self.up)
        if self.up and (self._reason or not self.tried.is_set()):
            log.info("cell is up", cell=self.name)
        elif reason and reason != self._reason:
            log.error("cell is down: its accounts get 503", cell=self.name, reason=reason)
        self._reason = reason


async def prepare_cell(name: str, dsn: str, db: Database, settings: Settings) -> None:
    """Raise unless a database is the cell of this name and has the secret key; migrate it before the latter."""
    await check_name(db, name)  # first, so that a database of somebody else is not changed
    await migrate(dsn)
    if name == MAIN:
        await name_cell(db, MAIN)
    await unlock(db, settings.security.secret_key, settings.data_folder)
