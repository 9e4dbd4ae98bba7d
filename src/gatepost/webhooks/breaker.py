"""The breaker of an endpoint: a pure decision, with the time, the dice and the count handed in.

             ≥ 10 attempts in five minutes, ≥ 70 % failed, the last ten in a row, and no success for 30 s
    active ───────────────────────────────────────────────────────────────────► paused: one probe at a time,
       ▲                                                                          │     after 30 s, 1 min, 2, 4, 5, 5, …
       └────────────────────────── a probe arrives ◄──────────────────────────────┤
                                                                                  │
    disabled ◄── 410, or five days of nothing but failure (from either state) ────┘

Only people get an endpoint out of `disabled`. An active endpoint that has failed ten times in a row is tried once a
second until it is paused or takes one, so that its backlog does not fail before the outage is certain.
"""

from collections import deque
from datetime import datetime, timedelta

import msgspec

from gatepost.model.endpoint import ACTIVE, DISABLED, PAUSED, HealthCounters
from gatepost.store.endpoint_state import EndpointNotice

WINDOW = timedelta(minutes=5)
LEAST_ATTEMPTS = 10
FAILED_SHARE = 0.7
# A receiver that restarts is away for some seconds, and many deliveries fail in each of them: that is no outage yet.
LEAST_OUTAGE = timedelta(seconds=30)
THROTTLE_DELAY = timedelta(seconds=1)
# Failures over at least this time may have sent deliveries into waits of minutes and hours: a success ends those waits.
RECOVERS_AFTER = timedelta(seconds=5)
RECOVERS_FROM = 2
PROBE_WAITS = (30.0, 60.0, 120.0, 240.0, 300.0)
JITTER = 0.2
GIVE_UP_AFTER = timedelta(days=5)
LEAST_FAILURES = 5
EARLY_FAILURES = 4
LATE_NOTICE_AFTER = timedelta(hours=24)
GONE_REASON = "The endpoint answered 410 Gone"
DEAD_REASON = "Nothing but failures for five days"
_SLOT = 10.0  # seconds that are counted together, so that the count stays small whatever the traffic


class FailureWindow:
    """How many POSTs of the last five minutes ended, and how many of them failed."""

    def __init__(self) -> None:
        self._slots: deque[list[float]] = deque()

    def add(self, now: datetime, *, ok: bool) -> None:
        slot = now.timestamp() // _SLOT
        if not self._slots or self._slots[-1][0] != slot:
            self._slots.append([slot, 0, 0])
        self._slots[-1][1] += 1
        self._slots[-1][2] += not ok

    def count(self, now: datetime) -> tuple[int, int]:
        """Finished and failed ones."""
        oldest = (now - WINDOW).timestamp() // _SLOT
        while self._slots and self._slots[0][0] < oldest:
            self._slots.popleft()
        return int(sum(slot[1] for slot in self._slots)), int(sum(slot[2] for slot in self._slots))

    def clear(self) -> None:
        self._slots.clear()


class ObservedPost(msgspec.Struct, frozen=True):
    """One POST that ended, and how many ended in the last five minutes, it included."""

    ok: bool
    finished: int
    failed: int
    gone: bool = False
    probe: bool = False
    hushed: bool = False  # no early notice: it carried such a notice itself, or the last one is not long ago


class BreakerDecision(msgspec.Struct, frozen=True):
    """How the endpoint stands now, and what is to be told of it."""

    state: str
    health: HealthCounters
    told: tuple[EndpointNotice, ...] = ()


def decide(state: str, health: HealthCounters, seen: ObservedPost, now: datetime, random: float) -> BreakerDecision:
    """Return what follows from a POST, with `random` drawn evenly from [0, 1)."""
    if seen.ok:
        return _succeeded(state, health, seen, now)
    replace, since = msgspec.structs.replace, health.failing_since or now
    health = replace(health, failing_since=since, failures=health.failures + 1)
    if seen.gone:
        return _disabled(health, GONE_REASON)
    if now - since >= GIVE_UP_AFTER and health.failures >= LEAST_FAILURES:
        return _disabled(health, DEAD_REASON)
    health, notices = _noticed(health, now) if not seen.hushed else (health, ())
    if state == ACTIVE and should_open(seen, health.failures, now - since):
        health = replace(health, probes=0, probe_at=now + probe_delay(0, random))
        reason = f"{seen.failed} of the last {seen.finished} attempts failed"
        return BreakerDecision(PAUSED, health, (*notices, EndpointNotice("paused", reason)))
    if state == PAUSED and seen.probe:
        probes = health.probes + 1
        health = replace(health, probes=probes, probe_at=now + probe_delay(probes, random))
    return BreakerDecision(state, health, notices)


def should_open(seen: ObservedPost, failures: int, outage: timedelta) -> bool:
    """Whether a failed POST opens the breaker, after so many failures in a row over so much time."""
    many = seen.finished >= LEAST_ATTEMPTS and seen.failed >= FAILED_SHARE * seen.finished
    return many and failures >= LEAST_ATTEMPTS and outage >= LEAST_OUTAGE


def is_throttled(state: str, health: HealthCounters) -> bool:
    """Whether an endpoint is tried only now and then, because it may be down."""
    return state == ACTIVE and health.failures >= LEAST_ATTEMPTS


def ends_outage(state: str, health: HealthCounters, now: datetime, *, probe: bool) -> bool:
    """Whether a success ends an outage, so that what failed in it is tried again at once."""
    if state == PAUSED:
        return probe
    since = health.failing_since
    return since is not None and health.failures >= RECOVERS_FROM and now - since >= RECOVERS_AFTER


def probe_delay(probes: int, random: float) -> timedelta:
    """The wait before the next probe, after so many that failed."""
    seconds = PROBE_WAITS[min(probes, len(PROBE_WAITS) - 1)]
    return timedelta(seconds=seconds * (1 - JITTER + 2 * JITTER * random))


def _succeeded(state: str, health: HealthCounters, seen: ObservedPost, now: datetime) -> BreakerDecision:
    if state == PAUSED and seen.probe:
        return BreakerDecision(
            ACTIVE, HealthCounters(succeeded_at=now), (EndpointNotice("resumed", "The endpoint took a delivery again"),)
        )
    # What was under way when the breaker opened does not close it, or a flaky endpoint would swing to and fro.
    return BreakerDecision(state, HealthCounters(None, 0, 0, now, health.probes, health.probe_at))


def _disabled(health: HealthCounters, reason: str) -> BreakerDecision:
    health = msgspec.structs.replace(health, probes=0, probe_at=None)
    return BreakerDecision(DISABLED, health, (EndpointNotice("disabled", reason),))


def _noticed(health: HealthCounters, now: datetime) -> tuple[HealthCounters, tuple[EndpointNotice, ...]]:
    """The early notices: after four failures in a row, and again after a day."""
    late = health.failing_since is not None and now - health.failing_since >= LATE_NOTICE_AFTER
    if late and health.notices < 2:
        return msgspec.structs.replace(health, notices=2), (
            EndpointNotice("failing", "Nothing but failures for 24 hours"),
        )
    if health.failures >= EARLY_FAILURES and health.notices < 1:
        reason = f"{health.failures} attempts in a row failed"
        return msgspec.structs.replace(health, notices=1), (EndpointNotice("failing", reason),)
    return health, ()
