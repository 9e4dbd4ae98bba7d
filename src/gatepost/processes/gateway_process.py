"""One of the processes: a complete gateway on a database that the supervisor has opened and migrated.

When its control connection closes, the supervisor has ended: it stops as after a signal.
"""

import asyncio
import os
import signal
import socket
from collections.abc import Hashable
from functools import partial

from gatepost import __version__
from gatepost.access.shared_dues import SharedDues
from gatepost.app import ProcessPlace
from gatepost.background import Loop
from gatepost.cells.gateway import opened_gateway
from gatepost.database_lifecycle import opened_clock, opened_migrated
from gatepost.logs import configure_logs
from gatepost.metrics import ProcessMetrics
from gatepost.metrics_totals import MetricFamily
from gatepost.model.errors import Unavailable
from gatepost.processes.control import (
    AskOthers,
    Begin,
    Control,
    Counted,
    Measured,
    Others,
    Ready,
    ToProcess,
    process_end,
)
from gatepost.serving import AnyGateway, raise_file_limit, run

_REPORT_EVERY = 1.0  # seconds; what was counted since the last report is lost if the process is killed
_PATIENCE = 5.0


class SupervisorLink:
    """The connection of a running process to its supervisor."""

    def __init__(self, control: "Control[ToProcess]") -> None:
        self._control = control
        self._gatepost: AnyGateway | None = None
        self._asked = 0
        self._waiting: dict[int, asyncio.Future[list[MetricFamily]]] = {}

    def open(self, gatepost: AnyGateway) -> list[Loop]:
        """Answer the supervisor from now on."""
        self._gatepost = gatepost
        return [Loop("control connection", self._receive), Loop("report of metrics", self._report)]

    async def ready(self, _: str) -> None:
        """Report that this process listens."""
        self._control.send(Ready())

    def count(self, limit: str, actor: Hashable, given_back: bool) -> None:
        """Tell the other processes what a limit has counted."""
        self._control.send(Counted(limit, str(actor), given_back))

    def report(self) -> None:
        """Send the current metrics."""
        if self._gatepost is not None:
            self._control.send(Measured(self._gatepost.measure()))

    async def ask_others(self, own: list[MetricFamily]) -> list[MetricFamily]:
        """Return the metrics of everybody else. The supervisor remembers ours: no later total may be lower."""
        self._asked += 1
        number = self._asked
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._control.send(AskOthers(number, own))
        try:
            return await asyncio.wait_for(answer, _PATIENCE)
        except TimeoutError:
            raise Unavailable("The other processes of the gateway do not answer.", retry_after=1) from None
        finally:
            del self._waiting[number]

    async def _report(self) -> None:
        await asyncio.sleep(_REPORT_EVERY)
        self.report()

    async def _receive(self) -> None:
        message = await self._control.receive()
        if message is None:
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.Event().wait()
        elif isinstance(message, Others):
            waiting = self._waiting.get(message.number)
            if waiting is not None and not waiting.done():
                waiting.set_result(message.metrics)
        elif isinstance(message, Counted):
            if self._gatepost is not None:
                self._gatepost.limits.note_elsewhere(message.limit, message.actor, message.given_back)
        else:
            self.report()


async def serve_process(end: socket.socket) -> None:
    """Run the gateway of this process until a signal, or until the supervisor has ended."""
    control = await process_end(end)
    begin = await control.receive()
    if not isinstance(begin, Begin):
        return  # the supervisor has ended
    settings = begin.settings
    configure_logs(settings.log.level, settings.log.format, process=begin.number)
    raise_file_limit()
    link = SupervisorLink(control)
    metrics = ProcessMetrics(__version__, begin.role)
    rates = SharedDues(begin.rates)
    place = ProcessPlace(begin.owner, rates, link.ask_others, link.count, begin.gateway, begin.number)
    listener = socket.socket(fileno=begin.listener)
    loops: list[Loop] = []
    async with opened_clock(settings) as clock, opened_migrated(begin.database, settings) as db:
        parts = opened_gateway(settings, db, begin.database, clock, begin.role, metrics, place)
        async with parts as gatepost:
            try:
                await run(gatepost, settings, listener, partial(_begin, link, gatepost, loops), shared=True)
            finally:
                link.report()
                for loop in loops:
                    await loop.stop()
    await control.close()


async def _begin(link: SupervisorLink, gatepost: AnyGateway, loops: list[Loop], url: str) -> None:
    loops += link.open(gatepost)
    await link.ready(url)
