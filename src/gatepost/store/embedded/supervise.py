"""Supervision: an embedded server that ends unexpectedly is restarted, with increasing pauses.

watch (each 0.2 s) ─► ended ─► log, count ─► restart ─► runs again ─► watch
                                  ▲              └ failed ─► log, pause ─┐
                                  └──────────────────────────────────────┘
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import structlog

from gatepost.store.embedded.conf import log_files
from gatepost.store.embedded.postmaster import find_postmaster, lives

log = structlog.get_logger("gatepost.store")

WATCH_EVERY = 0.2
LONGEST_PAUSE = 30.0
STABLE_AFTER = 60.0  # a server that ran this long is not in a crash loop


async def supervise(
    cluster: Path, restart: Callable[[], Awaitable[None]], on_restart: Callable[[], None] = lambda: None
) -> None:
    """Restart the server whenever it ends, until cancelled. Only the holder of the folder's lock may do this."""
    failures = 0
    while True:
        began = time.monotonic()
        try:
            await until_gone(cluster)
        except Exception:
            log.exception("the supervision of the embedded PostgreSQL failed, and goes on")
            await asyncio.sleep(STABLE_AFTER)
            continue
        failures = 0 if time.monotonic() - began > STABLE_AFTER else failures
        log.error(
            "the embedded PostgreSQL ended unexpectedly: it is started again",
            folder=str(cluster),
            server_log=newest_log(cluster),
            pause=pause_after(failures),
        )
        on_restart()
        failures = await bring_back(cluster, restart, failures)


async def bring_back(cluster: Path, restart: Callable[[], Awaitable[None]], failures: int) -> int:
    """Restart the server until it runs; return how many starts in a row failed or did not last, counting this one."""
    began = time.monotonic()
    while True:
        await asyncio.sleep(pause_after(failures))
        failures += 1
        try:
            await restart()
        except Exception as error:  # the cause may be temporary: a full disk, too many processes
            log.error(
                "the embedded PostgreSQL does not start",
                reason=str(error) or type(error).__name__,
                server_log=newest_log(cluster),
                next_try_in=pause_after(failures),
            )
            continue
        log.info("the embedded PostgreSQL runs again", seconds=round(time.monotonic() - began, 2))
        return failures


def pause_after(failures: int) -> float:
    """Return the seconds before the next start: 0 at first, then doubled each time."""
    return 0.0 if failures == 0 else min(0.5 * 2.0 ** (failures - 1), LONGEST_PAUSE)


async def until_gone(cluster: Path) -> None:
    """Wait until no server runs for this cluster, no matter which process started it."""
    postmaster = find_postmaster(cluster)
    while postmaster is not None:
        await asyncio.sleep(WATCH_EVERY)
        # The process is watched, not its pid file, which may be unreadable for a moment.
        if not lives(postmaster):
            postmaster = find_postmaster(cluster)


def newest_log(cluster: Path) -> str:
    """Return the path of the server's newest log."""
    return str((log_files(cluster) or [cluster / "log"])[-1])
