"""Retries: what is sent again, when, and for how long.

        ┌──────────── Wait ◄── room left? ◄──┐
        ▼                                    │ no answer and repeatable, or nothing was sent
 Request ─► Answer │ Lost ───────────────────┤ 502, 503, 504 and repeatable
                │                            │ the gateway says: retryable (429, …)
                ▼                            └─ otherwise, or no room left ─► error
             success

A request that creates carries one idempotency key through all attempts, which makes it repeatable.
"""

import random
from collections.abc import Callable, Generator
from typing import Any, TypeVar

import msgspec

from gatepost_client.errors import GatepostApiError, GatepostError, NoAnswer, Unavailable, error_of
from gatepost_client.wire import Answer, Call, Lost, Outcome, Plan, Request, Step, Wait

T = TypeVar("T")
_PROXY_GAVE_UP = (502, 503, 504)
COME_BACK = 2.0  # seconds between the attempts of a follower during an outage, unless the gateway says otherwise


class Retry(msgspec.Struct, frozen=True):
    """Limits of retries: attempts in total, and seconds from the first attempt to the start of the last."""

    attempts: int = 5
    seconds: float = 60.0
    first_wait: float = 0.25
    longest_wait: float = 10.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError("there is at least one attempt")


PATIENT = Retry()
NEVER = Retry(attempts=1)


def send_with_retries(
    request: Request, retry: Retry, now: Callable[[], float], jitter: Callable[[], float] = random.random
) -> Generator[Step, Outcome, Answer]:
    """Yield the steps of a request until it has a response; raise the error of the last attempt."""
    started = now()
    attempt = 1
    while True:
        outcome = yield request
        assert outcome is not None
        if isinstance(outcome, Answer) and outcome.status < 300:
            return outcome
        error, again, asked = judge(request, outcome)
        wait = max(asked, back_off(retry, attempt, jitter()))
        if not again or attempt >= retry.attempts or now() - started + wait > retry.seconds:
            raise error
        yield Wait(wait)
        attempt += 1


def judge(request: Request, outcome: Answer | Lost) -> tuple[GatepostError, bool, float]:
    """Return the error of an attempt, whether to retry, and the seconds to wait that the gateway asks for."""
    if isinstance(outcome, Lost):
        return NoAnswer(outcome.reason, sent=outcome.sent), request.repeatable or not outcome.sent, 0.0
    error = error_of(outcome)
    again = error.retryable or (outcome.status in _PROXY_GAVE_UP and error.code == f"http_{outcome.status}")
    # What was answered with 5xx may have been carried out: by the network, or before the gateway lost its database.
    return error, again and (request.repeatable or outcome.status < 500), error.retry_after or 0.0


def back_off(retry: Retry, attempt: int, jitter: float) -> float:
    """Return the wait after a failed attempt: doubled each time, with jitter between half and all of it."""
    longest: float = min(retry.first_wait * 2 ** (attempt - 1), retry.longest_wait)
    return longest * (1 + jitter) / 2


def wait_out(error: GatepostError, least: float) -> float:
    """Return the seconds after which a follower comes back; raise the error if waiting does not solve it."""
    if isinstance(error, GatepostApiError) and not (error.retryable or isinstance(error, Unavailable)):
        raise error
    return max(least, getattr(error, "retry_after", None) or 0.0)


def run_persistently(call: Call[T], retry: Retry, now: Callable[[], float]) -> Generator[Step, Outcome, T]:
    """Yield the steps of a call that is repeated after an outage of any length; return its result."""
    while True:
        try:
            return (yield from run_steps(call, retry, now))
        except GatepostError as error:
            wait = wait_out(error, COME_BACK)
        yield Wait(wait)


def run_steps(plan: Call[T] | Plan[T], retry: Retry, now: Callable[[], float]) -> Generator[Step, Outcome, T]:
    """Yield the steps of a call, or of a plan of several calls; return its result."""
    if isinstance(plan, Call):
        answer = yield from send_with_retries(plan.request, retry, now)
        return plan.read(answer)
    result: Any = None
    while True:
        try:
            call = plan.send(result)
        except StopIteration as end:
            value: T = end.value
            return value
        answer = yield from send_with_retries(call.request, retry, now)
        result = call.read(answer)
