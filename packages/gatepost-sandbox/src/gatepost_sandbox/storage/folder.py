"""The folder of one sandbox: the newest snapshot, the log since, and the bodies too large for the log.

state.4, log.4 ─► replay ─► state.5, log.5 ─► state.4 and log.4 are deleted

A kill between any two steps leaves a newest snapshot and its log (or no log yet): both are whole.
"""

import asyncio
import fcntl
import logging
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

from gatepost_sandbox.callback_client import CallbackClient
from gatepost_sandbox.storage.log import LOG_MAX, Log, Record, read_log
from gatepost_sandbox.storage.snapshot import State, read_snapshot, write_snapshot

log = logging.getLogger("gatepost_sandbox")
_STATE = re.compile(r"state\.([0-9]+)\Z")


class FolderInUse(OSError):
    """Another sandbox uses this folder."""


class Folder:
    """The files of one sandbox, and the recorder of its inputs."""

    inline_max = 256 * 1024

    def __init__(self, path: Path) -> None:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = path
        self._lock = _lock(path / "lock")
        self._generation = max([0, *(int(found[1]) for name in os.listdir(path) if (found := _STATE.match(name)))])
        self._log: Log | None = None
        self._roll_at = LOG_MAX
        self._save: Callable[[], State] | None = None
        self._rolling = False

    def load(self, callback_client: CallbackClient) -> State | None:
        """Return the newest snapshot; None when there is none yet."""
        if self._generation == 0:
            return None
        return read_snapshot(self._path / f"state.{self._generation}", callback_client)

    def records(self) -> Iterator[Record]:
        """Return the inputs since the newest snapshot."""
        return read_log(self._path / f"log.{self._generation}")

    def read_file(self, name: str) -> bytes:
        """Return a large body."""
        return (self._path / name).read_bytes()

    def set_aside(self) -> Path:
        """Move files that this version cannot read to a separate folder."""
        old = self._path / f"old-{int(time.time())}"
        old.mkdir(mode=0o700, exist_ok=True)
        for name in os.listdir(self._path):
            if name.startswith(("state.", "log.", "body-")):
                (self._path / name).rename(old / name)
        self._generation = 0
        return old

    def start(self, save: Callable[[], State]) -> None:
        """Start a new generation: a snapshot of the present state, and an empty log."""
        self._save = save
        self._roll()
        for name in os.listdir(self._path):
            if name.startswith("body-"):
                (self._path / name).unlink()

    def write(self, now: float, kind: str, values: tuple[object, ...]) -> None:
        """Record one input."""
        if self._log is None:
            return
        try:
            self._log.write(now, kind, values)
        except OSError:
            os.kill(os.getpid(), signal.SIGTERM)  # an input that cannot be recorded must not be answered
            raise
        if self._log.size >= self._roll_at and not self._rolling:
            self._rolling = True
            asyncio.get_running_loop().call_soon(self._roll)  # between two inputs, not inside of one

    async def keep_file(self, content: bytes) -> str:
        """Store a large body, off the event loop."""
        name = f"body-{uuid4().hex}"
        await asyncio.to_thread((self._path / name).write_bytes, content)
        return name

    def close(self) -> None:
        """Close the log and unlock the folder."""
        if self._log is not None:
            self._log.close()
            self._log = None
        os.close(self._lock)

    def _roll(self) -> None:
        self._rolling = False
        try:
            self._begin_generation()
        except OSError as error:
            if self._log is None:
                raise
            log.error("The sandbox cannot write a snapshot and continues with its long log: %s.", error.strerror)
            self._roll_at = 2 * self._log.size

    def _begin_generation(self) -> None:
        assert self._save is not None
        before, new = self._generation, self._generation + 1
        snapshot, log_path = self._path / f"state.{new}", self._path / f"log.{new}"
        log_path.unlink(missing_ok=True)
        write_snapshot(snapshot, self._save())
        if self._log is not None:
            self._log.close()
        self._generation, self._log = new, Log(log_path)
        self._roll_at = max(LOG_MAX, 2 * snapshot.stat().st_size)  # so that snapshots stay a small part of the work
        for old in (f"state.{before}", f"log.{before}"):
            (self._path / old).unlink(missing_ok=True)


def wait_until_free(path: Path, patience: float = 10.0) -> None:
    """Wait until no sandbox uses a folder: one whose parent was killed stops soon."""
    if path.is_dir():
        os.close(_lock(path / "lock", patience))


def _lock(path: Path, patience: float = 10.0) -> int:
    """Lock the folder for this process; the kernel releases the lock when the process ends."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + patience
    while not _try_lock(file):
        if time.monotonic() >= deadline:
            owner = os.read(file, 32).decode(errors="replace").strip()
            os.close(file)
            raise FolderInUse(f"Another sandbox (process {owner}) uses {path.parent}. Stop it first.")
        time.sleep(0.05)
    os.ftruncate(file, 0)
    os.pwrite(file, str(os.getpid()).encode(), 0)
    return file


def _try_lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
