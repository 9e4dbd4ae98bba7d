"""The data folder: its lock, its errors (each says what to do), and the note that its database was moved."""

import errno
import fcntl
import os
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self


class EmbeddedPostgresError(Exception):
    """The embedded PostgreSQL cannot be created, started or reached."""


class DataFolderInUse(Exception):
    """Another gateway holds the data folder."""


LOCK_FILE = "gateway.lock"
# What file systems without hard links answer, such as those of USB sticks and of Windows shares.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS)


class FolderLock:
    """The lock on a data folder, held until it is released or the process ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        """Release the lock. It may be called more than once."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()


def lock_data_folder(data: Path) -> FolderLock:
    """Create the folder if it is missing, and lock it for this process. Raises DataFolderInUse if it is locked."""
    make_data_folder(data)
    # Python opens files with close-on-exec, so a child such as the postmaster does not keep the lock after our end.
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
    """Return whether a gateway has locked the folder, also while its database is restarting."""
    return read_lock(data / LOCK_FILE) is not None


def holder_of(data: Path) -> int | None:
    """Return the process that has locked the folder; None if there is none."""
    holder = read_lock(data / LOCK_FILE)
    return int(holder) if holder and holder.isdigit() else None


def read_lock(path: Path) -> str | None:
    """Return the content of a lock file, if a process has locked it."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.read(descriptor, 32).decode("utf-8", "replace").strip()
    finally:
        os.close(descriptor)
    return None


def make_data_folder(data: Path) -> None:
    """Create a missing data folder that others cannot read; an existing one keeps its mode."""
    if data.is_dir():
        return
    data.parent.mkdir(parents=True, exist_ok=True)
    data.mkdir(mode=0o700, exist_ok=True)
    if os.geteuid() == 0:
        # If we are root, the server runs as another user, who must be able to enter the folder, but not to list it.
        data.chmod(0o711)


def put_in_place(draft: Path, path: Path) -> None:
    """Give a file its name; raise FileExistsError if another file has it."""
    try:
        os.link(draft, path)  # unlike a rename, it replaces nothing
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        draft.rename(path)


def give_to_owner(descriptor: int, data: Path) -> None:
    """Give a file that root has just created to the folder's owner, who runs the gateway."""
    owner = data.stat()
    if os.geteuid() == 0 and owner.st_uid != 0 and os.fstat(descriptor).st_uid == 0:
        os.fchown(descriptor, owner.st_uid, owner.st_gid)


def in_use_message(data: Path, holder: str) -> str:
    """Return the error text: which folder is in use, by which process, and what to do."""
    who = f"process {holder}" if holder.isdigit() else "another process"
    return (
        f"The data folder {data.resolve()} is in use by another Gatepost ({who}). "
        "Stop that one first, or give this one a folder of its own with --data."
    )


NOTE = "database.moved"


def write_moved(data: Path, target: str, now: datetime) -> None:
    """Record where the database went, so that no gateway uses the old one by mistake."""
    draft = data / f"{NOTE}.new"
    draft.write_text(f"{target} on {now:%Y-%m-%d}\n", "utf-8")
    draft.replace(data / NOTE)


def check_not_moved(data: Path) -> None:
    """Refuse a database that was moved: its messages would be sent twice."""
    if (data / NOTE).exists():
        where = (data / NOTE).read_text("utf-8").strip()
        raise EmbeddedPostgresError(
            f"The database of {data} was moved to {where}. Set database.url to it. "
            f"To use the old database in this folder again, delete {data / NOTE}."
        )
