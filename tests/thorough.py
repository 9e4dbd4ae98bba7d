"""Selects the rows of a long test matrix: all in `make faults`, a sample with each kind once in `make test`."""

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

THOROUGH = bool(os.environ.get("GATEPOST_TESTS_THOROUGH"))


def choose(everything: T, sample: T) -> T:
    """Return the sample, or everything in a thorough run."""
    return everything if THOROUGH else sample


def every_other(rows: Sequence[T], width: int) -> list[T]:
    """Return one of each `width` rows, in rotation, so that each column occurs. In a thorough run, return all rows."""
    if THOROUGH:
        return list(rows)
    return [row for number, row in enumerate(rows) if number % width == number // width % width]
