"""Concurrency limits: a failing endpoint gets less, a dead one with a backlog delays no other."""

import asyncio
import random
from collections import Counter
from functools import partial

import pytest

from gatepost.webhooks.concurrency import ConcurrencyPool, EndpointConcurrency
from tests.conftest import Answer, Received
from tests.patience import PATIENCE
from tests.webhooks.stage import Stage, event_ids

DOWN, UP = Answer(500), Answer()


def test_the_limit_halves_at_each_failure_and_grows_by_one() -> None:
    width = EndpointConcurrency(64)
    seen = []
    for ok in (False, False, True, False, False, False, False, False, True, True):
        width.adjust(ok=ok)
        seen.append(width.limit)
    assert seen == [32, 16, 17, 8, 4, 2, 1, 1, 2, 3]
    for _ in range(100):
        width.adjust(ok=True)
    assert width.limit == 64


def test_up_to_half_any_user_may_take_all_and_beyond_it_an_even_share() -> None:
    share = ConcurrencyPool(100)
    assert sum(share.acquire("greedy") for _ in range(100)) == 50
    assert sum(share.acquire("other") for _ in range(100)) == 33
    assert not share.acquire("greedy")
    assert sum(share.acquire("third") for _ in range(100)) == 17  # all are taken
    for _ in range(30):
        share.release("greedy")
    assert [share.acquire(name) for name in ("greedy", "other", "third")] == [True, False, True]
    assert sum(share.acquire("fourth") for _ in range(100)) == 20
    assert share.used == 92


def test_a_user_that_found_no_slot_is_called_and_none_is_forgotten() -> None:
    share, woken = ConcurrencyPool(4), list[str]()
    assert [share.acquire(name) for name in "aabc"] == [True] * 4
    for name in "defgh":
        assert not share.acquire(name)
        share.wait(name, partial(woken.append, name))
    share.release("b")
    assert woken == ["d", "e"]
    share.leave("g")
    share.release("c")
    assert woken == ["d", "e", "f", "h"]
    share.wait("d", partial(woken.append, "d"))
    for name in "ij":
        share.wait(name, partial(woken.append, name))
    share.release("a")
    assert woken[4:] == ["d", "i", "j"]


class User:
    """A user that counts how often it is looked at."""

    looks = 0

    def __hash__(self) -> int:
        User.looks += 1
        return id(self)


def test_the_work_for_a_slot_does_not_grow_with_those_that_wait() -> None:
    share, users = ConcurrencyPool(20), [User() for _ in range(1000)]
    for user in users:
        if not share.acquire(user):
            share.wait(user, lambda: None)
    User.looks = 0
    assert not share.acquire(users[-1])
    assert User.looks < 10


@pytest.mark.parametrize("seed", range(20))
def test_an_even_share_counts_those_that_hold_and_those_that_wait(seed: int) -> None:
    chosen, share = random.Random(seed), ConcurrencyPool(24)
    held, waiting = Counter[str](), set[str]()
    for _ in range(400):
        user, step = chosen.choice("abcdefghijkl"), chosen.randrange(5)
        if step <= 1 and share.acquire(user):
            held[user] += 1
        elif step == 2 and held[user]:
            held[user] -= 1
            share.release(user)
        elif step == 3:
            waiting.add(user)
            share.wait(user, partial(waiting.discard, user))
        elif step == 4:
            waiting.discard(user)
            share.leave(user)
        used, holders = held.total(), {one for one in held if held[one]}
        for one in "abz":
            even = max(1, 24 // (len(holders | waiting | {one}) + 1))
            beyond = max(0, min(even - held[one], 24 - used))
            assert share.free_slots(one) == (12 - used if used < 12 else beyond)


def test_a_pool_of_one_slot() -> None:
    share = ConcurrencyPool(1)
    assert (share.acquire("a"), share.acquire("b")) == (True, False)
    share.release("a")
    assert share.acquire("b")


async def test_a_dead_endpoint_with_a_backlog_does_not_delay_a_healthy_one(stage: Stage) -> None:
    dead, healthy = await stage.add("/dead"), await stage.add("/healthy")
    stage.receiver.answer = lambda request: DOWN if request.path == "/dead" else UP
    emitted = await stage.emit(2000)
    await stage.take_over()
    await stage.settle()
    assert sorted(stage.events_at("/healthy")) == event_ids(emitted)
    assert len(stage.received("/dead")) < 100
    await stage.drive(32)
    assert len(stage.received("/dead")) < 132
    assert (await stage.endpoint(dead)).state == "paused"
    assert (await stage.endpoint(healthy)).state == "active"
    await stage.drive(600)
    assert len(stage.received("/dead")) < 140
    stage.receiver.answer = UP
    await stage.drive(400)
    assert set(stage.events_at("/dead")) == set(event_ids(emitted))


async def test_a_slow_endpoint_leaves_slots_for_others(stage: Stage) -> None:
    """Six slots in all; the slow endpoint, which takes all it can get, leaves the other its share."""
    slow, quick = await stage.add("/slow"), await stage.add("/quick")
    hold = asyncio.Event()

    async def answer(request: Received) -> Answer:
        if request.path == "/slow":
            await hold.wait()
        return UP

    stage.receiver.answer = answer
    await stage.take_over(context=stage.new_context(total=6))
    await stage.emit(40)
    try:
        async with asyncio.timeout(PATIENCE):
            while len(stage.received("/quick")) < 40:
                for id_ in (slow, quick):
                    await stage.deliverers[id_].step()
                await asyncio.sleep(0.002)
        assert len(stage.received("/slow")) == 3
    finally:
        hold.set()
    await stage.settle()
    assert len(stage.received("/slow")) == 40
    assert stage.context.pool.used == 0


async def test_the_loop_of_a_deliverer(stage: Stage) -> None:
    """As the owner runs it: woken, limited by the slots of the process, and stopped."""
    one, two = await stage.add("/one"), await stage.add("/two")
    await stage.take_over(context=stage.new_context(total=1))
    running = [asyncio.create_task(stage.deliverers[id_].run()) for id_ in (one, two)]
    emitted = await stage.emit(30)
    await stage.receiver.wait_for(60)
    for id_ in (one, two):
        await stage.deliverers[id_].stop()
    await asyncio.gather(*running)
    for path in ("/one", "/two"):
        assert sorted(stage.events_at(path)) == event_ids(emitted)
