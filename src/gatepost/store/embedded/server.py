"""Starts, reuses, supervises and stops the embedded server, and deletes its old logs."""

import asyncio
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, ParamSpec, TypeVar

import psutil
import structlog

from gatepost.background import Loop
from gatepost.store.embedded.account import identity, runner_of
from gatepost.store.embedded.conf import child_environment, last_lines, trim_logs, write_configuration
from gatepost.store.embedded.data_folder import EmbeddedPostgresError
from gatepost.store.embedded.place import ROOT_HOME, ClusterPlace, find_cluster, settle
from gatepost.store.embedded.postmaster import end_leftovers, find_postmaster, forget_stale, read_pid_file, shut_down
from gatepost.store.embedded.ready import answering, dsn_for
from gatepost.store.embedded.sockets import remove_short_sockets, socket_folder
from gatepost.store.embedded.supervise import supervise

log = structlog.get_logger("gatepost.store")
P = ParamSpec("P")
T = TypeVar("T")

POLL = 0.01
TRIM_EVERY = 600.0
# Another postmaster, or the last workers of a killed one, may still be shutting down: the start is retried.
PASSING_TROUBLE = ("already exists", "pre-existing shared memory block")


def running_dsn(data: Path) -> str | None:
    """Return the address of a data folder's database; None if its server does not run."""
    found = _running(data)
    return None if found is None else dsn_for(found[2])


async def reach_running(data: Path, patience: float) -> str | None:
    """Like `running_dsn`, but wait until a server that is starting accepts connections. For commands."""
    found = _running(data)
    if found is None:
        return None
    cluster, postmaster, sockets = found
    return await answering(cluster, runner_of(cluster), postmaster, sockets, patience)


def _running(data: Path) -> tuple[Path, psutil.Process, Path] | None:
    """Return the cluster, the postmaster and the socket folder of a running server."""
    try:
        cluster = find_cluster(data.resolve())
        postmaster = None if cluster is None else find_postmaster(cluster)
        noted = None if cluster is None or postmaster is None else read_pid_file(cluster)
    except PermissionError as error:
        raise EmbeddedPostgresError(
            f"The database of {data} belongs to another user ({error.filename} is closed). "
            "Run this command as the user who runs the gateway, or as root."
        ) from error
    if cluster is None or postmaster is None or noted is None or noted.sockets is None:
        return None
    return cluster, postmaster, noted.sockets


