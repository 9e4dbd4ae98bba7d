"""Two contacts that turn out to be one person while messages wait for them: one line, one conversation, one name."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest

from gatepost.model import ids
from gatepost.model.message import State
from gatepost.networks.base import ErrorReaction, NetworkError, Outgoing, Receipt, SendAccepted, SendRefused
from gatepost.outbound.number_limits import NumberLimits
from gatepost.outbound.queue import BUSY, SendQueue
from gatepost.store.contacts.changes import merge_contacts
from gatepost.store.messages.queue import QueuedState
from tests.outbound.stage import Stage
from tests.outbound.test_queue import queued

OLD, NEW, OTHER = "49015199998888", "4915199998888", "4915177770000"
ONE_A_DAY = NumberLimits(throughput=100_000, pair_seconds=0, pair_burst=10_000, tier=1)


async def contact_of(stage: Stage, message_id: UUID) -> UUID:
    return (await stage.message(message_id)).contact_id


async def join(stage: Stage, stays: UUID, goes: UUID) -> None:
    """Makes one person of two, as an incoming message or somebody at a desk would."""
    assert await merge_contacts(stage.db, stage.ref, stage.channel_id, stays, goes, stage.clock.now())
    stage.wake()


async def reported_contacts(stage: Stage, message_id: UUID, after: int) -> set[str]:
    """Whom the events of a message name, from an event on."""
    rows = await stage.rows("events", f"AND seq > {after} ORDER BY seq")
    key = ids.message_id(message_id)
    seen: list[dict[str, Any]] = [msgspec.json.decode(row["body"])["data"] for row in rows]
    return {
        ids.format_id("ct", row["conversation_id"])
        for row, data in zip(rows, seen, strict=True)
        if data.get("key", {}).get("id") == key
    }


async def last_seq(stage: Stage) -> int:
    seq: int = (await stage.rows("channel_heads"))[0]["seq"]
    return seq


async def test_what_waits_for_both_leaves_in_one_line_in_the_order_of_acceptance(stage: Stage) -> None:
    await stage.take_over(connected=False)
    first = await stage.accept(OLD, "1")
    second = await stage.accept(NEW, "2")
    await stage.accept(OLD, "3")
    await stage.settle()
    await join(stage, await contact_of(stage, second), await contact_of(stage, first))
    await stage.settle()
    under_way: list[str] = []

    async def slowly(message: Outgoing) -> Receipt:
        under_way.append(message.phone)
        assert len(under_way) == 1, "two messages of one person at once"
        await asyncio.sleep(0.01)
        under_way.remove(message.phone)
        return SendAccepted(f"wamid.{message.id.hex}")

    stage.network.answer = slowly
    stage.sender.connect(stage.network)
    await stage.drive(5)
    assert stage.network.bodies == ["1", "2", "3"]


async def test_its_events_name_whom_it_is_for_by_now_and_it_opens_their_conversation(stage: Stage) -> None:
    await stage.take_over(connected=False)
    message, other = await stage.accept(OLD), await stage.accept(NEW, send_at=stage.clock.now() + timedelta(days=1))
    await stage.settle()
    stays = await contact_of(stage, other)
    await join(stage, stays, await contact_of(stage, message))
    seq = await last_seq(stage)
    stage.sender.connect(stage.network)
    await stage.drive(5)
    assert await reported_contacts(stage, message, seq) == {ids.format_id("ct", stays)}
    assert await contact_of(stage, message) == stays
    (talk,) = await stage.rows("conversations")
    assert talk["contact_id"] == stays
    assert talk["opened_at"] is not None


async def test_an_intent_that_does_not_know_yet_opens_the_conversation_of_who_is_left(stage: Stage) -> None:
    await stage.take_over()
    message, other = await stage.accept(OLD), await stage.accept(NEW, send_at=stage.clock.now() + timedelta(days=1))
    stays, goes = await contact_of(stage, other), await contact_of(stage, message)
    await stage.sender._reader.read()
    await join(stage, stays, goes)
    stage.sender._reader.more = False  # the bell was lost
    await stage.settle()
    (talk,) = await stage.rows("conversations")
    assert stage.network.bodies == ["Hello"]
    assert (talk["contact_id"], talk["opened_at"]) == (stays, stage.clock.now())


async def test_what_waits_for_the_tier_goes_once_its_person_has_written_by_another_number(stage: Stage) -> None:
    await stage.take_over(ONE_A_DAY)
    await stage.accept(OTHER, "opens the one")
    await stage.drive(2)
    waiting = await stage.accept(OLD, "waits")
    await stage.drive(2)
    assert stage.network.bodies == ["opens the one"]
    await stage.receive_text(NEW)
    (received,) = await stage.rows("contacts", f"AND phone = '{NEW}'")
    await join(stage, received["id"], await contact_of(stage, waiting))
    await stage.drive(2)
    assert stage.network.bodies == ["opens the one", "waits"]


async def test_it_opens_no_conversation_with_somebody_who_has_written_by_another_number(stage: Stage) -> None:
    await stage.take_over(ONE_A_DAY)
    await stage.accept(OTHER, "opens the one")
    await stage.settle()
    stage.sender.connect(None)
    waiting = await stage.accept(OLD, "waits")
    await stage.settle()
    await stage.receive_text(NEW)
    (received,) = await stage.rows("contacts", f"AND phone = '{NEW}'")
    await join(stage, received["id"], await contact_of(stage, waiting))
    stage.sender.connect(stage.network)
    await stage.settle()
    assert stage.network.bodies == ["opens the one", "waits"]


@pytest.mark.parametrize("refused", [False, True])
async def test_a_conversation_that_the_network_would_not_open_is_closed_for_who_is_left(
    stage: Stage, refused: bool
) -> None:
    await stage.take_over()
    message, other = await stage.accept(OLD), await stage.accept(NEW, send_at=stage.clock.now() + timedelta(days=1))
    stays = await contact_of(stage, other)

    async def joined_meanwhile(sent: Outgoing) -> Receipt:
        await join(stage, stays, await contact_of(stage, message))
        error = NetworkError(131_026, "Undeliverable", "")
        return SendRefused(error, ErrorReaction.FINAL) if refused else SendAccepted(f"wamid.{sent.id.hex}")

    stage.network.answer = joined_meanwhile
    await stage.drive(5)
    (talk,) = await stage.rows("conversations")
    assert talk["contact_id"] == stays
    assert (talk["opened_at"] is None) is refused


async def test_the_answer_that_joins_two_contacts_is_reported_for_the_one_that_remains(stage: Stage) -> None:
    await stage.take_over()
    await stage.receive_text(NEW)
    (known,) = await stage.rows("contacts", f"AND phone = '{NEW}'")
    message = await stage.accept(OLD)
    seq = await last_seq(stage)
    stage.network.answer = lambda sent: SendAccepted(f"wamid.{sent.id.hex}", wa_id=NEW)
    await stage.drive(5)
    assert await reported_contacts(stage, message, seq) == {ids.format_id("ct", known["id"])}
    assert await contact_of(stage, message) == known["id"]


# -- the queue itself --------------------------------------------------------------------------------------------------


def meet(queue: SendQueue, number: int, contact: UUID) -> None:
    (message,) = (one for one in queue.messages() if one.id.int == number)
    queue.apply_change(QueuedState(message.id, State.QUEUED, contact, message.phone, None, None), 0.0)


def start(queue: SendQueue) -> int:
    found = queue.peek()
    assert found is not None
    queue.take(found[0], BUSY)
    return found[1].id.int


def test_who_becomes_one_while_both_are_busy_starts_nothing_until_both_have_landed() -> None:
    queue, waiting = SendQueue(), [queued(n, phone) for n, phone in enumerate((OLD, NEW, OLD, NEW), 1)]
    for message in waiting:
        queue.add(message, 0.0)
    assert {start(queue), start(queue)} == {1, 2}
    meet(queue, 1, UUID(int=int(NEW)))
    assert queue.peek() is None
    for landed, message in enumerate(waiting[:2], 1):
        queue.forget(message, 0.0)
        queue.attempt_done(message, 0.0)
        assert (queue.peek() is None) is (landed == 1)
    assert start(queue) == 3
    assert queue.peek() is None


def test_the_longer_of_two_waits_counts_for_both() -> None:
    queue, one, two = SendQueue(), queued(1, OLD), queued(2, NEW)
    for message in (one, two):
        queue.add(message, 0.0)
    queue.recipient_of(two).pair_due = 9.0
    queue.recipient_of(two).refusals = 3
    meet(queue, 1, two.contact_id)
    assert queue.recipient_of(one) is queue.recipient_of(two)
    assert (queue.recipient_of(one).pair_due, queue.recipient_of(one).refusals) == (9.0, 3)


def test_what_is_added_by_either_name_joins_the_line() -> None:
    queue = SendQueue()
    queue.add(queued(1, OLD), 0.0)
    queue.add(queued(2, NEW), 0.0)
    meet(queue, 1, UUID(int=int(NEW)))
    later = queued(3, OLD)
    later.contact_id = UUID(int=int(NEW))
    queue.add(later, 0.0)
    order = []
    while queue.peek() is not None:
        order.append(start(queue))
        message = next(m for m in queue.messages() if m.id.int == order[-1])
        queue.forget(message, 0.0)
        queue.attempt_done(message, 0.0)
    assert order == [1, 2, 3]
