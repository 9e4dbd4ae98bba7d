"""Supervision: an embedded server that ends although nobody stopped it is started again, with a growing pause.

watch (each 0.2 s) ─► gone ─► log, count ─► restart ─► runs again ─► watch
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
STABLE_AFTER = 60.0  # a server that ran so long is not in a crash loop


async def supervise(
    cluster: Path, restart: Callable[[], Awaitable[None]], on_restart: Callable[[], None] = lambda: None
) -> None:
    """Until cancelled. Only the process that holds the folder's lock may do this."""
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
    """Try until the server runs; return how many starts in a row have not lasted, this one among them."""
    began = time.monotonic()
    while True:
        await asyncio.sleep(pause_after(failures))
        failures += 1
        try:
            await restart()
        except Exception as error:  # whatever keeps it from starting may pass: a full disk, too many processes
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
    """Return the seconds before the next start: none at first, then twice as long each time."""
    return 0.0 if failures == 0 else min(0.5 * 2.0 ** (failures - 1), LONGEST_PAUSE)


async def until_gone(cluster: Path) -> None:
    """Wait until no server serves this folder, whichever process started it."""
    postmaster = find_postmaster(cluster)
    while postmaster is not None:
        await asyncio.sleep(WATCH_EVERY)
        # The process itself is watched, not its file: a file that cannot be read for a moment is no reason to act.
        if not lives(postmaster):
            postmaster = find_postmaster(cluster)


def newest_log(cluster: Path) -> str:
    """Return where the server's own log is."""
    return str((log_files(cluster) or [cluster / "log"])[-1])
