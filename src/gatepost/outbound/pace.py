"""Pace: when may the next message leave? Pure functions: no clock, no I/O, no memory of their own.

    throughput   at most N messages a second of one number
    pair         one message per recipient in 6 s; a burst of up to 45 is a loan
    tier         so many conversations opened by the business in any 24 hours
    hold         the network asked for patience

Each says 0.0 ("now") or for how many seconds to wait.
"""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta

DAY = timedelta(hours=24)
SECOND = 1.01  # what the network sees within its second has been on the way for different times


def evenly(due: float, now: float, interval: float, burst: int) -> tuple[float, float]:
    """Spaces events by `interval`, letting `burst` of them come at once after a pause.

    `due` is when the next would be due if all came evenly. Returns (wait, due after this one); with a wait there is
    nothing taken and `due` stays.
    """
    earliest = due - interval * (burst - 1)
    if now < earliest:
        return earliest - now, due
    return 0.0, max(due, now) + interval


def lend(started: float, due: float, now: float, interval: float, burst: int) -> tuple[float, float, float]:
    """One event per `interval`, with a loan: up to `burst` within one interval, paid back before the next is taken.

    `started` is when the last burst began, `due` when it is paid back. Returns (wait, started, due) after this one.
    """
    if now >= due:
        return 0.0, now, now + interval
    if now < started + interval and due - started < (burst - 0.5) * interval:
        return 0.0, started, due + interval
    return due - now, started, due


def throughput_burst(rate: float) -> int:
    """How many may leave at once: 20 ms of the rate, so that a late wake-up costs no throughput."""
    return max(2, int(rate / 50))


def second_wait(passed: Sequence[float], rate: float, now: float) -> float:
    """How long until one more makes no second that holds more than `rate`. `passed` is sorted."""
    most = max(1, int(rate))
    return max(0.0, passed[len(passed) - most] + SECOND - now) if len(passed) >= most else 0.0


def usual(before: float, took: float) -> float:
    """How long something takes when nothing holds it up: follows what is quick at once, and what is slow but slowly."""
    return before + (took - before) * (0.1 if took < before else 0.001) if before else took


def tier_wait(opened: Sequence[datetime], limit: int, now: datetime) -> timedelta:
    """How long until one more conversation may be opened. `opened` is sorted; a limit of 0 is no limit."""
    if limit <= 0 or len(opened) < limit:
        return timedelta(0)
    frees = opened[len(opened) - limit] + DAY
    return max(timedelta(0), frees - now)


def opens_conversation(last_in: datetime | None, opened: datetime | None, now: datetime) -> bool:
    """Whether a message now would open a conversation: nobody wrote or was written to first within a day."""
    return not (_within_day(last_in, now) or _within_day(opened, now))


def _within_day(at: datetime | None, now: datetime) -> bool:
    return at is not None and now - at < DAY


def recipient_hold(refusals: int) -> float:
    """The network's own rule after 131056: 4^n seconds."""
    return min(4.0 ** min(refusals, 5), 900.0)


def channel_hold(refusals: int) -> float:
    """After "too fast" or "maintenance": a second, doubling to a minute."""
    return min(2.0 ** min(refusals, 6), 60.0)


def new_hold(refusals: int) -> float:
    """After "no new conversations": a quarter of an hour, doubling to six hours."""
    return min(900.0 * 2.0 ** min(refusals, 5), 21_600.0)


def break_hold(refusals: int) -> float:
    """After "this number is in trouble": a minute, doubling to an hour, so that a mended number is found out."""
    return min(60.0 * 2.0 ** min(refusals, 6), 3_600.0)


def warm_up(days: float, first: int, growth: float, most: int) -> int:
    """How many people a newly linked number may write to first in a day: a few, and a little more each day.

    `most` of 0 lets it grow for ever.
    """
    grown = int(first * growth ** min(max(0, math.floor(days)), 60))
    return min(most, grown) if most else grown


def next_tier(ladder: Sequence[int], tier: int, used_in_week: int, quality: str | None) -> int:
    """The network's rule: with good quality, and half of the tier used within 7 days, the next step. 0 is no limit."""
    if tier <= 0 or quality == "RED" or 2 * used_in_week < tier:
        return tier
    higher = [step for step in ladder if step == 0 or step > tier]
    return min(higher, key=lambda step: step or math.inf, default=tier)


def up_to(ladder: Sequence[int], told: int | None) -> tuple[int, ...]:
    """The steps that a number may take by itself, once the network has told its tier. 0 is no limit."""
    return tuple(step for step in ladder if not told or 0 < step <= told)


def retry_delay(attempt: int, base: float, most: float, random: float) -> float:
    """Back-off after a temporary error: doubles with each attempt, ±20 %."""
    return min(base * 2.0 ** min(attempt - 1, 30), most) * (0.8 + 0.4 * random)
