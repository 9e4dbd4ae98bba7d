"""The circuit breaker of an endpoint: a pure decision; time, random number and counts are parameters.

             ≥ 10 attempts in five minutes, ≥ 70 % failed, the last ten in a row, and no success for 30 s
    active ───────────────────────────────────────────────────────────────────► paused: one probe at a time,
       ▲                                                                          │     after 30 s, 1 min, 2, 4, 5, 5, …
       └──────────────────────── a probe succeeds ◄──────────────────────────────┤
                                                                                  │
    disabled ◄── 410, or five days of nothing but failure (from either state) ────┘

Only users enable a `disabled` endpoint again. An active endpoint that has failed ten times in a row gets one attempt a
second until it is paused or one succeeds, so that its backlog does not fail before the outage is certain.
"""

from collections import deque
from datetime import datetime, timedelta

import msgspec

from gatepost.model.endpoint import ACTIVE, DISABLED, PAUSED, HealthCounters
from gatepost.model.event.endpoints import EndpointDisabled, EndpointFailing, EndpointPaused, EndpointResumed
from gatepost.store.endpoints import EndpointNotice

WINDOW = timedelta(minutes=5)
LEAST_ATTEMPTS = 10
FAILED_SHARE = 0.7
# A receiver that restarts is down for some seconds, in which many deliveries fail: that is no outage yet.
LEAST_OUTAGE = timedelta(seconds=30)
THROTTLE_DELAY = timedelta(seconds=1)
# Failures over at least this time may have scheduled retries minutes and hours ahead: a success makes them due.
RECOVERS_AFTER = timedelta(seconds=5)
RECOVERS_FROM = 2
PROBE_WAITS = (30.0, 60.0, 120.0, 240.0, 300.0)
JITTER = 0.2
LONGEST_PROBE_WAIT = timedelta(seconds=PROBE_WAITS[-1] * (1 + JITTER))
GIVE_UP_AFTER = timedelta(days=5)
LEAST_FAILURES = 5
EARLY_FAILURES = 4
LATE_NOTICE_AFTER = timedelta(hours=24)
GONE_REASON = "The endpoint answered 410 Gone"
DEAD_REASON = "Nothing but failures for five days"
_SLOT = 10.0  # seconds that are counted together, so that memory does not grow with the traffic


class FailureWindow:
    """Counts the finished and the failed POSTs of the last five minutes."""

    def __init__(self) -> None:
        self._slots: deque[list[float]] = deque()

    def add(self, now: datetime, *, ok: bool, count: int = 1) -> None:
        slot = now.timestamp() // _SLOT
        if not self._slots or self._slots[-1][0] != slot:
            self._slots.append([slot, 0, 0])
        self._slots[-1][1] += count
        self._slots[-1][2] += 0 if ok else count

    def count(self, now: datetime) -> tuple[int, int]:
        """Return the numbers of finished and of failed POSTs."""
        oldest = (now - WINDOW).timestamp() // _SLOT
        while self._slots and self._slots[0][0] < oldest:
            self._slots.popleft()
        return int(sum(slot[1] for slot in self._slots)), int(sum(slot[2] for slot in self._slots))

    def clear(self) -> None:
        self._slots.clear()


class ObservedPost(msgspec.Struct, frozen=True):
    """One finished POST, and the counts of the last five minutes including it."""

    ok: bool
    finished: int
    failed: int
    gone: bool = False
    probe: bool = False
    muted: bool = False  # emit no `endpoint_failing`: the last one was recent, or only system notifications were sent


class BreakerDecision(msgspec.Struct, frozen=True):
    """The new state and health, and the notices to emit."""

    state: str
    health: HealthCounters
    notices: tuple[EndpointNotice, ...] = ()


