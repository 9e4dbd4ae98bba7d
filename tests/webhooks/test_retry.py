"""The retry schedule as a pure function: every status, every hint, every random number."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.webhooks.retry import (
    ATTEMPTS,
    SCHEDULE,
    AttemptOutcome,
    Failure,
    RetryDecision,
    decide_retry,
    parse_retry_after,
)
from tests.for_each import for_each

NOW = datetime(2026, 11, 15, 10, 0, tzinfo=UTC)
BROKEN = AttemptOutcome(status=500)

attempts = st.integers(1, ATTEMPTS - 1)
uniform = st.floats(0, 1, exclude_max=True)
hints = st.one_of(
    st.text(max_size=40),
    st.integers().map(str),
    st.floats().map(str),
    st.datetimes(timezones=st.just(UTC)).map(lambda moment: format_datetime(moment, usegmt=True)),
    st.sampled_from(
        ["5", "1e9", "-1", "soon", "", "nan", "inf", "9" * 400, "Thu, 99 Foo 2026", "Mon, 1 Jan 0 0:0:0 -9999"]
    ),
)
statuses = st.integers(100, 999).filter(lambda status: not 200 <= status < 300 and status != 410)
outcomes = st.builds(AttemptOutcome, status=statuses, retry_after=st.none() | hints) | st.builds(
    AttemptOutcome, failure=st.sampled_from([kind for kind in get_args(Failure) if kind != "forbidden"])
)


def seconds(attempt: int, outcome: AttemptOutcome, random: float) -> float:
    decision = decide_retry(attempt, outcome, NOW, random)
    assert decision.fate == "retry"
    assert decision.at is not None
    return (decision.at - NOW).total_seconds()


def test_the_schedule_is_the_documented_one_and_ends_at_72_hours() -> None:
    waits = [seconds(attempt, BROKEN, 0.5) for attempt in range(1, ATTEMPTS)]
    hour = 3600
    assert waits == pytest.approx([5, 300, 1800, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 20 * hour + 1500])
    assert sum(waits) == pytest.approx(72 * hour, abs=10)


@given(draws=st.lists(uniform, min_size=ATTEMPTS - 1, max_size=ATTEMPTS - 1))
def test_the_last_attempt_comes_after_72_hours_give_or_take_a_fifth(draws: list[float]) -> None:
    total = sum(seconds(attempt, BROKEN, draw) for attempt, draw in enumerate(draws, start=1))
    assert 72 * 3600 * 0.8 <= total <= 72 * 3600 * 1.2 + 10


@given(attempt=attempts, random=uniform)
def test_jitter_stays_within_a_fifth(attempt: int, random: float) -> None:
    base = SCHEDULE[attempt]
    assert base * 0.8 - 0.001 <= seconds(attempt, BROKEN, random) <= base * 1.2 + 0.001


@given(attempt=attempts, outcome=outcomes, low=uniform, high=uniform)
def test_a_higher_draw_never_waits_less(attempt: int, outcome: AttemptOutcome, low: float, high: float) -> None:
    low, high = sorted((low, high))
    assert seconds(attempt, outcome, low) <= seconds(attempt, outcome, high)


@given(attempt=st.integers(1, ATTEMPTS - 2), outcome=outcomes, random=uniform)
def test_waits_only_grow(attempt: int, outcome: AttemptOutcome, random: float) -> None:
    assert seconds(attempt, outcome, random) <= seconds(attempt + 1, outcome, random)


@given(attempt=attempts, hint=hints, random=uniform, status=st.sampled_from([301, 400, 500]))
def test_any_retry_after_is_bounded(attempt: int, hint: str, random: float, status: int) -> None:
    base = SCHEDULE[attempt]
    waited = seconds(attempt, AttemptOutcome(status=status, retry_after=hint), random)
    assert base - 0.001 <= waited <= max(2 * base, 3600) + 0.001


@for_each(
    ("hint", "expected"),
    [
        ("600", 600),
        ("1e9", 3600),
        ("99999999999", 3600),
        ("-1", 300),
        ("garbage", 300),
        ("5", 300),
        ("Sun, 15 Nov 2026 10:20:00 GMT", 1200),
        ("Sun, 15 Nov 2026 10:20:00 -0000", 1200),
        ("Sun, 15 Nov 2026 09:00:00 GMT", 300),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 3600),
    ],
)
def test_retry_after_in_seconds_and_as_a_date(hint: str, expected: float) -> None:
    assert seconds(2, AttemptOutcome(status=500, retry_after=hint), 0.0) == pytest.approx(expected)


@given(ask=st.floats(300, 3600), random=uniform)
def test_a_sensible_retry_after_is_never_undercut(ask: float, random: float) -> None:
    assert ask - 0.001 <= seconds(2, AttemptOutcome(status=429, retry_after=str(ask)), random) <= ask * 1.2 + 0.001


@given(hint=hints)
def test_reading_a_retry_after_never_fails(hint: str) -> None:
    assert parse_retry_after(hint, NOW) >= 0


@for_each("outcome", [*(AttemptOutcome(status=s) for s in (429, 502, 503, 504)), AttemptOutcome(failure="timeout")])
@for_each("random", [0.0, 0.5, 0.999])
def test_an_overloaded_endpoint_is_given_a_minute(outcome: AttemptOutcome, random: float) -> None:
    assert 60 <= seconds(1, outcome, random) <= 72
    assert seconds(1, AttemptOutcome(status=429, retry_after="5"), random) >= 60


@given(attempt=st.integers(1, ATTEMPTS + 5), status=st.integers(100, 999), random=uniform)
def test_every_status_has_its_fate(attempt: int, status: int, random: float) -> None:
    decision = decide_retry(attempt, AttemptOutcome(status=status), NOW, random)
    if 200 <= status < 300:
        assert decision == RetryDecision("delivered")
    elif status == 410:
        assert decision == RetryDecision("gone")
    else:
        assert decision.fate == ("retry" if attempt < ATTEMPTS else "exhausted")
    assert (decision.at is not None) == (decision.fate == "retry")
    assert decision.at is None or decision.at > NOW + timedelta(seconds=3)


def test_a_failure_outweighs_a_status_that_was_seen_before_it() -> None:
    assert decide_retry(1, AttemptOutcome(status=200, failure="timeout"), NOW, 0.5).fate == "retry"
    assert decide_retry(1, AttemptOutcome(status=410, failure="protocol"), NOW, 0.5).fate == "retry"


def test_a_forbidden_address_is_not_tried_again_but_an_unresolved_name_is() -> None:
    assert decide_retry(1, AttemptOutcome(failure="forbidden"), NOW, 0.5) == RetryDecision("exhausted")
    assert decide_retry(1, AttemptOutcome(failure="unresolved"), NOW, 0.5).fate == "retry"
    assert decide_retry(ATTEMPTS, AttemptOutcome(failure="unresolved"), NOW, 0.5) == RetryDecision("exhausted")
