"""What follows from each answer of the network."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.model.message import State
from gatepost.networks.base import (
    ErrorReaction,
    NetworkError,
    Receipt,
    SendAccepted,
    SendNotMade,
    SendRefused,
    SendUnknown,
)
from gatepost.outbound.send_decision import AwaitStatus, BackoffScope, FinalResult, RetrySend, SendRules, decide

RULES = SendRules(in_flight=10, read_ahead=100, unknown_grace=30, retry_base=2, retry_most=300, attempts=10)
ERROR = NetworkError(131000, "Something went wrong", "Details")
SHOWN = {"code": 131000, "title": "Something went wrong", "details": "Details"}


def judged(
    receipt: Receipt, attempt: int = 1, refusals: int = 0, random: float = 0.5
) -> FinalResult | RetrySend | AwaitStatus:
    return decide(receipt, attempt, refusals, RULES, random)


def test_sent_is_the_end() -> None:
    assert judged(SendAccepted("wamid.1")) == FinalResult(State.SENT, "wamid.1")


def test_a_lost_answer_waits_for_a_status() -> None:
    assert judged(SendUnknown("gone")) == AwaitStatus(30, "gone")


def test_what_never_left_goes_again_and_the_channel_holds() -> None:
    for attempt in (1, 10, 1000):
        verdict = judged(SendNotMade("no route"), attempt)
        assert verdict == RetrySend(
            0.0, {"code": "unreachable", "title": "no route", "details": None}, BackoffScope.CHANNEL
        )


def test_a_final_refusal_is_the_end_with_the_networks_own_words() -> None:
    assert judged(SendRefused(ERROR, ErrorReaction.FINAL)) == FinalResult(State.FAILED, error=SHOWN)


@pytest.mark.parametrize(("attempt", "wait"), [(1, 2), (2, 4), (3, 8), (8, 256), (9, 300)])
def test_a_temporary_refusal_is_tried_again_after_a_while(attempt: int, wait: float) -> None:
    assert judged(SendRefused(ERROR, ErrorReaction.RETRY), attempt) == RetrySend(wait, SHOWN)


@pytest.mark.parametrize("attempt", [10, 11])
def test_the_last_attempt_is_the_last(attempt: int) -> None:
    assert judged(SendRefused(ERROR, ErrorReaction.RETRY), attempt) == FinalResult(State.FAILED, error=SHOWN)


@pytest.mark.parametrize(("refusals", "wait"), [(0, 1), (1, 4), (2, 16), (3, 64)])
def test_a_recipient_written_to_too_often_waits_alone(refusals: int, wait: float) -> None:
    for attempt in (1, 50):
        assert judged(SendRefused(ERROR, ErrorReaction.HOLD_RECIPIENT), attempt, refusals) == RetrySend(wait, SHOWN)


def test_a_number_that_is_too_fast_holds_as_a_whole() -> None:
    assert judged(SendRefused(ERROR, ErrorReaction.HOLD_CHANNEL), 50) == RetrySend(0.0, SHOWN, BackoffScope.CHANNEL)


def test_a_hold_lasts_as_long_as_the_table_says_that_trying_is_in_vain() -> None:
    assert judged(SendRefused(ERROR, ErrorReaction.HOLD_CHANNEL, wait=60)) == RetrySend(
        0.0, SHOWN, BackoffScope.CHANNEL, 60
    )


@given(st.sampled_from(ErrorReaction), st.integers(1, 100), st.integers(0, 100), st.floats(0, 1, exclude_max=True))
def test_every_refusal_has_a_verdict_that_keeps_the_reason(
    reaction: ErrorReaction, attempt: int, refusals: int, random: float
) -> None:
    verdict = decide(SendRefused(ERROR, reaction), attempt, refusals, RULES, random)
    assert not isinstance(verdict, AwaitStatus)
    assert verdict.error == SHOWN
