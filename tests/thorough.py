"""Selects the rows of a long test matrix: all in `make test-all`, a sample in `make test`.

The sample of `rotated` and `is_due` changes with the day, so that all rows are tested within a few days. The end of a
run names the day; GATEPOST_TESTS_DAY repeats its sample.
"""

import os
import zlib
from collections.abc import Callable, Hashable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

T = TypeVar("T")

THOROUGH = bool(os.environ.get("GATEPOST_TESTS_THOROUGH"))
# The processes of a run inherit the day of the first one.
DAY = int(os.environ.setdefault("GATEPOST_TESTS_DAY", str(datetime.now(UTC).toordinal())))


def choose(everything: T, sample: T) -> T:
    """Return the sample, or everything in a thorough run."""
    return everything if THOROUGH else sample


def is_due(name: str, days: int) -> bool:
    """Return whether a check is in the sample of this day, as it is once within some days. In a thorough run, True."""
    return THOROUGH or (zlib.crc32(name.encode()) + DAY) % days == 0


def rotated(rows: Sequence[T], width: int, kind: Callable[[T], Hashable] | None = None) -> list[T]:
    """Return one of each `width` rows, the next one each day, and the first of each kind. In a thorough run, all."""
    if THOROUGH:
        return list(rows)
    firsts = {kind(row): number for number, row in reversed(list(enumerate(rows)))} if kind else {}
    return [row for number, row in enumerate(rows) if number in firsts.values() or (number + DAY) % width == 0]
