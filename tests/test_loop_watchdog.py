"""The watchdog of the event loop: what blocks the loop is in the log by its stack, and in the figures."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog
from structlog.testing import capture_logs

from gatepost.loop_watchdog import LoopWatchdog
from gatepost.metrics import ProcessMetrics
from tests.gateway.test_metrics import read
from tests.patience import PATIENCE

STALL = 0.1


@contextmanager
def watching(stall: float = STALL) -> Iterator[tuple[list[Any], ProcessMetrics]]:
    """Give the lines of the log and the figures, while the running loop is watched."""
    structlog.reset_defaults()
    metrics = ProcessMetrics()
    watchdog = LoopWatchdog(stall, 0.005, metrics.loop_lag)
    with capture_logs() as lines:
        watchdog.start()
        try:
            yield lines, metrics
        finally:
            watchdog.stop()


def block_the_loop(until: threading.Event) -> None:
    """Hold the loop's thread, as a slow computation does."""
    until.wait(30)


async def until_logged(lines: list[Any], event: str) -> Any:
    async with asyncio.timeout(PATIENCE):
        while True:
            if found := [line for line in lines if line["event"] == event]:
                return found[0]
            await asyncio.sleep(0.01)


async def test_the_stack_of_what_blocks_the_loop_is_logged() -> None:
    with watching() as (lines, metrics):
        await asyncio.sleep(0.05)
        over = threading.Event()
        threading.Thread(target=_end_once_logged, args=(lines, over)).start()
        block_the_loop(over)
        blocked = [line for line in lines if line["event"] == "event loop blocked"]
        assert "block_the_loop" in blocked[0]["stack"]
        assert blocked[0]["seconds"] >= STALL
        again = await until_logged(lines, "event loop runs again")
        assert again["seconds"] >= STALL
    figures = read(metrics.show())
    assert figures["gatepost_loop_stalls_total", ""] >= 1
    assert figures["gatepost_loop_lag_longest_seconds", ""] >= STALL
    assert figures["gatepost_loop_lag_seconds_count", ""] > figures["gatepost_loop_lag_seconds_bucket", "0.1"]


def _end_once_logged(lines: list[Any], over: threading.Event) -> None:
    """The log has it while it lasts, not only afterwards: else a loop that is blocked for good would be silent."""
    give_up = time.monotonic() + 20
    while not any(line["event"] == "event loop blocked" for line in lines) and time.monotonic() < give_up:
        time.sleep(0.01)
    over.set()


async def test_a_loop_that_runs_is_not_logged() -> None:
    with watching(stall=60) as (lines, metrics):
        async with asyncio.timeout(PATIENCE):
            while read(metrics.show())["gatepost_loop_lag_seconds_count", ""] < 5:
                await asyncio.sleep(0.01)
    assert lines == []
    assert read(metrics.show())["gatepost_loop_stalls_total", ""] == 0


async def test_it_stops_cleanly() -> None:
    with watching():
        assert "loop-watchdog" in [thread.name for thread in threading.enumerate()]
    assert "loop-watchdog" not in [thread.name for thread in threading.enumerate()]
