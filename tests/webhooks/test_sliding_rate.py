"""The rate of an endpoint: in no second, wherever it begins, are there more POSTs than it allows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.clock import SystemClock
from gatepost.webhooks import endpoint_deliverer
from gatepost.webhooks.concurrency import SlidingRate
from gatepost.webhooks.delivery_context import DeliveryContext
from tests.patience import patience
from tests.webhooks.stage import Stage


@given(st.integers(1, 8), st.lists(st.floats(0, 0.7), min_size=1, max_size=60))
def test_no_sliding_second_has_more(most: int, gaps: list[float]) -> None:
    rate, now, begun = SlidingRate(most), 100.0, []
    for gap in gaps:
        now = max(now + gap, rate.free_at())
        rate.begin(now)
        begun.append(now)
    for i, first in enumerate(begun):
        assert sum(1 for at in begun[i:] if at - first < 1.0 - 1e-9) <= most


def test_no_limit_never_waits() -> None:
    rate = SlidingRate(None)
    for _ in range(100):
        assert rate.free_at() <= 5.0
        rate.begin(5.0)


def test_a_limit_that_is_changed_counts_what_was_begun() -> None:
    rate = SlidingRate(3)
    for now in (1.0, 1.1, 1.2):
        rate.begin(now)
    rate.change(2)
    assert rate.free_at() == 2.1
    rate.change(4)
    assert rate.free_at() == 0.0


async def test_with_a_moved_clock(stage: Stage) -> None:
    await stage.add(rate=5)
    await stage.take_over()
    await stage.emit(23)
    counts = []
    for _ in range(6):
        await stage.settle()
        counts.append(len(stage.received()))
        await stage.drive(1.0)
    assert counts == [5, 10, 15, 20, 23, 23]


async def test_at_the_receiver(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the real clock. The start of each POST is recorded; how long it takes depends on the machine."""
    begun: list[float] = []

    class Noting(SlidingRate):
        def begin(self, now: float) -> None:
            begun.append(now)
            super().begin(now)

    monkeypatch.setattr(endpoint_deliverer, "SlidingRate", Noting)
    await stage.add(rate=10)
    clock = SystemClock()
    context = DeliveryContext(stage.db, clock, stage.poster, 0.0)
    await stage.take_over(context=context)
    await stage.emit(25)
    async with patience(lambda: f"{len(stage.received())} of 25 have come"):
        while len(stage.received()) < 25:
            await stage.settle()
    assert len(begun) == len(stage.received()) == 25
    for i, first in enumerate(begun):
        assert sum(1 for at in begun[i:] if at - first < 1.0 - 1e-9) <= 10
