"""The supervisor of several processes: database, port, start, restart, stop, and their metrics together."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, closing
from functools import partial
from uuid import UUID, uuid4

import structlog

from gatepost import __version__
from gatepost.access import shared_dues
from gatepost.admin.unlock import unlock
from gatepost.background import attempt_within
from gatepost.database_lifecycle import opened_for_gateway, opened_migrated
from gatepost.logs import configure_logs
from gatepost.metrics import ProcessMetrics
from gatepost.metrics_totals import MetricFamily, add_up, lasting, read_metrics
from gatepost.processes.control import Begin, Counted, Measure, Others
from gatepost.processes.port import SharedPort
from gatepost.processes.process_slot import ProcessFailed, ProcessListener, ProcessSlot
from gatepost.processes.shares import share_of
from gatepost.running_address import address_of, note_address
from gatepost.settings import Settings
from gatepost.start_errors import CannotGoOn, CannotStart
from gatepost.stop_signals import stop_on_signals
from gatepost.store.channel_notifier import notify_release
from gatepost.store.leases import release_all, remove_owner
from gatepost.store.pool import Database

log = structlog.get_logger("gatepost.processes")

OnReady = Callable[[str], Awaitable[None]]
_NOBODY = UUID(int=0)
_RELEASE_WITHIN = 3.0  # seconds; otherwise the leases expire
_MEASURE_WITHIN = 1.0  # seconds in which a process sends its metrics; otherwise its last ones count
_STOP_BEYOND = 20.0  # seconds that a stopping process may take in addition to its two drains


async def serve_processes(
    settings: Settings, port: SharedPort, *, role: str = "all", on_ready: OnReady | None = None
) -> None:
    """Run the gateway in several processes until a signal."""
    configure_logs(settings.log.level, settings.log.format)
    metrics = ProcessMetrics(__version__, role, serving=False)
    one = share_of(settings, port.processes)
    database = opened_for_gateway(settings, metrics.database_ended, connections=1)
    with closing(port):
        async with database as (dsn, db):
            if not settings.cells:
                await unlock(db, settings.security.secret_key, settings.data_folder)
            begin = Begin(one, role, dsn, _NOBODY, 0, port.processes, 0, shared_dues.create(), uuid4())
            async with AsyncExitStack() as stack:
                others = [opened_migrated(address, settings, 1) for address in settings.cells.values()]
                cells = [db, *[await stack.enter_async_context(other) for other in others]]
                await ProcessSupervisor(begin, port, cells, metrics).run(settings, on_ready)
    log.info("stopped")


class ProcessSupervisor:
    """Runs the processes."""

    def __init__(self, begin: Begin, port: SharedPort, cells: Sequence[Database], metrics: ProcessMetrics) -> None:
        self._port = port
        self._cells = cells
        self._role = begin.role
        self._metrics = metrics
        self._ended: list[MetricFamily] = []  # what ended processes have counted
        self._all_ready = asyncio.Event()
        self._stopping = asyncio.Event()
        self._answers: set[asyncio.Task[None]] = set()
        listener = ProcessListener(self._on_ready, self._on_end, self._on_ask, self._on_count)
        self._slots = [
            ProcessSlot(number, port.socket_of(number), begin, listener) for number in range(1, port.processes + 1)
        ]

    async def run(self, settings: Settings, on_ready: OnReady | None) -> None:
        """Start all processes, and keep them running until a signal; then stop them."""
        stop_on_signals(self._stopping.set)
        keeping = [asyncio.create_task(slot.keep(patient=self._all_ready.is_set)) for slot in self._slots]
        ready = asyncio.create_task(self._report_ready(settings, on_ready))
        asked = asyncio.create_task(self._stopping.wait())
        try:
            await self._until_over(keeping, ready, asked)
        finally:
            ready.cancel()
            asked.cancel()
            await self._stop(keeping, 2 * settings.server.drain_seconds + _STOP_BEYOND)

    async def _until_over(
        self, keeping: list["asyncio.Task[None]"], ready: "asyncio.Task[None]", asked: "asyncio.Task[bool]"
    ) -> None:
        """Wait for the signal to stop. Raise the error of a process that cannot be kept running, or of `on_ready`."""
        waiting: set[asyncio.Task[None] | asyncio.Task[bool]] = {*keeping, ready, asked}
        while not self._stopping.is_set():
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                try:
                    await task
                except ProcessFailed as failure:
                    advice = "The lines of the log above have the reason."
                    if self._all_ready.is_set():
                        raise CannotGoOn(f"{failure}: the gateway stops. {advice}") from None
                    raise CannotStart(f"{failure}: the gateway cannot start. {advice}") from None

    async def _stop(self, keeping: list["asyncio.Task[None]"], seconds: float) -> None:
        for slot in self._slots:
            slot.stop()
        _, late = await asyncio.wait(keeping, timeout=seconds)
        if late:
            for slot in self._slots:
                slot.kill()
        await asyncio.gather(*keeping, return_exceptions=True)

    async def _report_ready(self, settings: Settings, on_ready: OnReady | None) -> None:
        await self._all_ready.wait()
        url = settings.server.public_url.rstrip("/") or address_of(self._port.listener)
        log.info("ready", url=url, version=__version__, processes=len(self._slots))
        note_address(settings.data_folder, url)
        if on_ready is not None:
            await on_ready(url)

    # -- what happens to processes ------------------------------------------------------------------------------------

    def _on_ready(self, _: ProcessSlot) -> None:
        if all(slot.ready for slot in self._slots):
            self._all_ready.set()

    async def _on_end(self, slot: ProcessSlot, owner: UUID, code: int) -> None:
        """Count the end, keep what the process has counted, and give its channels to the others at once."""
        self._metrics.process_ended()
        self._ended, slot.metrics = add_up([self._ended, lasting(slot.metrics)]), []
        if code and self._role != "api":
            await release_channels(self._cells, owner)

    def _on_ask(self, slot: ProcessSlot, number: int) -> None:
        task = asyncio.create_task(self._answer(slot, number))
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)

    def _on_count(self, by: ProcessSlot, counted: Counted) -> None:
        for slot in self._slots:
            if slot is not by:
                slot.send(counted)

    async def _answer(self, asking: ProcessSlot, number: int) -> None:
        """Send the metrics of everybody else to the process that asks."""
        others = [slot for slot in self._slots if slot is not asking and slot.ready]
        for slot in others:
            slot.measured.clear()
            slot.send(Measure())
        waits = [asyncio.create_task(slot.measured.wait()) for slot in others]
        if waits:
            _, late = await asyncio.wait(waits, timeout=_MEASURE_WITHIN)
            for wait in late:
                wait.cancel()
        own = read_metrics(self._metrics.registry)
        asking.send(Others(number, add_up([own, self._ended, *(slot.metrics for slot in others)])))


async def release_channels(cells: Sequence[Database], owner: UUID) -> None:
    """Give the channels of a process that has ended to the others. A database that is stuck delays no restart."""
    releases = (partial(_release, db, owner) for db in cells)
    await asyncio.gather(*(attempt_within(_RELEASE_WITHIN, "release of channels", one) for one in releases))


async def _release(db: Database, owner: UUID) -> None:
    """Give the channels of a process that has ended to the others, in one database."""
    await remove_owner(db, owner)
    await release_all(db, owner)
    await notify_release(db)
