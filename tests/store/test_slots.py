"""Connections by their use: nobody takes what is reserved for another, and no slot is lost."""

import asyncio
import itertools
from typing import get_args

import pytest

from gatepost.model.errors import Unavailable
from gatepost.store.pool import Database
from gatepost.store.slots import ConnectionSlots, Use, reserves
from tests.for_each import for_each
from tests.patience import PATIENCE

USES: tuple[Use, ...] = get_args(Use)
NOW = 0.001


async def fill(slots: ConnectionSlots, use: Use) -> int:
    """Takes all that a use can have; returns how many."""
    for count in itertools.count():
        try:
            await slots.acquire(use, NOW)
        except TimeoutError:
            return count
    raise AssertionError


@for_each("total", [*range(1, 20), 50])
def test_reserves_leave_something_for_everybody(total: int) -> None:
    reserved = reserves(total)
    assert sum(reserved.values()) < total
    assert all(count > 0 for count in reserved.values())


@for_each(("total", "api"), [(1, 1), (3, 3), (4, 1), (11, 8), (12, 5), (16, 9)])
async def test_how_many_requests_of_customers_may_use(total: int, api: int) -> None:
    assert await fill(ConnectionSlots(total), "api") == api


@for_each("greedy", USES)
@for_each("total", [4, 12, 16])
async def test_one_use_cannot_take_what_is_reserved_for_the_others(total: int, greedy: Use) -> None:
    slots, reserved = ConnectionSlots(total), reserves(total)
    taken = await fill(slots, greedy)
    for use in USES:
        if use != greedy:
            assert await fill(slots, use) == reserved.get(use, 0)
            taken += reserved.get(use, 0)
    assert taken == total


async def test_all_slots_can_be_used_and_never_more() -> None:
    slots = ConnectionSlots(16)
    taken = [await fill(slots, use) for use in reversed(USES)]
    assert sum(taken) == 16


async def test_who_waits_for_the_longest_is_next() -> None:
    slots = ConnectionSlots(3)  # nothing is reserved
    assert await fill(slots, "api") == 3
    order: list[str] = []

    async def wait(use: Use, name: str) -> None:
        await slots.acquire(use, 10)
        order.append(name)

    waiting = []
    for use, name in (("work", "first"), ("api", "second"), ("work", "third")):
        waiting.append(asyncio.create_task(wait(use, name)))  # type: ignore[arg-type]
        await asyncio.sleep(0)
    for count in (1, 2, 3):
        slots.release("api")
        await asyncio.wait(waiting[:count])
    assert order == ["first", "second", "third"]


async def test_who_gives_up_leaves_no_slot_behind() -> None:
    slots = ConnectionSlots(1)
    await slots.acquire("api", NOW)
    waiting = [asyncio.create_task(slots.acquire("api", 10)) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()  # not yet run to its end when the slot becomes free
    slots.release("api")
    waiting[1].cancel()  # granted, and cancelled in the same moment
    await asyncio.wait(waiting, timeout=PATIENCE)
    assert [task.cancelled() for task in waiting] == [True, True, False]
    slots.release("api")
    assert await fill(slots, "api") == 1


async def test_waiting_ends_in_time_in_a_task_that_is_being_cancelled() -> None:
    slots, began = ConnectionSlots(1), asyncio.Event()
    await slots.acquire("api", NOW)

    async def write_at_the_end() -> str:
        try:
            began.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            with pytest.raises(TimeoutError):
                await slots.acquire("api", NOW)
            return "gave up"
        return "was not cancelled"

    task = asyncio.create_task(write_at_the_end())
    await began.wait()
    task.cancel()
    assert await task == "gave up"
    slots.release("api")
    assert await fill(slots, "api") == 1


async def test_a_database_keeps_connections_for_each_use(database_url: str) -> None:
    db = await Database.connect(database_url, connections=4)
    own = db.reserved("own")
    try:
        async with db.connection():
            for use in ("own", "accept", "receive"):
                async with db.reserved(use).connection() as conn:
                    assert await conn.fetchval("SELECT 1") == 1
        async with own.connection(), own.connection():
            pass
    finally:
        await db.close()


async def test_without_a_free_connection_the_answer_is_503(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    db = await Database.connect(database_url, connections=4)
    try:
        async with db.connection(), db.reserved("own").connection():  # connecting may take longer than what follows
            pass
        monkeypatch.setattr("gatepost.store.pool._PATIENCE", 0.05)
        async with db.connection():
            with pytest.raises(Unavailable) as refused:
                async with db.connection():
                    raise AssertionError
            assert refused.value.code == "overloaded"
            with pytest.raises(ZeroDivisionError):
                async with db.reserved("own").connection():
                    raise ZeroDivisionError
        async with db.connection() as conn:
            assert await conn.fetchval("SELECT 1") == 1
    finally:
        await db.close()
