"""The place of one process: starts it, and starts it again whenever it ends.

    pause ─► start ─► ready ─► ended ─┬─ we stop: done
      ▲                               ├─ `FAILURES` starts in a row failed: ProcessFailed
      └───────────────────────────────┘

A start fails if the process ends before it is ready, or within a second after that. The pause is 0 at first, and
doubles with each further failure. A process reports every second (`control`): one that is silent for a minute is stuck,
and is killed. Its requests would wait forever, and nobody outside can tell which of the processes it is.
"""

import asyncio
import contextlib
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from uuid import UUID, uuid4

import msgspec
import structlog

from gatepost.metrics_totals import MetricFamily
from gatepost.processes.control import (
    AskOthers,
    Begin,
    Control,
    Counted,
    Ready,
    ToProcess,
    ToSupervisor,
    supervisor_end,
)
from gatepost.processes.port import stop_listening

log = structlog.get_logger("gatepost.processes")

FAILURES = 6
_LASTING = 1.0  # seconds after which a process that was ready did not fail to start
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 8.0
# Checks without a report, not the time: a machine that was suspended has not heard from anybody.
_CHECK_EVERY, _SILENT_CHECKS = 5.0, 12
_MODULE = "gatepost.cli.serve_process"


class ProcessFailed(Exception):
    """A process ends again and again right after its start."""


class ProcessListener(msgspec.Struct, frozen=True):
    """What the supervisor does when something happens to a process."""

    ready: Callable[["ProcessSlot"], None]
    ended: Callable[["ProcessSlot", UUID, int], Awaitable[None]]
    asked: Callable[["ProcessSlot", int], None]
    counted: Callable[["ProcessSlot", Counted], None]


class ProcessSlot:
    """One of the processes, and its successors."""

    def __init__(self, number: int, bound: socket.socket, begin: Begin, listener: ProcessListener) -> None:
        self.number = number
        self.metrics: list[MetricFamily] = []  # the last ones of the running process
        self.measured = asyncio.Event()
        self.ready = False
        self._bound = bound
        self._begin = begin
        self._listener = listener
        self._process: asyncio.subprocess.Process | None = None
        self._control: Control[ToSupervisor] | None = None
        self._stopping = asyncio.Event()
        self._ready_at = 0.0
        self._reported = False  # since the last check

    async def keep(self, *, patient: Callable[[], bool]) -> None:
        """Run the process until `stop`. Unless `patient`, the first start that fails raises ProcessFailed."""
        failures = 0
        while not self._stopping.is_set():
            owner = uuid4()
            try:
                code = await self._run(owner)
            except OSError as error:  # too little memory, too many processes or files
                log.error("process could not be started", number=self.number, reason=str(error))
                code = 1
            if self._stopping.is_set():
                return
            lasted = self.ready and time.monotonic() - self._ready_at > _LASTING
            failures = 0 if lasted else failures + 1
            why = describe_end(code)
            log.error("process ended", number=self.number, pid=self._pid, ended=why, starts_again_in=pause(failures))
            self.ready = False
            await self._listener.ended(self, owner, code)
            if failures >= FAILURES or (failures and not patient()):
                times = f" {failures} times in a row right" if failures > 1 else ""
                raise ProcessFailed(f"Process {self.number} ended{times} after its start, with {why}")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause(failures))

    def send(self, message: ToProcess) -> None:
        """Send a message to the running process."""
        if self._control is not None:
            self._control.send(message)

    def stop(self) -> None:
        """Ask the process to stop; `keep` returns when it has ended."""
        self._stopping.set()
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End a process that does not stop."""
        if self._process is not None and self._process.returncode is None:
            log.warning("process killed: it did not stop in time", number=self.number, pid=self._pid)
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    @property
    def _pid(self) -> int | None:
        return self._process.pid if self._process else None

    async def _run(self, owner: UUID) -> int:
        """Start the process, and wait until it has ended; return its exit code, or minus the signal."""
        ours, theirs = socket.socketpair()
        self.metrics, self.measured, self._process = [], asyncio.Event(), None
        with theirs, contextlib.ExitStack() as opened:
            opened.enter_context(ours)
            # In its own session: Ctrl-C in the terminal reaches only the supervisor, which stops the processes.
            process = self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", _MODULE, str(self.number), str(theirs.fileno())),
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(), self._bound.fileno(), self._begin.rates),
                start_new_session=True,
            )
            opened.pop_all()
        if self._stopping.is_set():  # while it was being started
            self._signal(signal.SIGTERM)
        control = self._control = await supervisor_end(ours)
        reading, watching = asyncio.create_task(self._read(control)), asyncio.create_task(self._watch())
        control.send(self._begin_for(owner))
        try:
            code = await process.wait()
            await asyncio.wait([reading], timeout=_LASTING)  # for the last metrics
        finally:
            reading.cancel()
            watching.cancel()
            self._control = None
            stop_listening(self._bound)
            await control.close()
        return code

    def _begin_for(self, owner: UUID) -> Begin:
        return msgspec.structs.replace(self._begin, owner=owner, number=self.number, listener=self._bound.fileno())

    async def _watch(self) -> None:
        """Kill the process if it has become silent."""
        silent = 0
        while silent < _SILENT_CHECKS:
            self._reported = False
            await asyncio.sleep(_CHECK_EVERY)
            silent = silent + 1 if self.ready and not self._reported else 0
        log.error("process killed: it is stuck", number=self.number, pid=self._pid, seconds=silent * _CHECK_EVERY)
        self._signal(signal.SIGKILL)

    async def _read(self, control: "Control[ToSupervisor]") -> None:
        while (message := await control.receive()) is not None:
            self._reported = True
            if isinstance(message, Ready):
                self.ready, self._ready_at = True, time.monotonic()
                log.info("process ready", number=self.number, pid=self._pid)
                self._listener.ready(self)
            elif isinstance(message, Counted):
                self._listener.counted(self, message)
            else:
                self.metrics = message.metrics
                self.measured.set()
                if isinstance(message, AskOthers):
                    self._listener.asked(self, message.number)


def pause(failures: int) -> float:
    """Return the seconds before the next start after a number of failed ones in a row."""
    return 0.0 if failures <= 1 else min(_FIRST_PAUSE * 2.0 ** (failures - 2), _LONGEST_PAUSE)


def describe_end(code: int) -> str:
    """Return how a process ended, for people."""
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return f"signal {signal.Signals(-code).name}"
    return f"signal {-code}"
