"""A folder for files on their way, which nobody else may read; what a killed process left is swept by the next one.

Whoever uses a folder holds a lock on it, which ends with the process: a folder without one is nobody's.
"""

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

_PREFIX = "gatepost-qr-"


class Scratch:
    """A folder of this process, where it and the one below it put temporary files."""

    def __init__(self, root: Path) -> None:
        for left in root.glob(f"{_PREFIX}*"):
            _sweep(left)
        self.folder, self._lock = _locked(root)

    def remove(self) -> None:
        """Deletes the folder with all that is in it."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._lock)


def use_scratch() -> Scratch:
    """Makes one and lets all temporary files of this process, and of those it starts, go there."""
    scratch = Scratch(Path(tempfile.gettempdir()))
    tempfile.tempdir = os.environ["TMPDIR"] = str(scratch.folder)
    return scratch


def _locked(root: Path) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=root))
        with suppress(OSError):  # somebody swept it before it had its lock
            lock = os.open(folder, os.O_RDONLY)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if folder.is_dir():
                return folder, lock


def _sweep(folder: Path) -> None:
    with suppress(OSError):  # another's, in use, or gone by now
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            return
        lock = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)
