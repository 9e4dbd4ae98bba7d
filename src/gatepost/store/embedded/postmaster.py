"""Finding the server that serves a folder, through its pid file but never trusting it alone; and ending it."""

import asyncio
import contextlib
import os
import signal
import time
from pathlib import Path

import msgspec
import psutil
import structlog

log = structlog.get_logger("gatepost.store")

POLL = 0.01
PID_FILE = "postmaster.pid"
SOCKET_LINE = 4


class PidFile(msgspec.Struct, frozen=True):
    """What a postmaster writes about itself; the socket folder comes a moment after the rest."""

    pid: int
    sockets: Path | None


def read_pid_file(cluster: Path) -> PidFile | None:
    """Read the pid file, if there is one that says anything."""
    try:
        lines = (cluster / PID_FILE).read_text("utf-8", "surrogateescape").splitlines()
        pid = int(lines[0])
    except (FileNotFoundError, IndexError, ValueError):
        return None
    sockets = lines[SOCKET_LINE].strip() if len(lines) > SOCKET_LINE else ""
    return PidFile(pid=abs(pid), sockets=Path(sockets) if sockets else None)


def find_postmaster(cluster: Path) -> psutil.Process | None:
    """Return the live server of this very folder; stale files and reused process ids find nothing."""
    noted = read_pid_file(cluster)
    if noted is None:
        return None
    try:
        process = psutil.Process(noted.pid)
        return process if lives(process) and serves(process, cluster) else None
    except psutil.Error:
        return None


def lives(process: psutil.Process) -> bool:
    """Tell whether a process still runs; one that only waits to be reaped does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def serves(process: psutil.Process, cluster: Path) -> bool:
    """Tell whether a process is a PostgreSQL whose data folder is this one."""
    command = process.cmdline()
    if not command or os.path.basename(command[0]) != "postgres":
        return False
    # A server of ours names the folder; one started by hand may not, but every postmaster works in its folder.
    return str(cluster) in command[1:] or Path(process.cwd()) == cluster


def forget_stale(cluster: Path, sockets: Path) -> None:
    """Remove lock files that no server stands behind; call this only when find_postmaster found none."""
    noted = read_pid_file(cluster)
    # With a dead pid PostgreSQL clears up by itself; a pid that now belongs to another process (or to a dead one
    # nobody reaped) would make it refuse to start.
    if noted is not None and psutil.pid_exists(noted.pid):
        (cluster / PID_FILE).unlink(missing_ok=True)
    for leftover in sockets.glob(".s.PGSQL.*"):
        leftover.unlink(missing_ok=True)


def leftovers(cluster: Path) -> list[psutil.Process]:
    """Return the worker processes of this folder's server; with no postmaster above them they serve nobody."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if "".join(process.cmdline()[:1]).startswith("postgres:") and Path(process.cwd()) == cluster:
                found.append(process)
    return found


async def end_leftovers(cluster: Path, patience: float = 1.0) -> None:
    """Wait for the workers of a killed postmaster, and kill those that stay: they keep a new server from starting.

    A worker notices by itself that its postmaster is gone, unless it is in the middle of a long computation.
    """
    if find_postmaster(cluster) is not None:
        return
    family = await asyncio.to_thread(leftovers, cluster)
    if await all_gone(family, patience):
        return
    for process in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    await all_gone(family, 10.0)


async def shut_down(postmaster: psutil.Process, patience: float) -> None:
    """Ask for a fast shutdown, then an immediate one, then kill; return when every process of it is gone."""
    family = [postmaster, *postmaster.children(recursive=True)]
    for order, wait in ((signal.SIGINT, patience), (signal.SIGQUIT, min(patience, 10.0)), (signal.SIGKILL, 10.0)):
        # The postmaster sees to its children, except when it is killed: then each has to be told.
        for process in family if order == signal.SIGKILL else family[:1]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(order)
        if await all_gone(family, wait):
            return
        log.warning("the database does not stop", process=postmaster.pid, signal=order.name, seconds=wait)


async def all_gone(family: list[psutil.Process], patience: float) -> bool:
    """Wait until none of these processes lives."""
    give_up = time.monotonic() + patience
    while any(lives(process) for process in family):
        if time.monotonic() > give_up:
            return False
        await asyncio.sleep(POLL)
    return True
