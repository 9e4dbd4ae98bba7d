"""The clock can be moved, frozen and sped up; a reset starts again; the same seed gives the same bytes."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from gatepost_sandbox.clock import Clock
from tests.patience import PATIENCE

from .driver import NUMBER, START, Driver, Receiver, text_payload


async def settle() -> None:
    """Nothing to wait for."""


def noting(clock: Clock, into: list[tuple[str, float]], name: str) -> Callable[[], None]:
    return lambda: into.append((name, clock.now()))


async def test_timers_fire_in_order_at_their_own_time() -> None:
    clock = Clock(100.0, frozen=True)
    fired: list[tuple[str, float]] = []
    for name, due in (("c", 103.0), ("a", 101.0), ("b", 101.0), ("late", 106.0)):
        clock.at(due, noting(clock, fired, name))
    assert await clock.move_to(105.0, settle) == 3
    assert fired == [("a", 101.0), ("b", 101.0), ("c", 103.0)]
    assert (clock.now(), clock.waiting) == (105.0, 1)


async def test_a_timer_set_by_a_timer_fires_on_the_same_way() -> None:
    clock = Clock(0.0, frozen=True)
    fired: list[tuple[str, float]] = []
    clock.at(1.0, lambda: clock.at(2.0, noting(clock, fired, "second")))
    await clock.move_to(3.0, settle)
    assert fired == [("second", 2.0)]


async def test_a_frozen_clock_fires_what_is_due_now() -> None:
    clock = Clock(0.0, frozen=True)
    done = asyncio.Event()
    clock.at(0.0, done.set)
    await asyncio.wait_for(done.wait(), PATIENCE)
    assert clock.now() == 0.0


async def test_a_running_clock_fires_by_itself_and_never_early() -> None:
    clock = Clock(0.0, speed=1000.0)
    fired: list[tuple[str, float]] = []
    done = asyncio.Event()
    clock.at(20.0, done.set)
    clock.at(10.0, noting(clock, fired, "a"))
    await asyncio.wait_for(done.wait(), PATIENCE)
    assert fired[0][1] >= 10.0
    clock.close()


async def test_a_failing_timer_does_not_stop_the_clock() -> None:
    clock = Clock(0.0, speed=1000.0)
    failures: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
    done = asyncio.Event()
    clock.at(1.0, lambda: 1 / 0)
    clock.at(2.0, done.set)
    await asyncio.wait_for(done.wait(), PATIENCE)
    assert len(failures) == 1


async def test_the_clock_route(sandbox: Driver) -> None:
    assert (await sandbox.control("GET", "clock"))["now"] == START
    assert (await sandbox.advance(5))["now"] == START + 5
    assert (await sandbox.control("POST", "clock", {"set": START + 50}))["now"] == START + 50
    assert (await sandbox.call("POST", "/control/clock", {"set": START})).status == 409
    assert (await sandbox.call("POST", "/control/clock", {"advance": -1})).status == 400
    assert (await sandbox.call("POST", "/control/clock", {"advance": 1, "set": START + 99})).status == 400
    for speed in (0, 1_000_001):
        assert (await sandbox.call("POST", "/control/clock", {"speed": speed})).status == 400
    for move in ({"advance": 1e300}, {"set": 253_402_300_800}):
        assert (await sandbox.call("POST", "/control/clock", move)).status == 400
    running = await sandbox.control("POST", "clock", {"frozen": False, "speed": 1000})
    assert (running["frozen"], running["speed"]) == (False, 1000)
    while (await sandbox.control("GET", "clock"))["now"] < START + 60:
        await asyncio.sleep(0.005)
    frozen = await sandbox.control("POST", "clock", {"frozen": True})
    assert (await sandbox.control("GET", "clock"))["now"] == frozen["now"]


async def test_advancing_answers_when_the_callbacks_have_been_posted(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.text()
    moved = await sandbox.advance(10)
    assert (moved["fired"], moved["waiting"], len(receiver.bodies)) == (3, 0, 3)


async def test_an_unordered_advance_posts_everything_too(sandbox: Driver, receiver: Receiver) -> None:
    for index in range(30):
        await sandbox.text(str(5511900000000 + index))
    await sandbox.advance(10, ordered=False)
    assert sorted(receiver.labels()) == ["delivered"] * 30 + ["read"] * 30 + ["sent"] * 30


async def test_advancing_a_running_clock(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.control("PATCH", "settings", {"delays": {"sent": 1000, "delivered": 2000, "read": 3000}})
    await sandbox.control("POST", "clock", {"frozen": False})
    await sandbox.text()
    await sandbox.advance(10_000)
    assert receiver.labels() == ["sent", "delivered", "read"]


async def test_a_time_that_has_no_date_is_rejected(sandbox: Driver) -> None:
    before = (await sandbox.control("GET", "clock"))["now"]
    for start in (-1, -1e14, 253_402_300_800):
        refused = await sandbox.call("POST", "/control/reset", {"start": start})
        assert (refused.status, "start" in refused.json["error"]) == (400, True)
    assert (await sandbox.control("GET", "clock"))["now"] == before
    await sandbox.control("POST", "reset", {"start": 0, "frozen": True})
    assert (await sandbox.control("GET", "clock"))["now"] == 0


async def test_reset_starts_from_nothing(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.text()
    await sandbox.control("POST", "faults", {"fault": "drop"})
    await sandbox.control("PUT", "people/5511999990000", {})
    await sandbox.control("PATCH", "settings", {"echo_suffix": ""})
    await sandbox.control("POST", "reset", {"keep_numbers": True, "start": 5.0})
    assert (await sandbox.control("GET", "clock"))["now"] == 5.0
    assert await sandbox.control("GET", "faults") == []
    assert await sandbox.control("GET", "people") == []
    assert await sandbox.ledger() == []
    assert (await sandbox.control("GET", "settings"))["echo_suffix"] == "5550123"
    assert [number["phone_number_id"] for number in await sandbox.control("GET", "numbers")] == [NUMBER]
    await sandbox.advance(10)
    assert receiver.bodies == []
    await sandbox.control("POST", "reset", {})
    assert await sandbox.control("GET", "numbers") == []


async def test_ids_are_not_repeated_after_a_reset_that_keeps_the_numbers(sandbox: Driver) -> None:
    """A client that goes on running would take a new message for an old one, or a file for another."""

    async def ids(**reset: Any) -> list[str]:
        await sandbox.control("POST", "reset", {"keep_numbers": True, **reset})
        picture = {"from": "5511999990000", "type": "image", "image": {"content": "YWJj", "mime_type": "image/png"}}
        await sandbox.control("POST", f"numbers/{NUMBER}/incoming", picture)
        [incoming] = await sandbox.ledger(kind="incoming")
        return [(await sandbox.text()).wamid, incoming["wamid"], incoming["content"]["id"]]

    assert not set(await ids()) & set(await ids())
    assert await ids(seed=7) == await ids(seed=7)


async def play(sandbox: Driver, receiver: Receiver, seed: int) -> tuple[list[bytes], list[bytes], bytes]:
    """One story from reset to ledger: the answers, the callbacks and the ledger, each to the byte."""
    receiver.bodies.clear()
    await sandbox.control("POST", "reset", {"seed": seed, "keep_numbers": True})
    await sandbox.control("POST", "faults", {"fault": "duplicate", "probability": 0.3})
    await sandbox.control("POST", "faults", {"fault": "refuse", "code": 131000, "probability": 0.2})
    receiver.answer = lambda count: 500 if count % 7 == 0 else 200
    answers = []
    for index in range(30):
        to = "15555550123" if index % 10 == 0 else str(5511900000000 + index)
        answers.append((await sandbox.post(text_payload(to, f"text {index}", biz_opaque_callback_data=str(index)))).raw)
        await sandbox.advance(0.1)
    await sandbox.advance(5000)
    ledger = await sandbox.call("GET", "/control/ledger")
    return answers, list(receiver.bodies), ledger.raw


async def test_a_frozen_run_repeats_to_the_byte(sandbox: Driver, receiver: Receiver) -> None:
    first, second, other = [await play(sandbox, receiver, seed) for seed in (11, 11, 12)]
    assert first == second
    assert len(first[1]) > 80
    assert first[0] != other[0]
    assert first[1] != other[1]


async def follow(sandbox: Driver, seen: str = "", wait: float = 0) -> Any:
    return await sandbox.control("GET", f"clock/follow?follower=one&seen={seen}&wait={wait}")


async def test_a_move_waits_until_its_follower_has_the_new_time(empty: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gatepost_sandbox.clock_followers.PATIENCE", 3600)
    first = await follow(empty)
    waiting = asyncio.create_task(follow(empty, first["version"], 60))
    moving = asyncio.create_task(empty.control("POST", "clock", {"advance": 3600}))
    told = await waiting
    assert told["now"] == first["now"] + 3600
    assert told["version"] != first["version"]
    await asyncio.sleep(0.05)
    assert not moving.done()  # the follower has not come back for more
    await follow(empty, told["version"])
    assert (await moving)["now"] == told["now"]

    monkeypatch.setattr("gatepost_sandbox.clock_followers.PATIENCE", 0.05)  # one that is gone holds nobody up for long
    await empty.control("POST", "clock", {"advance": 1})
    monkeypatch.setattr("gatepost_sandbox.clock_followers.PATIENCE", 3600)
    await empty.control("POST", "clock", {"advance": 1})
