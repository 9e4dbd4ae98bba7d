"""A line that changes while one of its messages is with the network, or while one of them is on its way out."""

import asyncio
from uuid import UUID

import msgspec
import pytest

from gatepost.networks.base import ErrorReaction, NetworkError, Outgoing, Receipt, SendAccepted, SendRefused
from gatepost.outbound.queue import BUSY, SendQueue
from gatepost.store.channel_head import lock_head
from gatepost.store.contacts.changes import merge_contacts
from tests.outbound.stage import RULES, Stage
from tests.outbound.test_queue import queued

STAYS, GOES = "5511999998888", "551199998888"
ONE_AT_A_TIME = msgspec.structs.replace(RULES, in_flight=1, attempts=10)
NOT_NOW = NetworkError(131_048, "Not now", "")


async def join(stage: Stage, stays: UUID, goes: UUID) -> None:
    """Merges two contacts, and wakes the sender."""
    one, other = await stage.message(stays), await stage.message(goes)
    if one.contact_id != other.contact_id:
        now = stage.clock.now()
        await merge_contacts(stage.db, stage.ref, stage.channel_id, one.contact_id, other.contact_id, now)
        stage.wake()
        await stage.sender._reader.read()


@pytest.mark.parametrize("joined", [False, True])
async def test_a_conversation_that_was_refused_is_not_taken_for_open_by_who_was_joined(
    stage: Stage, joined: bool
) -> None:
    await stage.take_over(rules=ONE_AT_A_TIME)
    first, second = await stage.accept(STAYS, "1"), await stage.accept(GOES, "2")

    async def refuse(_: Outgoing) -> Receipt:
        if joined:
            await join(stage, first, second)
        return SendRefused(NOT_NOW, ErrorReaction.HOLD_NEW)

    stage.network.answer = refuse
    await stage.drive(60)
    assert stage.network.bodies == ["1"], "nobody new is written to while the network holds that back"


@pytest.mark.parametrize("joined", [False, True])
async def test_refusals_of_a_recipient_add_up_across_a_join(stage: Stage, joined: bool) -> None:
    await stage.take_over(rules=ONE_AT_A_TIME)
    first, second = await stage.accept(STAYS, "1"), await stage.accept(GOES, "2")

    async def refuse(message: Outgoing) -> Receipt:
        if joined:
            await join(stage, first, second)
        return SendRefused(NOT_NOW, ErrorReaction.HOLD_RECIPIENT)

    stage.network.answer = refuse
    await stage.drive(30)
    assert [call.at for call in stage.network.calls if call.message.id == first] == [0.0, 1.0, 5.0, 21.0]


async def test_three_who_become_one_are_written_to_in_the_order_of_acceptance(stage: Stage) -> None:
    """Whoever stays at the first join goes at the second, with a message at the network that is tried again."""
    await stage.take_over(rules=ONE_AT_A_TIME)
    numbers = (STAYS, GOES, "5511777770000")
    sent = [await stage.accept(phone, str(number)) for number, phone in enumerate(numbers * 3)]
    tries: list[UUID] = []

    async def answer(message: Outgoing) -> Receipt:
        tries.append(message.id)
        await join(stage, sent[0], sent[1])
        await join(stage, sent[2], sent[0])
        return (
            SendRefused(NOT_NOW, ErrorReaction.RETRY)
            if tries.count(message.id) < 2
            else SendAccepted(f"wamid.{message.id.hex}")
        )

    stage.network.answer = answer
    await stage.drive(120)
    assert stage.network.bodies == [str(number) for number in range(9) for _ in range(2)]
    assert len(await stage.rows("contacts")) == 1


async def test_what_expires_as_its_wait_ends_is_not_started_as_well(stage: Stage) -> None:
    await stage.take_over()
    stage.network.answer = lambda _: SendRefused(NOT_NOW, ErrorReaction.RETRY, wait=10.0)
    message = await stage.accept(STAYS, ttl=10)
    await stage.drive(9.9)
    async with stage.db.transaction() as conn:  # the end cannot be written yet; an intent could
        await lock_head(conn, stage.channel_id)
        stage.clock.advance(0.1)
        await stage.sender.step()
        for _ in range(20):
            await asyncio.sleep(0.01)
    await stage.drive(30)
    assert stage.network.times == [0.0]
    assert await stage.status(message) == "EXPIRED"


def test_who_waits_for_an_end_to_be_written_is_not_forgotten_meanwhile() -> None:
    queue, expiring = SendQueue(), queued(1, STAYS)
    queue.add(expiring, 0.0)
    queue.withdraw(expiring, 0.0)
    for number in range(2, 100):
        message = queued(number, f"55119{number:08d}")
        queue.add(message, 0.0)
        found = queue.peek()
        assert found is not None
        queue.take(found[0], BUSY)
        queue.forget(message, 0.0)
        queue.attempt_done(message, 0.0)
    queue.forget_idle(0.0)
    assert len(queue._recipients) == 2, "the others were"
    queue.forget(expiring, 0.0)
    assert len(queue) == 0


@pytest.mark.parametrize("count", [1, 2])
async def test_the_end_of_a_send_wakes_the_sender_if_something_is_left(stage: Stage, count: int) -> None:
    await stage.take_over()
    sent = [await stage.accept(STAYS, str(number)) for number in range(count)]
    await stage.sender.step()
    stage.sender._wakeup.clear()
    await stage.sender.settled()
    await asyncio.sleep(0)
    assert stage.sender._wakeup.is_set() == (count == 2)
    await stage.drive(10)
    assert [await stage.status(message) for message in sent] == ["SENT"] * count
    assert await stage.check_floor() == sent[-1]
