"""One owner after another: nothing twice, nothing lost, and a stale one writes only that a message was sent."""

import asyncio
from collections.abc import Awaitable, Callable
from uuid import UUID

import asyncpg
import msgspec
import pytest

from gatepost.model.errors import Unavailable
from gatepost.model.message import State
from gatepost.networks.base import (
    ErrorReaction,
    NetworkError,
    Outgoing,
    Receipt,
    SendAccepted,
    SendRefused,
    SendUnknown,
)
from gatepost.store.channel_head import LogEnd, StaleOwner, read_log_ends
from gatepost.store.deliveries.retry import schedule_work
from gatepost.store.leases import claim_channel, release_channel
from gatepost.store.messages.cancel import cancel_message
from gatepost.store.messages.intents import Intent, mark_sending
from tests.conftest import run_apart
from tests.outbound.stage import FAST, Stage
from tests.patience import PATIENCE

PHONES = [f"55119000000{i:02d}" for i in range(60)]


def taken(message: Outgoing) -> Receipt:
    return SendAccepted(f"wamid.{message.id.hex}.{message.attempt}")


async def test_the_next_owner_reads_on_from_the_floor(stage: Stage) -> None:
    await stage.take_over(msgspec.structs.replace(FAST, throughput=10))
    ids = await stage.accept_many([PHONES[i % 7] for i in range(20)])
    await stage.drive(1.05)
    sent_before = len(stage.network.calls)
    assert 5 < sent_before < 15
    await stage.sender.stop()
    assert await stage.check_floor() in ids
    await stage.take_over()
    await stage.drive(1)
    assert sorted(call.message.id for call in stage.network.calls) == sorted(ids)
    assert {await stage.status(id_) for id_ in ids} == {"SENT"}


async def test_a_crash_before_any_note_of_the_floor_loses_and_doubles_nothing(stage: Stage) -> None:
    await stage.take_over(msgspec.structs.replace(FAST, throughput=10))
    ids = await stage.accept_many(PHONES[:10])
    for _ in range(3):
        await stage.sender.step()
        await stage.sender.settled()
        stage.clock.advance(0.1)
    await stage.take_over()
    await stage.drive(1)
    assert sorted(call.message.id for call in stage.network.calls) == sorted(ids)


async def test_a_crash_during_a_send_is_an_unknown_outcome(stage: Stage) -> None:
    never = asyncio.Event()

    async def hang(message: Outgoing) -> Receipt:
        await never.wait()
        return taken(message)

    stage.network.answer = hang
    crashed = await stage.take_over()
    told, untold, behind = [await stage.accept(phone) for phone in (PHONES[0], PHONES[1], PHONES[1])]
    await crashed.step()
    async with asyncio.timeout(PATIENCE):
        while len(stage.network.calls) < 2:
            await asyncio.sleep(0.005)
    stage.network.answer = taken
    stage.network._flying.clear()  # the one who was calling is gone
    await stage.take_over()
    await stage.drive(5)
    await stage.report(told, "sent")
    await stage.drive(60)
    assert [(c.at, c.message.id, c.message.attempt) for c in stage.network.calls[2:]] == [
        (30, untold, 2),
        (30, behind, 1),
    ]
    assert [await stage.status(id_) for id_ in (told, untold, behind)] == ["SENT"] * 3
    stage.network._flying.extend([PHONES[0], PHONES[1]])
    never.set()
    await crashed.settled()


async def test_an_intent_whose_answer_was_lost_may_be_intended_again(stage: Stage) -> None:
    """Committed, and the connection was cut before its answer came: nothing has left, and it must not stay behind."""
    await stage.take_over()
    id_ = await stage.accept(PHONES[0])

    async def intend(attempt: int) -> bool:
        [intended] = await mark_sending(stage.db, stage.lease, [Intent(id_, attempt, False)], stage.clock.now())
        return intended.go

    assert [await intend(attempt) for attempt in (1, 1, 2, 2, 1, 4)] == [True, True, True, True, False, False]
    await stage.take_over()
    assert [await intend(attempt) for attempt in (2, 3)] == [False, True]