def decide(state: str, health: HealthCounters, post: ObservedPost, now: datetime, random: float) -> BreakerDecision:
    """Return what follows from a POST; `random` is uniform in [0, 1)."""
    if post.ok:
        return _succeeded(state, health, post, now)
    replace, since = msgspec.structs.replace, health.failing_since or now
    health = replace(health, failing_since=since, failures=health.failures + 1)
    if post.gone:
        return _disabled(health, GONE_REASON)
    if now - since >= GIVE_UP_AFTER and health.failures >= LEAST_FAILURES:
        return _disabled(health, DEAD_REASON)
    health, notices = _noticed(health, now) if not post.muted else (health, ())
    if state == ACTIVE and should_open(post, health.failures, now - since):
        health = replace(health, probes=0, probe_at=now + probe_delay(0, random))
        reason = f"{post.failed} of the last {post.finished} attempts failed"
        return BreakerDecision(PAUSED, health, (*notices, EndpointNotice(EndpointPaused, reason)))
    if state == PAUSED and post.probe:
        probes = health.probes + 1
        health = replace(health, probes=probes, probe_at=now + probe_delay(probes, random))
    return BreakerDecision(state, health, notices)


def should_open(post: ObservedPost, failures: int, outage: timedelta) -> bool:
    """Return whether a failed POST opens the breaker, after `failures` in a row over the time of `outage`."""
    many = post.finished >= LEAST_ATTEMPTS and post.failed >= FAILED_SHARE * post.finished
    return many and failures >= LEAST_ATTEMPTS and outage >= LEAST_OUTAGE


def is_throttled(state: str, health: HealthCounters) -> bool:
    """Return whether an active endpoint gets only one attempt a second, because it may be down."""
    return state == ACTIVE and health.failures >= LEAST_ATTEMPTS


def ends_outage(state: str, health: HealthCounters, now: datetime, *, probe: bool) -> bool:
    """Return whether a success ends an outage, so that the deliveries that failed in it are retried at once."""
    if state == PAUSED:
        return probe
    since = health.failing_since
    long = since is not None and abs(now - since) >= RECOVERS_AFTER  # the clock may have been set back
    return long and health.failures >= RECOVERS_FROM


def probe_delay(probes: int, random: float) -> timedelta:
    """Return the delay of the next probe after `probes` failed ones."""
    seconds = PROBE_WAITS[min(probes, len(PROBE_WAITS) - 1)]
    return timedelta(seconds=seconds * (1 - JITTER + 2 * JITTER * random))


def _succeeded(state: str, health: HealthCounters, post: ObservedPost, now: datetime) -> BreakerDecision:
    if state == PAUSED and post.probe:
        return BreakerDecision(
            ACTIVE,
            HealthCounters(succeeded_at=now),
            (EndpointNotice(EndpointResumed, "The endpoint accepted a delivery again"),),
        )
    # A POST that was in flight when the breaker opened does not close it: a flaky endpoint would keep switching.
    return BreakerDecision(state, HealthCounters(None, 0, 0, now, health.probes, health.probe_at))


def _disabled(health: HealthCounters, reason: str) -> BreakerDecision:
    health = msgspec.structs.replace(health, probes=0, probe_at=None)
    return BreakerDecision(DISABLED, health, (EndpointNotice(EndpointDisabled, reason),))


def _noticed(health: HealthCounters, now: datetime) -> tuple[HealthCounters, tuple[EndpointNotice, ...]]:
    """Return the `endpoint_failing` notices: after four failures in a row, and again after a day."""
    late = health.failing_since is not None and now - health.failing_since >= LATE_NOTICE_AFTER
    if late and health.notices < 2:
        return msgspec.structs.replace(health, notices=2), (
            EndpointNotice(EndpointFailing, "Nothing but failures for 24 hours"),
        )
    if health.failures >= EARLY_FAILURES and health.notices < 1:
        reason = f"{health.failures} attempts in a row failed"
        return msgspec.structs.replace(health, notices=1), (EndpointNotice(EndpointFailing, reason),)
    return health, ()
