"""The throughput of a number: no second over it, none of it wasted, also when everything is late."""

import asyncio
import random
from bisect import insort

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.clock import SystemClock
from gatepost.outbound import pace
from gatepost.outbound.throttle import Throttle
from tests.for_each import for_each
from tests.movable_clock import MovableClock
from tests.outbound.stage import NOW

TINY = 1e-6
IN_FLIGHT = 256  # as in default.toml


def let_through(moments: list[float], rate: float) -> list[float]:
    """Which of these moments a throttle would use."""
    throttle, used = Throttle(MovableClock(NOW), rate), []
    for now in moments:
        if not throttle.wait(now):
            throttle.take(now)
            used.append(now)
    return used


def busiest(used: list[float]) -> int:
    """The most in any second."""
    most = first = 0
    for last, at in enumerate(used):
        while used[first] <= at - 1:
            first += 1
        most = max(most, last - first + 1)
    return most


@for_each("rate", [1, 5, 20, 80, 250, 1000])
def test_asked_often_it_lets_through_the_rate_and_no_more(rate: int) -> None:
    tick = 1 / (rate * 7)
    used = let_through([1000 + tick * i for i in range(rate * 7 * 3)], rate)
    assert busiest(used) <= rate
    assert len(used) >= rate * 3 * 0.95


@pytest.mark.parametrize(("rate", "late"), [(80, 0.012), (1000, 0.018)])
def test_lateness_costs_no_throughput_as_long_as_the_burst_makes_it_good(rate: int, late: float) -> None:
    used, now, throttle = list[float](), 1000.0, Throttle(MovableClock(NOW), rate)
    while now < 1010:
        wait = throttle.wait(now)
        if wait:
            now += wait + late * (len(used) % 3) / 2  # the timer fires when it can
        else:
            throttle.take(now)
            used.append(now)
    assert busiest(used) <= rate
    assert len(used) >= rate * 10 * 0.98


@given(st.lists(st.floats(0, 3), max_size=200), st.floats(0.1, 40))
def test_no_second_has_too_many_and_a_wait_as_returned_is_enough(pauses: list[float], rate: float) -> None:
    throttle, used, now = Throttle(MovableClock(NOW), rate), list[float](), 1000.0
    for pause in pauses:
        now += pause
        wait = throttle.wait(now)
        if wait:
            assert throttle.wait(now + wait + TINY) == 0
            now += wait + TINY
        throttle.take(now)
        used.append(now)
    assert busiest(used) <= max(1, rate)


def test_a_second_is_over_when_it_is_over_and_a_hundredth_more() -> None:
    """The network sees messages a little closer together or further apart than they left."""
    assert pace.second_wait([1.0, 1.5], 2, 1.75) == pytest.approx(0.26)
    assert pace.second_wait([1.0, 1.5], 3, 1.75) == 0
    assert pace.second_wait([1.0, 1.5], 2, 2.02) == 0
    assert pace.second_wait([1.0, 1.5], 1, 1.75) == pytest.approx(0.76)


def test_used_counts_the_last_second_only() -> None:
    throttle = Throttle(MovableClock(NOW), 10)
    for at in (1.0, 1.4, 1.9):
        throttle.take(at)
    assert [throttle.used(at) for at in (1.95, 2.0, 2.4, 2.9)] == [3, 2, 1, 0]


async def test_a_crowd_passes_at_the_rate_and_in_its_order() -> None:
    throttle, passed, clock = Throttle(SystemClock(), 400), list[int](), SystemClock()

    async def pass_through(number: int) -> None:
        await throttle.acquire()
        passed.append(number)

    began = clock.monotonic()
    await asyncio.gather(*(pass_through(number) for number in range(60)))
    assert passed == list(range(60))
    assert clock.monotonic() - began >= (60 - pace.throughput_burst(400)) / 400


def arrivals_with_stalls(
    throttle: Throttle, seed: int, seconds: float, stalls_per_message: float, longest: float
) -> list[float]:
    """When messages arrive over a way of a millisecond, on which now and then everything is held up for a while."""
    dice, now, free_again = random.Random(seed), 1000.0, 0.0
    arrivals, answers = list[float](), list[tuple[float, float]]()
    while now < 1000 + seconds:
        while answers and answers[0][0] <= now:
            answered, left = answers.pop(0)
            throttle.note_answer(left, answered)
        wait = throttle.wait(now) if len(answers) < IN_FLIGHT else 1.0
        if wait:
            now = min([now + wait, *(answered for answered, _ in answers[:1])])
            continue
        throttle.take(now)
        if now > free_again and dice.random() < stalls_per_message:
            free_again = now + dice.uniform(0.02, longest)
        arrivals.append(max(now + 0.001, free_again))
        answers.append((arrivals[-1] + 0.001, now))
    return arrivals


