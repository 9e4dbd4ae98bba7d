"""When a delivery is retried: a pure decision; time and random number are parameters.

attempt   1    2      3      4     5    6    7     8     9     10
wait      0   5 s   5 min  30 min  2 h  5 h  10 h  14 h  20 h  20 h 25 min      72 h in all, each ±20 %

2xx ─► delivered      410 ─► gone (disable the endpoint)      forbidden address ─► exhausted at once
anything else ─► retry, until the tenth attempt has failed ─► exhausted
"""

import math
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Literal

import msgspec

MINUTE, HOUR = 60.0, 3600.0
# The delay before each attempt, in seconds.
SCHEDULE = (0.0, 5.0, *(minutes * MINUTE for minutes in (5, 30, 120, 300, 600, 840, 1200, 1225)))
ATTEMPTS = len(SCHEDULE)
JITTER = 0.2
OVERLOADED = frozenset({429, 502, 503, 504})
OVERLOAD_WAIT = MINUTE
LONGEST_HINT = HOUR
GONE = 410

Failure = Literal["forbidden", "unresolved", "connect", "tls", "timeout", "protocol"]
Fate = Literal["delivered", "retry", "exhausted", "gone"]


class AttemptOutcome(msgspec.Struct, frozen=True):
    """The outcome of an attempt: a status with its `Retry-After`, or a failure without a complete response."""

    status: int | None = None
    failure: Failure | None = None
    retry_after: str | None = None


class RetryDecision(msgspec.Struct, frozen=True):
    """What follows from an attempt; `at` is set if and only if the fate is `retry`."""

    fate: Fate
    at: datetime | None = None


DELIVERED = RetryDecision("delivered")


def is_delivered(status: int | None, failure: Failure | None) -> bool:
    """Return whether an attempt succeeded."""
    return failure is None and status is not None and 200 <= status < 300


def decide_retry(attempt: int, outcome: AttemptOutcome, now: datetime, random: float) -> RetryDecision:
    """Return what follows from attempt number `attempt` (from 1); `random` is uniform in [0, 1)."""
    if is_delivered(outcome.status, outcome.failure):
        return DELIVERED
    if outcome.failure is None and outcome.status == GONE:
        return RetryDecision("gone")
    # A forbidden address stays forbidden; the events are kept and can be recovered once the URL is fixed.
    if attempt >= ATTEMPTS or outcome.failure == "forbidden":
        return RetryDecision("exhausted")
    return RetryDecision("retry", now + timedelta(seconds=retry_delay(attempt, outcome, now, random)))


def retry_delay(attempt: int, outcome: AttemptOutcome, now: datetime, random: float) -> float:
    """Return the seconds to wait after a failed attempt."""
    base = SCHEDULE[attempt]
    if outcome.retry_after is None:
        seconds = base * (1 - JITTER + 2 * JITTER * random)
    else:
        longest = max(2 * base, LONGEST_HINT)
        hint = min(max(parse_retry_after(outcome.retry_after, now), base), longest)
        # The hint is a minimum, so the jitter only adds to it, and keeps many deliveries from starting at once.
        seconds = min(_lengthened(hint, random), longest)
    if outcome.failure == "timeout" or outcome.status in OVERLOADED:
        seconds = max(seconds, _lengthened(OVERLOAD_WAIT, random))
    return seconds


def parse_retry_after(retry_after: str, now: datetime) -> float:
    """Return the seconds of a `Retry-After`; 0 if it is invalid."""
    try:
        seconds = float(retry_after)
    except ValueError:
        seconds = _until(retry_after, now)
    return 0.0 if math.isnan(seconds) else max(seconds, 0.0)


def _until(date: str, now: datetime) -> float:
    try:
        moment = parsedate_to_datetime(date)
        # A date in zone "-0000" comes back without one; HTTP dates are always UTC.
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return (aware - now).total_seconds()
    except (ValueError, TypeError, OverflowError, IndexError):
        return 0.0


def _lengthened(seconds: float, random: float) -> float:
    return seconds * (1 + JITTER * random)
