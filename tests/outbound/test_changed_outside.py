"""A waiting message that somebody else changes: its owner lets it go at once, and the conversation goes on."""

from datetime import timedelta
from uuid import UUID

import msgspec
import pytest

from gatepost.networks.base import (
    ErrorReaction,
    NetworkError,
    Outgoing,
    Receipt,
    SendAccepted,
    SendRefused,
    SendUnknown,
)
from gatepost.outbound.cancel import cancel_message
from gatepost.outbound.number_limits import NumberLimits
from gatepost.store.contacts.changes import merge_contacts
from tests.outbound.stage import FAST, NOW, RULES, Stage

PERSON, OTHER = "5511999998888", "5511999997777"
SLOW = msgspec.structs.replace(RULES, retry_base=300, attempts=10)


def busy(_message: Outgoing) -> Receipt:
    return SendRefused(NetworkError(131016, "Service overloaded"), ErrorReaction.RETRY)


def taken(message: Outgoing) -> Receipt:
    return SendAccepted(f"wamid.{message.id.hex}.{message.attempt}")


async def backed_off(stage: Stage, limits: NumberLimits = FAST, **options: int) -> tuple[UUID, UUID]:
    """Message A, which is tried again in four to six minutes, and B behind it."""
    stage.network.answer = busy
    await stage.take_over(limits, SLOW)
    first = await stage.accept(PERSON, "A", **options)
    await stage.drive(1)
    stage.network.answer = taken
    second = await stage.accept(PERSON, "B")
    await stage.drive(20)
    assert stage.network.bodies == ["A"], "B waits behind A"
    return first, second


async def cancel(stage: Stage, message_id: UUID) -> None:
    await cancel_message(stage.db, stage.caller, await stage.message(message_id), stage.clock.now())
    stage.wake()


async def test_cancel_frees_the_conversation_at_once(stage: Stage) -> None:
    first, second = await backed_off(stage)
    await cancel(stage, first)
    await stage.drive(0)
    assert stage.network.bodies == ["A", "B"]
    assert await stage.acks(first) == ["PENDING", "CANCELED"]
    assert stage.sender.idle
    assert await stage.check_floor() <= second


async def test_cancel_of_the_one_behind_leaves_the_first_in_its_place(stage: Stage) -> None:
    first, second = await backed_off(stage)
    third = await stage.accept(PERSON, "C")
    await cancel(stage, second)
    await stage.drive(30)
    assert stage.network.bodies == ["A"], "A is not tried before its time"
    await stage.drive(400, stride=5)
    assert [call.message.id for call in stage.network.calls] == [first, first, third]


async def test_cancel_frees_a_scheduled_conversation_too(stage: Stage) -> None:
    stage.network.answer = busy
    await stage.take_over(FAST, SLOW)
    first = await stage.accept(PERSON, "A", send_at=NOW + timedelta(seconds=5))
    await stage.drive(10)
    stage.network.answer = taken
    await stage.accept(PERSON, "B")
    await stage.drive(5)
    assert stage.network.bodies == ["A"]
    await cancel(stage, first)
    await stage.drive(0)
    assert stage.network.bodies == ["A", "B"]
    assert await stage.rows("scheduled_messages") == []


async def test_cancel_of_who_waits_for_the_tier_lets_the_next_of_the_line_wait_there(stage: Stage) -> None:
    await stage.take_over(msgspec.structs.replace(FAST, tier=1))
    await stage.accept(OTHER, "opens the only one")
    await stage.drive(1)
    first = await stage.accept(PERSON, "A")
    await stage.accept(PERSON, "B")
    await stage.drive(1)
    await cancel(stage, first)
    await stage.drive(1)
    await stage.receive_text(PERSON)
    await stage.drive(1)
    assert stage.network.bodies[1:] == ["B"]


async def test_the_pair_limit_stands_when_a_message_is_canceled(stage: Stage) -> None:
    await stage.take_over(msgspec.structs.replace(FAST, pair_seconds=6, pair_burst=1))
    await stage.accept(PERSON, "A")
    second = await stage.accept(PERSON, "B")
    await stage.accept(PERSON, "C")
    await stage.drive(1)
    await cancel(stage, second)
    await stage.drive(20)
    assert (stage.network.bodies, stage.network.times) == (["A", "C"], [0, 6])


async def test_expiry_frees_the_conversation_at_once(stage: Stage) -> None:
    first, _ = await backed_off(stage, ttl=60)
    await stage.drive(40)
    assert stage.network.bodies == ["A", "B"]
    assert stage.network.times[1] <= 61
    assert await stage.acks(first) == ["PENDING", "EXPIRED"]


async def test_a_status_frees_the_conversation_at_once(stage: Stage) -> None:
    """The network said no, took the message all the same, and reports it."""
    first, _ = await backed_off(stage)
    await stage.report(first, "delivered")
    await stage.drive(0)
    assert stage.network.bodies == ["A", "B"]
    assert await stage.acks(first) == ["PENDING", "DELIVERED"]


async def test_a_merged_contact_goes_on_in_one_line_at_once(stage: Stage) -> None:
    """B of another contact is not held by A; once the two are one person, it is, until A is withdrawn."""
    first, second = await backed_off(stage)
    third = await stage.accept(OTHER, "C", send_at=NOW + timedelta(seconds=60))
    stays, goes = (await stage.message(third)).contact_id, (await stage.message(first)).contact_id
    assert await merge_contacts(stage.db, stage.ref, stage.channel_id, stays, goes, stage.clock.now())
    stage.wake()
    await stage.drive(60)
    assert stage.network.bodies == ["A"], "all three are of one person now, and A is first"
    await cancel(stage, first)
    await stage.drive(0)
    assert [call.message.id for call in stage.network.calls] == [first, second, third]


async def test_a_cancel_before_the_merge_is_seen_with_it(stage: Stage) -> None:
    first, second = await backed_off(stage)
    third = await stage.accept(OTHER, "C", send_at=NOW + timedelta(seconds=60))
    await stage.drive(1)
    await cancel_message(stage.db, stage.caller, await stage.message(first), stage.clock.now())
    stays, goes = (await stage.message(third)).contact_id, (await stage.message(first)).contact_id
    assert await merge_contacts(stage.db, stage.ref, stage.channel_id, stays, goes, stage.clock.now())
    stage.wake()
    await stage.drive(0)
    assert [call.message.id for call in stage.network.calls] == [first, second]


async def test_an_unknown_outcome_still_counts_and_cannot_be_canceled(stage: Stage) -> None:
    stage.network.answer = lambda _: SendUnknown("The network's answer was lost")
    await stage.take_over()
    first = await stage.accept(PERSON, "A")
    await stage.drive(1)
    with pytest.raises(Exception, match="on its way"):
        await cancel(stage, first)


async def test_the_owner_compares_only_when_others_changed_something(stage: Stage) -> None:
    """Its own ends (sent, failed, expired) are no news to it."""
    await backed_off(stage, ttl=30)
    await stage.drive(60)
    (head,) = await stage.rows("channel_heads")
    assert head["queue_version"] == 0