async def test_the_grace_counts_from_the_attempt_however_many_owners_come(stage: Stage) -> None:
    stage.network.answer = lambda _: SendUnknown("The connection was cut")
    await stage.take_over()
    id_ = await stage.accept(PHONES[0])
    await stage.drive(1)
    stage.network.answer = taken
    for _ in range(3):
        await stage.take_over()
        await stage.drive(8)
    assert [call.message.attempt for call in stage.network.calls] == [1]
    await stage.take_over()
    await stage.drive(60)
    assert [(call.at, call.message.attempt) for call in stage.network.calls] == [(0, 1), (30, 2)]
    assert await stage.status(id_) == "SENT"


@pytest.mark.parametrize(("away", "again"), [(24.9, 30.0), (25.0, 30.0), (25.1, 30.1), (300.0, 305.0)])
async def test_a_new_owner_waits_some_seconds_for_an_answer_of_the_one_before(
    stage: Stage, away: float, again: float
) -> None:
    stage.network.answer = lambda _: SendUnknown("The connection was cut")
    await stage.take_over()
    await stage.accept(PHONES[0])
    await stage.settle()
    stage.network.answer = taken
    stage.clock.advance(away)
    await stage.take_over()
    await stage.drive(60)
    assert stage.network.times == [0.0, again]


async def test_a_stale_owner_writes_nothing(stage: Stage) -> None:
    stale = await stage.take_over()
    id_ = await stage.accept(PHONES[0])
    await release_channel(stage.db, stage.lease, seen=None, work_at=None)
    newer = await claim_channel(stage.db, stage.channel_id, UUID(int=1), 60)
    assert newer is not None
    before = (await stage.rows("messages"), await stage.rows("events"))
    await stale.step()
    await stale.settled()
    assert stage.network.calls == []
    assert (await stage.rows("messages"), await stage.rows("events")) == before
    async with asyncio.timeout(PATIENCE):
        await stale.run()  # ends by itself
    assert await stage.status(id_) == "PENDING"


async def test_a_channel_is_given_back_only_as_it_was_seen(stage: Stage) -> None:
    async def seen() -> LogEnd:
        return (await read_log_ends(stage.db, [stage.channel_id]))[stage.channel_id]

    await stage.take_over()
    before = await seen()
    async with stage.db.transaction() as conn:
        await schedule_work(
            conn, stage.channel_id, stage.clock.now()
        )  # a delivery is retried on request: there is no event for it
    assert not await release_channel(stage.db, stage.lease, seen=before, work_at=None)
    asked = await seen()
    await stage.accept(PHONES[0])
    assert not await release_channel(stage.db, stage.lease, seen=asked, work_at=None)
    assert await release_channel(stage.db, stage.lease, seen=await seen(), work_at=None)
    assert (await seen()).work_at is None