class EmbeddedPostgres:
    """The PostgreSQL server of one data folder. The caller must hold the folder's lock."""

    def __init__(
        self,
        data: Path,
        root_home: Path = ROOT_HOME,
        patience: float = 60.0,
        on_restart: Callable[[], None] = lambda: None,
        *,
        logical: bool = False,
    ) -> None:
        self._data = data
        self._logical = logical  # whether its changes can be replicated to another cell (`store/moves`)
        self._root_home = root_home
        self._patience = patience
        self._place: ClusterPlace | None = None
        self._sockets: Path | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._on_restart = on_restart
        self._loops: list[Loop] = []
        self._last_words = ""

    async def start(self) -> str:
        """Create, start or reuse the server; return the address of its database once it accepts connections."""
        began = time.monotonic()
        place = self._place = await run_to_end(settle, self._data, self._root_home)
        try:
            dsn = await self._reach(place, began + self._patience)
        except BaseException:
            await self.stop()
            raise
        await self._end_loops()
        self._loops = [
            Loop("trimming of the database's log", partial(keep_log_short, place.cluster)),
            Loop("supervision of the database", partial(supervise, place.cluster, self._restart, self._on_restart)),
        ]
        log.info("database started", folder=str(place.cluster), seconds=round(time.monotonic() - began, 2))
        return dsn

    async def stop(self, patience: float = 60.0) -> None:
        """Stop the server, by force if needed; return when all its processes have ended."""
        await self._end_loops()
        place, child = self._place, self._child
        postmaster = find_postmaster(place.cluster) if place else None
        if postmaster is None and child is not None and child.poll() is None:
            postmaster = psutil.Process(child.pid)
        if postmaster is not None:
            await shut_down(postmaster, patience)
        if child is not None:
            await asyncio.to_thread(child.wait)
        if place is not None:
            await end_leftovers(place.cluster)
            remove_short_sockets(place, self._sockets)
        self._child = self._sockets = None

    async def leave(self) -> None:
        """Leave the server running, for others."""
        await self._end_loops()

    async def _end_loops(self) -> None:
        """Stop the background loops. The supervision would restart a server that is being stopped."""
        loops, self._loops = self._loops, []
        for loop in loops:
            if loop.running:  # it may have ended with a previous event loop
                await loop.stop()

    async def _restart(self) -> None:
        """Start the server after it ended unexpectedly, once the processes of the old one have ended."""
        assert self._place is not None
        if self._child is not None:
            self._child.poll()  # reaps a dead child; _reach handles one that still runs
        await end_leftovers(self._place.cluster)
        await self._reach(self._place, time.monotonic() + self._patience)

    async def _reach(self, place: ClusterPlace, give_up: float) -> str:
        while time.monotonic() < give_up:
            dsn = await self._reuse(place) or await self._launch(place)
            if dsn is not None:
                return dsn
            await asyncio.sleep(POLL)
        raise EmbeddedPostgresError(f"Another server is in the way in {place.cluster}:\n{self._last_words}")

    async def _reuse(self, place: ClusterPlace) -> str | None:
        """Connect to a server that a killed gateway left running, if there is one."""
        while (postmaster := find_postmaster(place.cluster)) is not None:
            noted = read_pid_file(place.cluster)
            if noted is not None and noted.sockets is not None:
                self._sockets = noted.sockets
                return await answering(place.cluster, place.account, postmaster, noted.sockets, self._patience)
            await asyncio.sleep(POLL)
        return None

    async def _launch(self, place: ClusterPlace) -> str | None:
        """Start a server and wait for it; return None if the start should be retried."""
        with tempfile.TemporaryFile() as said:
            sockets = self._sockets = await run_to_end(prepare, place)
            # Not in a thread: a cancellation must not happen between the start of the child and this assignment.
            child = self._child = spawn(place, said, logical=self._logical)
            dsn = await answering(place.cluster, place.account, psutil.Process(child.pid), sockets, self._patience)
            if dsn is not None:
                return dsn
            child.wait()
            said.seek(0)
            words = self._last_words = said.read().decode("utf-8", "replace").strip()
        if any(trouble in words for trouble in PASSING_TROUBLE):
            return None
        raise EmbeddedPostgresError(
            f"PostgreSQL did not start in {place.cluster}:\n{words}\n{last_lines(place.cluster)}"
        )


def prepare(place: ClusterPlace) -> Path:
    """Prepare a cluster for a new server; return the folder of its socket."""
    sockets = socket_folder(place)
    forget_stale(place.cluster, sockets)
    write_configuration(place.cluster, sockets, place.account)
    trim_logs(place.cluster)
    return sockets


def spawn(place: ClusterPlace, said: IO[bytes], *, logical: bool = False) -> subprocess.Popen[bytes]:
    """Start a server; its output until it opens its log goes to a file."""
    # In its own session: Ctrl-C in the terminal reaches only the gateway, which stops the server after it has drained.
    options = ("-c", "wal_level=logical") if logical else ()
    return subprocess.Popen(  # noqa: S603
        [str(place.programs / "postgres"), "-D", str(place.cluster), *options],
        stdin=subprocess.DEVNULL,
        stdout=said,
        stderr=said,
        cwd="/",
        env=child_environment(),
        start_new_session=True,
        **identity(place.account),
    )


async def run_to_end(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function in a thread. A cancelled caller waits for its end: nobody works in the folder after `start`."""
    running = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.gather(running, return_exceptions=True)
        raise


async def keep_log_short(cluster: Path) -> None:
    """Wait, then delete old logs; the server itself does not delete any."""
    await asyncio.sleep(TRIM_EVERY)
    await asyncio.to_thread(trim_logs, cluster)
