"""Batches of one process take turns at a channel's head, instead of meeting at its lock."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

import pytest

from gatepost.model.person import Person
from gatepost.store import head_turns
from gatepost.store.head_turns import HeadTurns
from gatepost.store.messages.accept import AcceptResult
from gatepost.store.messages.accept_plain import accept_plain
from gatepost.store.pool import Database
from tests.inbound.incoming_messages import message_from, receive
from tests.outbound.stage import Stage
from tests.patience import PATIENCE
from tests.store.messages.test_accept_plain import ANA, check_log, know, submission
from tests.store.test_people_at_once import blocked

ONE, TWO = uuid4(), uuid4()


class Log:
    """Takes turns and notes who had one, in order."""

    def __init__(self) -> None:
        self.turns = HeadTurns()
        self.had: list[str] = []

    def start(self, name: str, channel_id: UUID = ONE) -> "asyncio.Task[None]":
        return asyncio.create_task(self._take(name, channel_id))

    async def _take(self, name: str, channel_id: UUID) -> None:
        async with self.turns.take(channel_id):
            self.had.append(name)
            if name == "failing":
                raise ValueError(name)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_turns_come_in_order_and_those_of_other_channels_at_once() -> None:
    log = Log()
    async with log.turns.take(ONE):
        waiting = [log.start("a"), log.start("b"), log.start("other", TWO)]
        await settle()
        assert log.had == ["other"]
    await asyncio.gather(*waiting)
    assert log.had == ["other", "a", "b"]
    assert not log.turns._queues


async def test_an_error_passes_the_turn_on() -> None:
    log = Log()
    async with log.turns.take(ONE):
        failing, waiting = log.start("failing"), log.start("a")
        await settle()
    await asyncio.gather(failing, waiting, return_exceptions=True)
    assert isinstance(failing.exception(), ValueError)
    assert log.had == ["failing", "a"]
    assert not log.turns._queues


@pytest.mark.parametrize("late", [False, True])
async def test_one_that_is_cancelled_while_it_waits_is_left_out(late: bool) -> None:
    """Late: in the moment in which its turn comes."""
    log = Log()
    async with log.turns.take(ONE):
        cancelled, waiting = log.start("cancelled"), log.start("a")
        await settle()
        if not late:
            cancelled.cancel()
            await settle()
    cancelled.cancel()
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(cancelled, waiting, return_exceptions=True)
    assert log.had == ["a"]
    assert not log.turns._queues


async def test_a_turn_that_does_not_come_is_not_waited_for_any_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head_turns, "_PATIENCE", 0.01)
    log = Log()
    async with log.turns.take(ONE):
        async with asyncio.timeout(PATIENCE):
            await log.start("impatient")
        assert log.had == ["impatient"]
        monkeypatch.undo()
        waiting = log.start("a")
        await settle()
        assert log.had == ["impatient"]  # it had no turn, and passes none on
    await waiting
    assert not log.turns._queues


async def test_batches_of_one_process_do_not_meet_at_the_lock(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    await know(stage, ANA)
    transactions: list[int] = []
    transaction = Database.transaction

    @asynccontextmanager
    async def noted(db: Database, **options: Any) -> AsyncIterator[Any]:
        async with transaction(db, **options) as conn:
            transactions.append(1)
            yield conn

    monkeypatch.setattr(Database, "transaction", noted)
    batches = {stage.channel_id: [submission(stage)]}
    written = await asyncio.gather(*(accept_plain(stage.db, batches, stage.clock.now(), wait=True) for _ in range(20)))
    assert all(isinstance(one[stage.channel_id][0], AcceptResult) for one in written)
    assert transactions == []
    await check_log(stage, 21)


async def test_a_batch_waits_for_the_lock_of_others_in_its_turn(stage: Stage) -> None:
    await know(stage, ANA)
    batches = {stage.channel_id: [submission(stage)]}
    async with stage.db.transaction() as conn:
        await conn.execute("SELECT 1 FROM channel_heads WHERE channel_id = $1 FOR NO KEY UPDATE", stage.channel_id)
        first = asyncio.create_task(accept_plain(stage.db, batches, stage.clock.now(), wait=True))
        await blocked(stage)
        second = asyncio.create_task(accept_plain(stage.db, batches, stage.clock.now(), wait=True))
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(first, second, receive(stage, message_from(stage, Person(ANA))))
    await check_log(stage, 3)
