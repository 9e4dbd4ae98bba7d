"""What is tried again, when, and for how long: the steps alone, without a connection."""

from typing import Any

import msgspec
import pytest

from gatepost_client.errors import GatepostError, NoAnswer, QuotaExceeded, RateLimited, Unavailable
from gatepost_client.retry import NEVER, PATIENT, Retry, back_off, send_with_retries
from gatepost_client.wire import Answer, Lost, Outcome, Request, Wait
from tests.for_each import for_each

GET = Request("GET", "/x", repeatable=True)
POST = Request("POST", "/x")
DONE = Answer(200, {}, b"{}")
GONE = Lost("gone", sent=True)
UNSENT = Lost("refused", sent=False)


def refusal(status: int, code: str, *, retryable: bool = True, after: int | str | None = None) -> Answer:
    body = {"success": False, "message": "No", "error": {"code": code, "retryable": retryable}}
    return Answer(status, {} if after is None else {"retry-after": str(after)}, msgspec.json.encode(body))


def run(request: Request, outcomes: list[Outcome], retry: Retry = PATIENT) -> tuple[int, list[float], Any]:
    """Tries, waits, and the result or the error, where only waits take time."""
    waits: list[float] = []
    steps = send_with_retries(request, retry, lambda: sum(waits), lambda: 1.0)
    tries, outcome = 0, None
    try:
        while True:
            step = steps.send(outcome)
            if isinstance(step, Wait):
                waits.append(step.seconds)
                outcome = None
            else:
                outcome = outcomes[tries]
                tries += 1
    except StopIteration as end:
        return tries, waits, end.value
    except GatepostError as error:
        return tries, waits, error


def test_a_success_is_one_try() -> None:
    assert run(GET, [DONE]) == (1, [], DONE)


def test_the_gateway_says_how_long_to_wait() -> None:
    tries, waits, result = run(GET, [refusal(429, "rate_limited", after=3), refusal(503, "overloaded", after=1), DONE])
    assert (tries, waits, result) == (3, [3, 1], DONE)


def test_waits_grow_where_nothing_is_said() -> None:
    retry = Retry(first_wait=0.25, longest_wait=1.0)
    tries, waits, result = run(GET, [GONE] * 4 + [DONE], retry)
    assert (tries, waits, result) == (5, [0.25, 0.5, 1.0, 1.0], DONE)


def test_a_wait_is_between_half_and_all() -> None:
    retry = Retry(first_wait=2.0)
    assert [back_off(retry, 1, jitter) for jitter in (0.0, 0.5, 1.0)] == [1.0, 1.5, 2.0]


@pytest.mark.parametrize("attempts", [1, 2, 5])
def test_attempts_are_counted(attempts: int) -> None:
    retry = Retry(attempts=attempts)
    assert run(GET, [GONE] * (attempts - 1) + [DONE], retry)[2] == DONE
    tries, waits, error = run(GET, [GONE] * attempts, retry)
    assert (tries, len(waits)) == (attempts, attempts - 1)
    assert isinstance(error, NoAnswer)
    assert error.sent


def test_there_is_at_least_one_attempt() -> None:
    assert run(GET, [UNSENT], NEVER)[0] == 1
    with pytest.raises(ValueError, match="at least one"):
        Retry(attempts=0)


@pytest.mark.parametrize(("after", "tries"), [(59, 2), (60, 2), (61, 1)])
def test_time_is_bounded(after: int, tries: int) -> None:
    found = run(GET, [refusal(503, "overloaded", after=after), DONE], Retry(seconds=60))
    assert found[0] == tries
    assert isinstance(found[2], Answer if tries == 2 else Unavailable)


def test_time_is_bounded_over_all_waits() -> None:
    busy = refusal(429, "rate_limited", after=25)
    tries, waits, error = run(GET, [busy] * 5, Retry(seconds=60))
    assert (tries, waits) == (3, [25, 25])
    assert isinstance(error, RateLimited)
    assert error.retry_after == 25


def test_a_used_up_plan_is_an_error_at_once() -> None:
    tries, _, error = run(POST, [refusal(429, "plan_quota_exceeded", after=86_400)])
    assert tries == 1
    assert isinstance(error, QuotaExceeded)


@for_each(
    ("request_", "outcome", "again"),
    [
        (GET, GONE, True),
        (POST, GONE, False),
        (POST, UNSENT, True),
        (GET, refusal(409, "idempotency_in_progress"), True),
        (GET, refusal(409, "wrong_state", retryable=False), False),
        (GET, refusal(500, "internal_error", retryable=False), False),
        (GET, refusal(503, "network_unavailable"), True),
        (POST, refusal(429, "rate_limited"), True),
        (POST, refusal(503, "network_unavailable"), False),  # the network may have taken it
        (POST, refusal(503, "overloaded"), False),  # it may have been done when the gateway stopped
        (POST, refusal(503, "database_unavailable"), False),
        (GET, Answer(502, {}, b"<html>"), True),
        (POST, Answer(504, {}, b"<html>"), False),
        (GET, Answer(503, {}, b"<html>"), True),
        (POST, Answer(503, {}, b"<html>"), False),  # the proxy may have passed it on
        (GET, Answer(301, {}, b""), False),
    ],
)
def test_what_is_tried_again(request_: Request, outcome: Outcome, again: bool) -> None:
    assert run(request_, [outcome, DONE])[0] == (2 if again else 1)


def test_a_date_to_wait_for_is_passed_over() -> None:
    _, waits, _ = run(GET, [refusal(503, "overloaded", after="Fri, 31 Dec 1999 23:59:59 GMT"), DONE])
    assert waits == [0.25]
