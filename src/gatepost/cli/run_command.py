"""Runs the work of a command. SIGTERM and the end of the terminal cancel it, as Ctrl-C does, so that it cleans up."""

import asyncio
import signal
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_STOP = (signal.SIGTERM, signal.SIGHUP)


def run_command(work: Coroutine[Any, Any, T]) -> T:
    """Run the work of a command to its end. If a signal has ended it early, exit with the code of that signal.

    Without this, an embedded database that the command has started would go on, and half of a file would stay.
    """
    received: list[signal.Signals] = []
    try:
        return asyncio.run(_stoppable(work, received))
    except asyncio.CancelledError:
        if not received:
            raise
        raise SystemExit(128 + received[0]) from None


async def _stoppable(work: Coroutine[Any, Any, T], received: list[signal.Signals]) -> T:
    task = asyncio.current_task()
    assert task is not None

    def stop(name: signal.Signals) -> None:
        received.append(name)
        if len(received) == 1:  # another signal would interrupt the stop of the database
            task.cancel()

    if threading.current_thread() is threading.main_thread():
        loop = asyncio.get_running_loop()
        for name in _STOP:
            if signal.getsignal(name) is signal.SIG_DFL:  # ignored with `nohup`
                loop.add_signal_handler(name, stop, name)
    return await work
