"""Pace: when may the next message be sent? Pure functions: no clock, no I/O, no state.

    throughput   at most N messages a second of one number
    pair         one message per recipient in 6 s; a burst of up to 45 is paid back afterwards
    tier         so many conversations opened by the business in any 24 hours
    back-off     after a refusal by the network

Each returns the seconds to wait; 0.0 is now.
"""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta

DAY = timedelta(hours=24)
SECOND = 1.01  # messages that arrive within one second at the network took different times to get there


def space_evenly(due: float, now: float, interval: float, burst: int) -> tuple[float, float]:
    """Space events by `interval`; after a pause, `burst` of them may come at once.

    `due` is when the next would be due if all came evenly. Returns (wait, due after this one); with a wait,
    `due` is unchanged.
    """
    earliest = due - interval * (burst - 1)
    if now < earliest:
        return earliest - now, due
    return 0.0, max(due, now) + interval


def space_with_burst(started: float, due: float, now: float, interval: float, burst: int) -> tuple[float, float, float]:
    """Space events by `interval`, with up to `burst` within one interval that are paid back before the next burst.

    `started` is when the last burst began, `due` when it is paid back. Returns (wait, started, due) after this one.
    """
    if now >= due:
        return 0.0, now, now + interval
    if now < started + interval and due - started < (burst - 0.5) * interval:
        return 0.0, started, due + interval
    return due - now, started, due


def throughput_burst(rate: float) -> int:
    """How many may be sent at once: 20 ms of the rate, so that a late wake-up costs no throughput."""
    return max(2, int(rate / 50))


def second_wait(passed: Sequence[float], rate: float, now: float) -> float:
    """Seconds until one more exceeds `rate` in no second. `passed` is sorted."""
    most = max(1, int(rate))
    return max(0.0, passed[len(passed) - most] + SECOND - now) if len(passed) >= most else 0.0


def typical_latency(before: float, took: float, rate: float) -> float:
    """A running minimum of latencies: it falls quickly with fast answers, and rises slowly, within half a minute.

    A network that is slow for a second must not make slow answers typical: then it would be counted as if messages
    that arrive together after that second had arrived evenly.
    """
    rise = min(0.001, 1 / (30 * rate))
    return before + (took - before) * (0.1 if took < before else rise) if before else took


def tier_wait(opened: Sequence[datetime], limit: int, now: datetime) -> timedelta:
    """The time until one more conversation may be opened. `opened` is sorted; a limit of 0 is no limit."""
    if limit <= 0 or len(opened) < limit:
        return timedelta(0)
    frees = opened[len(opened) - limit] + DAY
    return max(timedelta(0), frees - now)


def opens_conversation(last_in: datetime | None, opened: datetime | None, now: datetime) -> bool:
    """Whether a message now would open a conversation: there was none within the last day."""
    return not (_within_day(last_in, now) or _within_day(opened, now))


def _within_day(at: datetime | None, now: datetime) -> bool:
    return at is not None and now - at < DAY


def recipient_backoff(refusals: int) -> float:
    """The network's own rule after 131056: 4^n seconds."""
    return min(4.0 ** min(refusals, 5), 900.0)


def channel_backoff(refusals: int) -> float:
    """After "too fast" or "maintenance": a second, doubling to a minute."""
    return min(2.0 ** min(refusals, 6), 60.0)


def new_conversation_backoff(refusals: int) -> float:
    """After "no new conversations": a quarter of an hour, doubling to six hours."""
    return min(900.0 * 2.0 ** min(refusals, 5), 21_600.0)


def broken_number_backoff(refusals: int) -> float:
    """After "this number is in trouble": a minute, doubling to an hour, so that its recovery is noticed."""
    return min(60.0 * 2.0 ** min(refusals, 6), 3_600.0)


def warm_up(days: float, first: int, growth: float, most: int) -> int:
    """How many conversations a newly linked number may open in a day: a few at first, more each day.

    A `most` of 0 is no limit.
    """
    grown = int(first * growth ** min(max(0, math.floor(days)), 60))
    return min(most, grown) if most else grown


def next_tier(ladder: Sequence[int], tier: int, used_in_week: int, quality: str | None) -> int:
    """The network's rule: with good quality, and half of the tier used within 7 days, the next step. 0 is no limit."""
    if tier <= 0 or quality == "RED" or 2 * used_in_week < tier:
        return tier
    higher = [step for step in ladder if step == 0 or step > tier]
    return min(higher, key=lambda step: step or math.inf, default=tier)


def promotable_tiers(ladder: Sequence[int], reported: int | None) -> tuple[int, ...]:
    """The tiers that we may raise a number to, up to the tier that the network reported. 0 is no limit."""
    return tuple(step for step in ladder if not reported or 0 < step <= reported)


def retry_delay(attempt: int, base: float, most: float, random: float) -> float:
    """Back-off after a temporary error: doubles with each attempt, ±20 %."""
    return min(base * 2.0 ** min(attempt - 1, 30), most) * (0.8 + 0.4 * random)