async def until_status(stage: Stage, id_: UUID, status: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while await stage.status(id_) != status:
            await asyncio.sleep(0.005)


def losing_the_lease(stage: Stage, receipt: Callable[[Outgoing], Receipt]) -> Callable[[Outgoing], Awaitable[Receipt]]:
    """A network that answers when the channel has another owner already."""

    async def answer(message: Outgoing) -> Receipt:
        await stage.take_over()
        return receipt(message)

    return answer


async def test_an_owner_that_turns_stale_during_a_send_still_says_that_it_was_sent(stage: Stage) -> None:
    stage.network.answer = losing_the_lease(stage, taken)
    stale = await stage.take_over()
    id_ = await stage.accept(PHONES[0])
    await stale.step()
    await stale.settled()
    await until_status(stage, id_, "SENT")
    message = await stage.message(id_)
    assert (message.attempt, message.network_id) == (1, f"wamid.{id_.hex}.1")
    stage.network.answer = taken
    await stage.drive(60)
    assert len(stage.network.calls) == 1, "the next owner does not send it again"
    assert await stage.acks(id_) == ["PENDING", "SENT"]


async def test_what_a_stale_owner_knows_of_an_older_attempt_changes_no_end(stage: Stage) -> None:
    """The next owner has sent the message again, and it was read."""
    asked, answered = asyncio.Event(), asyncio.Event()

    async def slow(message: Outgoing) -> Receipt:
        asked.set()
        await answered.wait()
        return taken(message)

    stage.network.answer = slow
    stale = await stage.take_over()
    id_ = await stage.accept(PHONES[0])
    await stale.step()
    await asked.wait()
    stage.network.answer = taken
    stage.network._flying.clear()  # the call of the one before hangs
    await stage.take_over()
    await stage.drive(60)
    await stage.report(id_, "read", attempt=2)
    before = (await stage.rows("messages"), await stage.rows("events"))
    stage.network._flying.append(PHONES[0])
    answered.set()
    await stale.settled()
    await asyncio.gather(*stale._state.recorder._late)
    assert (await stage.rows("messages"), await stage.rows("events")) == before
    assert await stage.acks(id_) == ["PENDING", "SENT", "READ"]


async def test_a_stale_owner_does_not_say_what_the_next_one_finds_out(stage: Stage) -> None:
    refused = SendRefused(NetworkError(131026, "Message undeliverable"), ErrorReaction.FINAL)
    stage.network.answer = losing_the_lease(stage, lambda _: refused)
    stale = await stage.take_over()
    id_ = await stage.accept(PHONES[0])
    await stale.step()
    await stale.settled()
    assert not stale._state.recorder._late
    message = await stage.message(id_)
    assert (message.state, message.attempt, message.network_id) == (State.SENDING, 1, None)
    assert await stage.acks(id_) == ["PENDING"]


async def test_an_owner_past_its_lease_calls_nobody(stage: Stage) -> None:
    alive = True
    await stage.take_over(alive=lambda: alive)
    alive = False
    await stage.accept(PHONES[0])
    await stage.sender.step()
    await stage.sender.settled()
    assert stage.network.calls == []


async def test_intents_of_a_stale_lease_are_refused(stage: Stage) -> None:
    await stage.take_over()
    id_ = await stage.accept(PHONES[0])
    old = stage.lease
    await stage.take_over()
    with pytest.raises(StaleOwner):
        await mark_sending(stage.db, old, [Intent(id_, 1, True)], stage.clock.now())
    assert (await stage.rows("conversations"))[0]["opened_at"] is None


async def test_a_message_is_canceled_or_sent_but_never_both(stage: Stage) -> None:
    await stage.take_over()
    ids = await stage.accept_many([PHONES[i % 60] for i in range(120)])
    now = stage.clock.now()

    async def race(id_: UUID) -> tuple[bool, bool]:
        going = mark_sending(stage.db, stage.lease, [Intent(id_, 1, False)], now)
        canceling = cancel_message(stage.db, stage.ref, stage.channel_id, id_, now)
        ((intended,), (before, _)) = await asyncio.gather(going, canceling)
        return intended.go, before is State.QUEUED

    outcomes = [await race(id_) for id_ in ids]
    assert all(went != canceled for went, canceled in outcomes)
    for id_, (went, _) in zip(ids, outcomes, strict=True):
        assert (await stage.message(id_)).state is (State.SENDING if went else State.CANCELED)


async def test_a_wake_up_is_not_lost_when_the_database_is_unavailable(stage: Stage, common_url: str) -> None:
    await stage.take_over()
    await stage.drive(1)
    id_ = await stage.accept(PHONES[0])
    run_apart(hang_up(common_url))
    failures = 0
    for _ in range(10):
        try:
            await stage.settle()
        except Unavailable:
            failures += 1
    assert failures > 0
    assert await stage.status(id_) == "SENT"


async def hang_up(url: str) -> None:
    """Ends every connection to the database, in a thread of its own, so that the test's pool cannot notice yet."""
    conn = await asyncpg.connect(url)
    try:
        await conn.execute(
            """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid()"""
        )
    finally:
        await conn.close()