@for_each("rate", [80, 1000])
@for_each("seed", range(3))
@for_each(("longest", "stalls_per_second"), [(0.09, 2), (0.3, 0.5), (0.9, 0.2)])
def test_what_was_held_up_on_the_way_makes_no_second_too_full_at_the_network(
    rate: int, seed: int, longest: float, stalls_per_second: float
) -> None:
    throttle = Throttle(MovableClock(NOW), rate)
    arrivals = arrivals_with_stalls(throttle, seed, 10, stalls_per_second / rate, longest)
    assert busiest(arrivals) <= rate * 1.01
    assert len(arrivals) >= rate * 10 * 0.8


def test_what_arrives_after_a_long_silence_counts_then() -> None:
    throttle = Throttle(MovableClock(NOW), 80)
    for now in (1000.0, 1000.1):
        throttle.take(now)
        throttle.note_answer(now, now + 0.001)
    sent = [1000.2 + i / 79 for i in range(80)]
    for left in sent:
        throttle.take(left)
    assert throttle.wait(1003) == 0  # they are forgotten
    for left in sent:
        throttle.note_answer(left, 1003)
    assert throttle.used(1003) == 80
    assert throttle.wait(1003.5) > 0.4


def test_single_slow_answers_move_their_messages_little() -> None:
    """The network took long to process them; answers to others came meanwhile."""
    throttle, now, sent = Throttle(MovableClock(NOW), 80), 1000.0, 0
    answers: list[tuple[float, float]] = []
    while now < 1020:
        while answers and answers[0][0] <= now:
            answered, left = answers.pop(0)
            throttle.note_answer(left, answered)
        if not throttle.wait(now):
            throttle.take(now)
            insort(answers, (now + (0.9 if sent % 4 == 0 else 0.05), now))
            sent += 1
        now += 0.001
    assert sent >= 80 * 20 * 0.94


def test_a_way_that_is_long_but_even_costs_nothing() -> None:
    throttle, now, sent = Throttle(MovableClock(NOW), 80), 1000.0, 0
    in_flight: list[float] = []
    while now < 1020:
        while in_flight and in_flight[0] + 0.3 <= now:
            throttle.note_answer(in_flight.pop(0), now)
        if not throttle.wait(now):
            throttle.take(now)
            in_flight.append(now)
            sent += 1
        now += 0.001
    assert sent >= 80 * 20 * 0.97


def test_typical_is_what_it_takes_when_nothing_holds_it_up() -> None:
    assert pace.typical_latency(0.0, 0.2, 80) == 0.2
    assert pace.typical_latency(0.2, 0.1, 80) == pytest.approx(0.19)
    assert pace.typical_latency(0.2, 0.4, 1) == pytest.approx(0.2002)
    assert pace.typical_latency(0.2, 0.5, 1000) == pytest.approx(0.20001)


@for_each("rate", [80, 1000])
def test_what_was_slow_for_a_second_makes_no_later_second_too_full(rate: int) -> None:
    """Answers take 40 ms for a second, and 2 ms again afterwards: what was late arrives together with what is not."""
    throttle, now = Throttle(MovableClock(NOW), rate), 1000.0
    arrivals, answers = list[float](), list[tuple[float, float]]()
    while now < 1006:
        while answers and answers[0][0] <= now:
            answered, left = answers.pop(0)
            throttle.note_answer(left, answered)
        if throttle.wait(now):
            now += 0.0002
            continue
        throttle.take(now)
        arrivals.append(now + (0.04 if 1002 < now < 1003.5 else 0.002))
        insort(answers, (arrivals[-1], now))
    assert busiest(sorted(arrivals)) <= rate * 1.01
    assert len(arrivals) >= rate * 6 * 0.95


def test_another_rate_counts_at_once() -> None:
    throttle = Throttle(MovableClock(NOW), 1)
    throttle.take(5.0)
    assert throttle.wait(5.1) == pytest.approx(0.91)
    throttle.change(1000)
    assert throttle.wait(5.1) == 0
    throttle.take(5.1)
    throttle.change(2)
    assert throttle.wait(5.2) == pytest.approx(0.81), "two have passed within this second"
