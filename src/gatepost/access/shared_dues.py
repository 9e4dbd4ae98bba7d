"""The rates of keys in memory that the processes of a gateway share, so that a limit applies to all of them together.

A table of fixed size in a file without a name (`create`), which each process maps:

    id (16 bytes) │ due (a double; 0: empty)      the place is given by the id; up to `_PROBES` places are looked at

There is no lock: two processes that count requests of a key in the same microsecond may count only one of them. An
entry whose time is over is replaced; if there is none, the one that is over first. The clock is the system's
monotonic clock, which is the same in all processes.
"""

import mmap
import os
import struct
import tempfile
import time
from uuid import UUID

_ENTRY = struct.Struct("16sd")
_PLACES = 1 << 15
_PROBES = 8
SIZE = _ENTRY.size * _PLACES


def create() -> int:
    """Return the descriptor of a new table, for `SharedDues` of all processes."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("gatepost-rates")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, SIZE)
    return descriptor


class SharedDues:
    """When the next request of each principal is due, as a mapping."""

    def __init__(self, descriptor: int) -> None:
        self._table = mmap.mmap(descriptor, SIZE)

    def __len__(self) -> int:
        return 0  # it does not grow

    def get(self, principal: UUID, default: float) -> float:
        """Return when the next request of a principal is due."""
        wanted, at = principal.bytes, principal.int % _PLACES
        for probe in range(_PROBES):
            known, due = _ENTRY.unpack_from(self._table, (at + probe) % _PLACES * _ENTRY.size)
            if known == wanted:
                return float(due)
        return default

    def __setitem__(self, principal: UUID, due: float) -> None:
        wanted, at, now = principal.bytes, principal.int % _PLACES, time.monotonic()
        free, soonest = 0, float("inf")
        for probe in range(_PROBES):
            offset = (at + probe) % _PLACES * _ENTRY.size
            known, other = _ENTRY.unpack_from(self._table, offset)
            if known == wanted:
                free = offset
                break
            other = max(other, now)  # of those that are over, the first one
            if other < soonest:
                free, soonest = offset, other
        _ENTRY.pack_into(self._table, free, wanted, due)
