"""The monthly quota: the size of a slice, and the next step if a channel's slice is too small.

A channel takes a slice of the account's monthly quota and counts it down locally. The less of the quota is left, the
smaller the slices; near its end nothing is granted in advance, and each batch is counted separately.
"""

from enum import Enum

import msgspec

SLICE_MAX = 1000  # the largest number of messages granted in advance
SLICE_SHARE = 64  # a slice is the unused quota divided by this
NO_LIMIT = 2**62


class MonthUsage(msgspec.Struct, frozen=True):
    """The usage of an account in a month: messages granted, slices taken, and slices taken before the last reclaim."""

    used: int = 0
    slices: int = 0
    reclaimed: int = 0

    @property
    def rests(self) -> bool:
        """Whether a channel may hold an unused part of a slice."""
        return self.slices > self.reclaimed


class QuotaStep(Enum):
    """The next step of a batch that lacks quota."""

    RETURN = "give back a rest of another month or limit"
    TAKE_SLICE = "take a slice"
    COUNT = "count this batch alone"
    RECLAIM = "take back what other channels hold"
    REFUSE = "refuse what does not fit"


def next_step(usage: MonthUsage, limit: int, wanted: int) -> QuotaStep:
    """Return how a batch gets `wanted` more messages than its channel holds."""
    room = limit - usage.used
    if room >= wanted + SLICE_SHARE:
        return QuotaStep.TAKE_SLICE
    if room >= wanted:
        return QuotaStep.COUNT
    if usage.rests:
        return QuotaStep.RECLAIM
    return QuotaStep.COUNT if room > 0 else QuotaStep.REFUSE
