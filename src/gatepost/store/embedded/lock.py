"""One gateway per data folder: a kernel lock, so that it ends with its holder however the holder ends."""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from gatepost.store.embedded.errors import DataFolderInUse

LOCK_FILE = "gateway.lock"


class FolderLock:
    """The right to use a data folder, held until released or until the process ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        """Give the folder back; doing so twice is harmless."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()


def lock_data_folder(data: Path) -> FolderLock:
    """Make the folder where missing and take it for this process, or say who has it."""
    make_data_folder(data)
    # Python opens with close-on-exec: a child such as the postmaster must not carry the lock past our death.
    descriptor = os.open(data / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    give_to_owner(descriptor, data)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(descriptor, 32).decode("utf-8", "replace").strip()
        os.close(descriptor)
        raise DataFolderInUse(in_use_message(data, holder)) from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return FolderLock(descriptor)


def is_locked(data: Path) -> bool:
    """Tell whether a gateway holds the folder, also while its database is being started again."""
    try:
        descriptor = os.open(data / LOCK_FILE, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def make_data_folder(data: Path) -> None:
    """Make a missing data folder closed to others; one that exists keeps its mode."""
    if data.is_dir():
        return
    data.parent.mkdir(parents=True, exist_ok=True)
    data.mkdir(mode=0o700, exist_ok=True)
    if os.geteuid() == 0:
        # Under root the server runs as another user, who must be able to pass through, but not to look around.
        data.chmod(0o711)


def give_to_owner(descriptor: int, data: Path) -> None:
    """Give a file that root has just made to the folder's owner, who runs the gateway."""
    owner = data.stat()
    if os.geteuid() == 0 and owner.st_uid != 0 and os.fstat(descriptor).st_uid == 0:
        os.fchown(descriptor, owner.st_uid, owner.st_gid)


def in_use_message(data: Path, holder: str) -> str:
    """Say which folder is taken, by whom, and the two ways out."""
    who = f"process {holder}" if holder.isdigit() else "another process"
    return (
        f"The data folder {data.resolve()} is in use by another Gatepost ({who}). "
        "Stop that one first, or give this one a folder of its own with --data."
    )
