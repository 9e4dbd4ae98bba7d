"""Finds and stops the server of a cluster. Its pid file alone is not trusted."""

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
    """The content of a postmaster's pid file. The socket folder is written shortly after the rest."""

    pid: int
    sockets: Path | None


def read_pid_file(cluster: Path) -> PidFile | None:
    """Read the pid file; return None if it is missing or invalid."""
    try:
        lines = (cluster / PID_FILE).read_text("utf-8", "surrogateescape").splitlines()
        pid = int(lines[0])
    except (FileNotFoundError, IndexError, ValueError):
        return None
    sockets = lines[SOCKET_LINE].strip() if len(lines) > SOCKET_LINE else ""
    return PidFile(pid=abs(pid), sockets=Path(sockets) if sockets else None)


def find_postmaster(cluster: Path) -> psutil.Process | None:
    """Return the running server of this cluster. Stale pid files and reused process ids are ignored."""
    noted = read_pid_file(cluster)
    if noted is None:
        return None
    try:
        process = psutil.Process(noted.pid)
        return process if lives(process) and serves(process, cluster) else None
    except psutil.Error:
        return None


def lives(process: psutil.Process) -> bool:
    """Return whether a process still runs. A zombie does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def serves(process: psutil.Process, cluster: Path) -> bool:
    """Return whether a process is the PostgreSQL server of this cluster."""
    command = process.cmdline()
    if not command or os.path.basename(command[0]) != "postgres":
        return False
    # Our command line names the folder. A manual start may not, but the cluster is the postmaster's working directory.
    return str(cluster) in command[1:] or Path(process.cwd()) == cluster


def forget_stale(cluster: Path, sockets: Path) -> None:
    """Remove stale pid and socket files. Call this only after find_postmaster returned None."""
    noted = read_pid_file(cluster)
    # PostgreSQL removes the file itself if the pid does not exist. A pid that now belongs to another process, or to a
    # zombie, would prevent its start.
    if noted is not None and psutil.pid_exists(noted.pid):
        (cluster / PID_FILE).unlink(missing_ok=True)
    for leftover in sockets.glob(".s.PGSQL.*"):
        leftover.unlink(missing_ok=True)


def leftovers(cluster: Path) -> list[psutil.Process]:
    """Return the worker processes of this cluster's server, which has ended. Without a postmaster they are useless."""
    found = []
    for pid in psutil.pids():
        with contextlib.suppress(psutil.Error):
            # Not `process_iter`: it keeps its objects, and after a pid is reused such an object counts as ended.
            process = psutil.Process(pid)
            # The name, not the command line: that changes with a worker's task, and is empty while a process exits.
            if process.name() == "postgres" and Path(process.cwd()) == cluster:
                found.append(process)
    return found


async def end_leftovers(cluster: Path) -> None:
    """Wait for the workers of a killed postmaster, and kill those that remain: they prevent the start of a new server.

    A worker exits when it notices the end of its postmaster, which a long computation can delay.
    """
    if find_postmaster(cluster) is not None:
        return
    family = await asyncio.to_thread(leftovers, cluster)
    if await all_gone(family, 1.0):
        return
    for process in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    await all_gone(family, 10.0)


async def shut_down(postmaster: psutil.Process, patience: float) -> None:
    """Request a fast shutdown, then an immediate one, then kill the server; wait until all its processes have ended."""
    family = [postmaster, *postmaster.children(recursive=True)]
    for order, wait in ((signal.SIGINT, patience), (signal.SIGQUIT, min(patience, 10.0)), (signal.SIGKILL, 10.0)):
        # The postmaster stops its children, unless it is killed: then each child must be killed too.
        for process in family if order == signal.SIGKILL else family[:1]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(order)
        if await all_gone(family, wait):
            return
        log.warning("the database does not stop", process=postmaster.pid, signal=order.name, seconds=wait)


async def all_gone(family: list[psutil.Process], patience: float) -> bool:
    """Wait until all these processes have ended; return False after `patience` seconds."""
    give_up = time.monotonic() + patience
    while any(lives(process) for process in family):
        if time.monotonic() > give_up:
            return False
        await asyncio.sleep(POLL)
    return True
