"""Pace: never faster than allowed in any window, and never slower than needed."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.outbound import pace

NOW = datetime(2026, 11, 15, 10, 0, tzinfo=UTC)
TINY = 1e-6
pauses = st.lists(st.floats(0, 30), max_size=150)


def let_through(moments: list[float], interval: float, burst: int) -> list[float]:
    """Which of these moments `evenly` would use."""
    due, used = 0.0, []
    for now in moments:
        wait, after = pace.space_evenly(due, now, interval, burst)
        if wait == 0:
            used.append(now)
        else:
            assert after == due
            assert pace.space_evenly(due, now + wait + TINY, interval, burst)[0] == 0.0
        due = after
    return used


def moments_of(pauses: list[float]) -> list[float]:
    now, moments = 1000.0, []
    for pause in pauses:
        now += pause
        moments.append(now)
    return moments


@given(pauses, st.floats(0.001, 10), st.integers(1, 50))
def test_no_window_holds_more_than_rate_and_burst(pauses: list[float], interval: float, burst: int) -> None:
    used = let_through(moments_of(pauses), interval, burst)
    for i, start in enumerate(used):
        for j in range(i, len(used)):
            assert j - i + 1 <= burst + (used[j] - start) / interval + TINY


@given(st.floats(0.001, 10), st.integers(1, 50))
def test_after_a_pause_the_whole_burst_may_go_and_then_one_per_interval(interval: float, burst: int) -> None:
    due = 0.0
    for step in range(burst):
        wait, due = pace.space_evenly(due, 1e6 + step * TINY, interval, burst)
        assert wait == 0.0
    wait, _ = pace.space_evenly(due, 1e6, interval, burst)
    assert wait == pytest.approx(interval, abs=100 * TINY)


def lent(moments: list[float], interval: float, burst: int) -> list[float]:
    """Which of these moments `lend` would use."""
    started, due, used = 0.0, 0.0, []
    for now in moments:
        wait, after_started, after_due = pace.space_with_burst(started, due, now, interval, burst)
        if wait:
            assert (after_started, after_due) == (started, due)
            assert pace.space_with_burst(started, due, now + wait + TINY, interval, burst)[0] == 0.0
        else:
            used.append(now)
        started, due = after_started, after_due
    return used


def test_a_pair_may_borrow_forty_five_and_pays_back_six_seconds_for_each() -> None:
    every_second = [1000.0 + second for second in range(1000)]
    assert lent([1000.0] * 60 + every_second, 6, 45)[:46] == [1000.0] * 45 + [1270.0]
    assert lent(every_second, 6, 45)[:8] == [1000, 1001, 1002, 1003, 1004, 1005, 1036, 1037]


def test_who_keeps_to_one_in_six_seconds_never_waits() -> None:
    evenly = [1000.0 + 6 * i for i in range(100)]
    assert lent(evenly, 6, 45) == evenly


@given(pauses, st.floats(0.01, 10), st.integers(1, 50))
def test_a_loan_never_exceeds_its_burst_and_is_paid_back(pauses: list[float], interval: float, burst: int) -> None:
    used = lent(moments_of(pauses), interval, burst)
    for i, start in enumerate(used):
        assert sum(start <= at < start + interval - TINY for at in used[i:]) <= 2 * burst
        for j in range(i, len(used)):
            assert j - i + 1 <= burst + (used[j] - start) / interval + 1 + TINY


def test_without_an_interval_nobody_waits() -> None:
    assert pace.space_evenly(5.0, 5.0, 0.0, 10_000) == (0.0, 5.0)


# -- the tier ---------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 20 * 3600), max_size=80), st.integers(1, 6))
def test_no_rolling_day_holds_more_opened_conversations_than_the_tier(steps: list[int], limit: int) -> None:
    now, opened = NOW, list[datetime]()
    for step in steps:
        now += timedelta(seconds=step)
        wait = pace.tier_wait(opened, limit, now)
        recent = [at for at in opened if now - at < pace.DAY]
        assert (wait == timedelta(0)) == (len(recent) < limit), "neither too strict nor too lax"
        if wait:
            assert pace.tier_wait(opened, limit, now + wait) == timedelta(0)
            assert pace.tier_wait(opened, limit, now + wait - timedelta(microseconds=1))
        else:
            opened.append(now)
    for at in opened:
        assert sum(at - pace.DAY < other <= at for other in opened) <= limit


def test_a_tier_of_zero_is_no_limit() -> None:
    assert pace.tier_wait([NOW] * 100_000, 0, NOW) == timedelta(0)


def test_a_tier_that_was_lowered_waits_until_enough_have_aged() -> None:
    opened = [NOW - timedelta(hours=hour) for hour in (23, 22, 21, 20)]
    assert pace.tier_wait(opened, 2, NOW) == timedelta(hours=3)


def test_a_conversation_is_open_for_less_than_a_day() -> None:
    just_open, just_closed = NOW - pace.DAY + timedelta(microseconds=1), NOW - pace.DAY
    assert pace.opens_conversation(None, None, NOW)
    assert pace.opens_conversation(just_closed, just_closed, NOW)
    assert not pace.opens_conversation(just_open, None, NOW)
    assert not pace.opens_conversation(None, just_open, NOW)


# -- holds ------------------------------------------------------------------------------------------------------------


def test_a_recipient_is_held_four_to_the_power_of_its_refusals() -> None:
    assert [pace.recipient_backoff(n) for n in range(7)] == [1, 4, 16, 64, 256, 900, 900]


def test_a_channel_is_held_a_second_doubling_to_a_minute() -> None:
    assert [pace.channel_backoff(n) for n in range(9)] == [1, 2, 4, 8, 16, 32, 60, 60, 60]


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True))
def test_a_retry_doubles_within_a_fifth_and_a_bound(attempt: int, random: float) -> None:
    even = min(2.0 * 2.0 ** min(attempt - 1, 30), 300)
    assert even * 0.8 <= pace.retry_delay(attempt, 2, 300, random) <= even * 1.2
