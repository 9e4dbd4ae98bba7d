"""The parts of a process for each cell, behind one front: used as the parts of one cell are (`serving.py`)."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

from gatepost import __version__
from gatepost.access.origin import origin_of
from gatepost.admin.vault import KEY_FILE
from gatepost.api.contract.health import ReadyChecks
from gatepost.api.session_cookie import SessionCookie
from gatepost.app import Gatepost, ProcessPlace
from gatepost.background import Supervisor, attempt, finish_within
from gatepost.cells.cell import Cell, prepare_cell
from gatepost.cells.front import CellFront
from gatepost.clock import Clock, DatabaseClock, SystemClock
from gatepost.database_lifecycle import opened_migrated
from gatepost.metrics import ProcessMetrics
from gatepost.metrics_totals import MetricFamily
from gatepost.model.databases import MAIN
from gatepost.settings import Settings
from gatepost.start_errors import CannotStart
from gatepost.store.pool import Database

FIRST_TRY = 10.0  # seconds that a start waits for all cells
_CHECK_WITHIN = 0.8  # seconds; probes usually wait for one


class CellGateway:
    """A process with several cells."""

    def __init__(self, settings: Settings, cells: Sequence[Cell], role: str) -> None:
        self._settings = settings
        self._cells = cells
        self._main = cells[0].gatepost
        cookie = SessionCookie(secure=origin_of(settings.server.public_url).startswith("https:"))
        front = CellFront(cells, cookie, settings.server.body_limit)
        self.web: Any = self._main.web if role == "worker" else front
        self.api = self._main.api if role == "worker" else front
        self.count_answer = self._main.count_answer
        self.limits = self._main.limits
        self.vault = self._main.vault
        self.supervisor = _Supervisors([cell.gatepost.supervisor for cell in cells])
        self._main.figures.cells = [cell.gatepost.figures for cell in cells[1:]]
        self._main.readiness.of_cells = self._check_cells

    async def start(self) -> None:
        """Open all cells. Those that cannot be reached are opened later; one that is not the right one is refused."""
        for cell in self._cells:
            self.supervisor.own.start(f"cell {cell.name}", partial(cell.step, self._settings))
        try:
            await self._first_try()
            self._check_start()
        except BaseException:
            await self.stop()
            raise

    async def _first_try(self) -> None:
        tried = [asyncio.create_task(cell.tried.wait()) for cell in self._cells]
        try:
            _, late = await asyncio.wait(tried, timeout=FIRST_TRY)
            while late and not any(cell.opened for cell in self._cells):  # a migration may take long
                _, late = await asyncio.wait(late, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tried:
                task.cancel()

    def _check_start(self) -> None:
        for cell in self._cells:
            if cell.refused is not None:
                raise cell.refused
        if not any(cell.opened for cell in self._cells):
            names = ", ".join(cell.name for cell in self._cells)
            raise CannotStart(f"None of the databases can be reached: {names}. Start them, or correct their addresses.")

    def end_streams(self) -> None:
        """End open streams and waiting requests of all cells."""
        for cell in self._cells:
            cell.gatepost.end_streams()

    async def stop(self) -> None:
        """Stop all parts of all cells at the same time."""
        await self.supervisor.own.stop()
        stops = (attempt("stop of a cell", cell.gatepost.stop, cell=cell.name) for cell in self._cells)
        await asyncio.gather(*stops)

    def measure(self) -> list[MetricFamily]:
        """Return the metrics of this process."""
        return self._main.measure()

    async def _check_cells(self) -> Mapping[str, ReadyChecks]:
        """Return the checks of all cells by name."""
        found = await asyncio.gather(*(_checked(cell) for cell in self._cells))
        return {cell.name: checks for cell, checks in zip(self._cells, found, strict=True)}


async def _checked(cell: Cell) -> ReadyChecks:
    """Return the checks of a cell. One that does not answer must not delay the answer about the others."""
    if cell.up:
        with contextlib.suppress(TimeoutError):
            return await finish_within(_CHECK_WITHIN, cell.gatepost.readiness.own_checks())
    return ReadyChecks(database=False, writes=False, migrations=cell.opened, owner=False)


class _Supervisors:
    """The loops of all cells, and those that open the cells."""

    def __init__(self, of_cells: Sequence[Supervisor]) -> None:
        self.own = Supervisor()
        self._all = [self.own, *of_cells]

    @property
    def ended(self) -> str | None:
        """The first loop that ended without being stopped."""
        return next((one.ended for one in self._all if one.ended is not None), None)

    def on_end(self, listener: Callable[[], None]) -> None:
        """Set the listener to call when a loop ends."""
        for one in self._all:
            one.on_end(listener)


@asynccontextmanager
async def opened_gateway(
    settings: Settings,
    db: Database,
    dsn: str,
    clock: Clock,
    role: str,
    metrics: ProcessMetrics,
    place: ProcessPlace | None = None,
) -> AsyncIterator[Gatepost | CellGateway]:
    """Yield the parts of a process, which are not started yet: of its only database, or of all cells."""
    if not settings.cells:
        yield Gatepost(settings, db, dsn, clock, role, metrics, place)
        return
    if not settings.security.secret_key and not (settings.data_folder / KEY_FILE).exists():
        await prepare_cell(MAIN, dsn, db, settings)  # creates the key, unless the database has another one
    main = Gatepost(settings, db, dsn, clock, role, metrics, place)
    cells = [Cell(MAIN, dsn, db, main, metrics)]
    async with AsyncExitStack() as stack:
        for name, address in settings.cells.items():
            own = await stack.enter_async_context(opened_migrated(address, settings))
            time = clock if settings.clock.follow else DatabaseClock(SystemClock())
            counts = ProcessMetrics(__version__, role, serving=False)
            gatepost = Gatepost(settings, own, address, time, role, counts, place, name, main.limits)
            cells.append(Cell(name, address, own, gatepost, metrics))
        yield CellGateway(settings, cells, role)
