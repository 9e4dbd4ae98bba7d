"""Commands that use the embedded server at the same time, without a gateway: the last one stops it.

begin (shared lock) ─► … ─► end ─► are there others? (exclusive lock) ─ no ──► stop the server; new commands wait
                                                                      └ yes ─► leave it running, and note that
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from gatepost.store.embedded.data_folder import give_to_owner

USE_FILE = "commands.lock"
_LEFT = b"left\n"


class CommandUse:
    """The use of a data folder's server by one command. Where the file cannot be opened, nothing is noted."""

    def __init__(self, data: Path) -> None:
        self._file = -1
        with suppress(OSError):  # another user's folder, or one that cannot be written
            self._file = os.open(data / USE_FILE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            give_to_owner(self._file, data)

    def begin(self) -> bool:
        """Begin to use the server. Return False while another command stops it."""
        return self._lock(fcntl.LOCK_SH)

    def take(self) -> bool:
        """End the use, and let no command begin one until `release`. Return False if others use the server."""
        self.release()
        return self._lock(fcntl.LOCK_EX)

    def release(self) -> None:
        """End the use, or let others begin one."""
        if self._file >= 0:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Release everything."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    @property
    def left(self) -> bool:
        """Whether a command has left its server to others, who have to stop it."""
        return self._file >= 0 and os.pread(self._file, len(_LEFT), 0) == _LEFT

    def note(self, *, left: bool) -> None:
        """Note that the server is left to others, or was stopped."""
        if self._file >= 0:
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, _LEFT if left else b"", 0)

    def _lock(self, kind: int) -> bool:
        if self._file < 0:
            return True
        try:
            fcntl.flock(self._file, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
