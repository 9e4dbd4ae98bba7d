"""A clock that follows another: it leaps with it, goes at its speed, and its monotonic time never goes back."""

import time

import pytest

from gatepost.clock import FollowingClock
from gatepost.database_lifecycle import opened_clock
from gatepost.settings import load

SANDBOX = "http://127.0.0.1:1"
DAY = 86_400.0


def test_it_leaps_forward_with_both_of_its_times() -> None:
    clock = FollowingClock()
    before, steady = clock.now().timestamp(), clock.monotonic()
    clock.set_time(before + DAY, 1.0)
    assert DAY <= clock.now().timestamp() - before < DAY + 60
    assert DAY - 1 <= clock.monotonic() - steady < DAY + 60


def test_it_goes_back_with_one_of_them_only() -> None:
    clock = FollowingClock()
    steady = clock.monotonic()
    clock.set_time(time.time() - DAY, 1.0)
    assert clock.now().timestamp() < time.time() - DAY + 60
    assert clock.monotonic() >= steady


@pytest.mark.parametrize(("off", "leaps"), [(0.5, False), (-0.5, False), (60.0, True), (-60.0, True)])
def test_less_than_a_second_is_the_way_of_the_message(off: float, leaps: bool) -> None:
    clock = FollowingClock()
    aim = clock.now().timestamp() + off
    clock.set_time(aim, 1.0)
    assert (abs(clock.now().timestamp() - aim) < abs(off) / 2) is leaps


def test_it_stands_still_with_the_other() -> None:
    clock = FollowingClock()
    clock.set_time(1_700_000_000.0, 0.0)
    steady = clock.monotonic()
    time.sleep(0.01)
    assert clock.now().timestamp() == 1_700_000_000.0
    assert clock.monotonic() > steady


def test_it_stops_with_the_other_without_a_leap() -> None:
    clock = FollowingClock()
    clock.set_time(clock.now().timestamp() + 0.9, 0.0)
    assert clock.monotonic() <= time.monotonic()
    stopped = clock.now()
    time.sleep(0.01)
    assert clock.now() == stopped


def test_a_new_speed_counts_from_the_moment_that_it_is_set() -> None:
    clock = FollowingClock()
    time.sleep(0.01)
    began, start = time.monotonic(), 1_700_000_000.0
    clock.set_time(start, 1000.0)
    shown = clock.now().timestamp()
    assert start <= shown <= start + (time.monotonic() - began) * 1000


async def test_a_gateway_whose_sandbox_is_not_there_does_not_start() -> None:
    places = {"clock.follow": SANDBOX, "cloud.base_url": SANDBOX, "qr.link_url": "ws://127.0.0.1:1/qr/link"}
    with pytest.raises(OSError, match="cannot follow"):
        async with opened_clock(load(environ={}, overrides=places)):
            pass
