"""Background loops: each survives every error, logs it with its cause, waits longer after each failure, and continues.

    step ─► step ─► step …
     │ error: logged
     └─► wait 1, 2, 4 … 30 s ─► step            (1 s again after a step that succeeded)

`run_loop` runs one loop, for example of a channel, until it is stopped. A `Supervisor` starts the loops that must
run as long as the process does: if one of them ends anyway, the process stops with an error, so that its service
manager restarts it. A process that runs but does no work is worse than one that has stopped.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import structlog

from gatepost.model.errors import GatepostError, Unavailable

log = structlog.get_logger("gatepost.background")
Step = Callable[[], Awaitable[object]]
T = TypeVar("T")
FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0


def _always() -> bool:
    return True


async def run_loop(
    name: str,
    step: Step,
    *,
    going: Callable[[], bool] = _always,
    ends_on: tuple[type[Exception], ...] = (),
    first_wait: float = FIRST_WAIT,
    longest_wait: float = LONGEST_WAIT,
    wake: asyncio.Event | None = None,
    failed: Callable[[], None] | None = None,
    **context: str,
) -> None:
    """Repeat a step while `going`, whatever it raises; an error of `ends_on` ends the loop normally.

    `wake` ends the wait after a failure early, `failed` is called after each failure, `context` is logged.
    """
    wait = 0.0
    while going():
        try:
            await step()
            wait = 0.0
            if _being_cancelled():  # the step swallowed the cancellation, as `asyncio.wait_for` may
                raise asyncio.CancelledError
            continue
        except ends_on:
            return
        except asyncio.CancelledError as error:
            if _being_cancelled():
                raise
            log_failure(name, error, **context)  # something it waited for was cancelled, not the loop itself
        except Exception as error:
            log_failure(name, error, **context)
        if failed is not None:
            failed()
        wait = min(max(first_wait, wait * 2), longest_wait)
        await _pause(wait, wake)


async def _pause(seconds: float, wake: asyncio.Event | None) -> None:
    if wake is None:
        await asyncio.sleep(seconds)
        return
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(wake.wait(), seconds)


async def attempt(name: str, step: Step, **context: str) -> bool:
    """Run one step whose errors must not affect others. Log an error and return False."""
    try:
        await step()
    except asyncio.CancelledError as error:
        if _being_cancelled():
            raise
        log_failure(name, error, **context)
    except Exception as error:
        log_failure(name, error, **context)
    else:
        return True
    return False


async def attempt_within(seconds: float, name: str, step: Callable[[], Awaitable[object]]) -> None:
    """Do the same, but not for longer than this."""
    last = asyncio.create_task(attempt(name, step))
    await asyncio.wait([last], timeout=seconds)
    last.cancel()


async def finish_within(seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of some work, or raise TimeoutError.

    Then the work is cancelled, but not waited for: a database that is stuck does not confirm a cancellation either.
    """
    task = asyncio.create_task(work)
    try:
        done, _ = await asyncio.wait([task], timeout=seconds)
    finally:
        task.cancel()
    if not done:
        raise TimeoutError
    return task.result()


async def retry_until_available(
    step: Callable[[], Awaitable[T]],
    going: Callable[[], bool],
    *,
    wait: float = 0.25,
    ended: type[Exception] | None = None,
) -> T:
    """Run a database step until the database is available. Once `going` is false, raise `ended`, or its last error."""
    while True:
        try:
            return await step()
        except Unavailable:
            if not going():
                if ended is None:
                    raise
                raise ended from None
        await asyncio.sleep(wait)


def log_failure(name: str, error: BaseException, **context: str) -> None:
    """Log an error: a GatepostError (such as an unavailable database) by message and cause, others with traceback."""
    if isinstance(error, GatepostError):
        cause = repr(error.__cause__) if error.__cause__ else None
        log.warning(f"{name} failed", reason=error.message, cause=cause, **context)
    else:
        log.error(f"{name} failed", error=repr(error), exc_info=error, **context)


def _being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


class Loop:
    """A loop in its own task."""

    def __init__(self, name: str, step: Step, ended: Callable[[str], None] | None = None, **options: Any) -> None:
        self.name = name
        self._ended = ended
        self._stopping = False
        self._task = asyncio.create_task(run_loop(name, step, **options), name=name)
        self._task.add_done_callback(self._done)

    @property
    def running(self) -> bool:
        return not self._task.done()

    def cancel(self) -> None:
        """Cancel the loop without reporting its end."""
        self._stopping = True
        self._task.cancel()

    async def stop(self) -> None:
        """Cancel the loop and wait for its end."""
        self.cancel()
        await asyncio.wait([self._task])

    def _done(self, task: "asyncio.Task[None]") -> None:
        if self._stopping or (task.cancelled() and self._ended is None):  # for example, when the program ends
            return
        error = None if task.cancelled() else task.exception()
        log.critical("background loop ended", loop=self.name, error=repr(error) if error else None, exc_info=error)
        if self._ended is not None:
            self._ended(self.name)


class Supervisor:
    """The loops that must run as long as the process does."""

    def __init__(self) -> None:
        self.ended: str | None = None  # the first loop that ended without being stopped
        self._loops: list[Loop] = []
        self._listener: Callable[[], None] | None = None

    def start(self, name: str, step: Step, **options: Any) -> Loop:
        """Start a loop. The options are those of `run_loop`."""
        loop = Loop(name, step, self._note_end, **options)
        self._loops.append(loop)
        return loop

    def on_end(self, listener: Callable[[], None]) -> None:
        """Set the listener to call when a loop ends. If one has already ended, call it immediately."""
        self._listener = listener
        if self.ended is not None:
            listener()

    async def stop(self) -> None:
        """Cancel all loops and wait for their end."""
        for loop in self._loops:
            loop.cancel()
        for loop in self._loops:
            await loop.stop()

    def _note_end(self, name: str) -> None:
        self.ended = self.ended or name
        if self._listener is not None:
            self._listener()
