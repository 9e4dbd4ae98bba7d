"""A watchdog of the event loop: measures how late it runs its callbacks, and logs what blocks it.

    event loop   a heartbeat every few milliseconds: how late is it?  ─► histogram, longest, stalls
    own thread   no heartbeat for too long? ─► log the current stack of the loop's thread

A single call into C code that keeps the interpreter lock stops the watchdog's thread as well: such a stall is
measured by the next heartbeat and logged without a stack.
"""

import asyncio
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable

import structlog

log = structlog.get_logger("gatepost.loop")
_FRAMES = 25  # innermost frames of a stack that are logged


class LoopWatchdog:
    """The watchdog of one event loop. `note` is called with the delay of each heartbeat and whether it was a stall."""

    def __init__(self, stall: float, interval: float, note: Callable[[float, bool], None]) -> None:
        self._stall = stall
        self._interval = interval
        self._note = note
        self._due = 0.0
        self._stopping = threading.Event()
        self._cpu = 0.0  # CPU seconds of this process at the last heartbeat
        self._over: deque[tuple[float, float]] = deque(maxlen=100)  # ended stalls that are not logged yet
        self._thread: threading.Thread | None = None
        self._handle: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Watch the running event loop until `stop`."""
        self._loop = asyncio.get_running_loop()
        self._watched = threading.get_ident()
        self._cpu = time.process_time()
        self._expect()
        self._thread = threading.Thread(target=self._watch, name="loop-watchdog", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the heartbeat and the thread."""
        if self._handle is not None:
            self._handle.cancel()
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def _expect(self) -> None:
        self._due = time.monotonic() + self._interval
        self._handle = self._loop.call_later(self._interval, self._beat)

    def _beat(self) -> None:
        late = max(0.0, time.monotonic() - self._due)
        stalled, cpu = late >= self._stall, time.process_time()
        self._note(late, stalled)
        if stalled:
            self._over.append((late, cpu - self._cpu))
        self._cpu = cpu
        self._expect()

    # -- in the thread -------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        reported = 0.0
        while not self._stopping.wait(max(self._interval, self._stall / 5)):
            due = self._due
            if time.monotonic() - due >= self._stall and reported != due:
                reported = due
                self._report(time.monotonic() - due)
            self._report_over()
        self._report_over()

    def _report(self, seconds: float) -> None:
        frame = sys._current_frames().get(self._watched)
        stack = "".join(traceback.format_stack(frame)[-_FRAMES:]) if frame else ""
        log.warning("event loop blocked", seconds=round(seconds, 3), stack=stack)

    def _report_over(self) -> None:
        """Log the ended stalls: how long each took, and how much CPU time this process used meanwhile."""
        while self._over:
            seconds, cpu = self._over.popleft()
            log.warning("event loop runs again", seconds=round(seconds, 3), cpu=round(cpu, 3))
