"""A private folder for temporary files. The folder of a killed process is deleted by the next one.

A process holds a lock on its folder until it ends. A folder without a lock is not in use.
"""

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

_PREFIX = "gatepost-qr-"


class Scratch:
    """The folder for temporary files of this process and its child processes."""

    def __init__(self, root: Path) -> None:
        for left in root.glob(f"{_PREFIX}*"):
            _sweep(left)
        self.folder, self._lock = _locked(root)

    def remove(self) -> None:
        """Delete the folder and its contents."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._lock)


def use_scratch() -> Scratch:
    """Create a folder and use it for all temporary files of this process and its child processes."""
    scratch = Scratch(Path(tempfile.gettempdir()))
    tempfile.tempdir = os.environ["TMPDIR"] = str(scratch.folder)
    return scratch


def _locked(root: Path) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=root))
        with suppress(OSError):  # another process deleted it before it was locked
            lock = os.open(folder, os.O_RDONLY)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if folder.is_dir():
                return folder, lock


def _sweep(folder: Path) -> None:
    with suppress(OSError):  # owned by another user, in use, or already deleted
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            return
        lock = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)
