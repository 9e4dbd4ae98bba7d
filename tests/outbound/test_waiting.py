"""Those who wait: for the tier, for their time, for a lost answer, and in vain."""

import asyncio
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from gatepost.model.errors import Conflict
from gatepost.model.send_request import SendRequest
from gatepost.networks.base import Outgoing, Receipt, SendAccepted, SendUnknown
from gatepost.outbound.cancel import cancel_message
from gatepost.outbound.number_limits import NumberLimits
from gatepost.store.messages.intents import Intent, mark_sending
from tests.outbound.stage import FAST, NOW, RULES, Stage

PHONES = [f"55119000000{i:02d}" for i in range(60)]
HOUR, DAY = 3600.0, 86_400.0
SMALL_TIER = msgspec.structs.replace(FAST, tier=5)


def lost(_message: Outgoing) -> Receipt:
    return SendUnknown("The network's answer was lost")


def taken(message: Outgoing) -> Receipt:
    return SendAccepted(f"wamid.{message.id.hex}.{message.attempt}")


# -- the tier ---------------------------------------------------------------------------------------------------------


async def test_a_tier_opens_exactly_so_many_conversations_in_any_day(stage: Stage) -> None:
    await stage.take_over(SMALL_TIER)
    await stage.accept_many(PHONES[:3], ttl=7 * 86_400)
    await stage.drive(10 * HOUR, stride=HOUR / 4)
    await stage.accept_many(PHONES[3:13], ttl=7 * 86_400)
    await stage.drive(3 * DAY, stride=HOUR / 4)
    assert [int(at / HOUR) for at in stage.network.times] == [0, 0, 0, 10, 10, 24, 24, 24, 34, 34, 48, 48, 48]
    await stage.check_floor()


async def test_who_wrote_is_answered_at_once_although_the_tier_is_full(stage: Stage) -> None:
    await stage.take_over(SMALL_TIER)
    await stage.accept_many(PHONES[:7])
    await stage.drive(HOUR, stride=HOUR / 4)
    assert len(stage.network.calls) == 5
    await stage.receive_text(PHONES[9])
    await stage.accept(PHONES[9], "an answer")
    await stage.drive(0)
    assert stage.network.bodies[5:] == ["an answer"]
    await stage.receive_text(PHONES[6])  # one of those who wait writes: the window opens, the tier is not needed
    await stage.drive(1)
    assert [call.message.phone for call in stage.network.calls[6:]] == [PHONES[6]]
    used = msgspec.json.decode((await stage.rows("channel_heads"))[0]["pace"])
    assert used["tier"] == {
        "used": 5,
        "limit": 5,
        "free": 0,
        "free_at": "2026-11-16T10:00:00.000Z",
        "since": None,
        "waiting": 1,
    }
    assert used["waiting"]["because"] == "The number may open no more conversations within 24 hours"


async def test_a_conversation_that_is_open_goes_on_although_the_tier_is_full(stage: Stage) -> None:
    await stage.take_over(SMALL_TIER)
    await stage.accept_many(PHONES[:5] * 3)
    await stage.drive(1)
    assert len(stage.network.calls) == 15
    await stage.accept(PHONES[2], "later")
    await stage.drive(1)
    assert stage.network.bodies[-1] == "later"


async def test_the_next_owner_counts_what_the_last_one_opened(stage: Stage) -> None:
    await stage.take_over(SMALL_TIER)
    await stage.accept_many(PHONES[:4])
    await stage.drive(HOUR, stride=HOUR / 4)
    await stage.take_over(SMALL_TIER)
    await stage.accept_many(PHONES[4:8], ttl=7 * 86_400)
    await stage.drive(HOUR, stride=HOUR / 4)
    assert len(stage.network.calls) == 5
    await stage.drive(DAY, stride=HOUR / 4)
    assert [int(at / HOUR) for at in stage.network.times[4:]] == [1, 24, 24, 24]


async def test_a_refused_opening_frees_its_place_when_the_person_had_written(stage: Stage) -> None:
    """Read as closed, open by the time of sending: nothing is counted."""
    await stage.accept_many(PHONES[:5])
    await stage.take_over(NumberLimits(throughput=1, pair_seconds=0, pair_burst=100, tier=5))
    await stage.sender.step()
    await stage.sender.settled()
    for phone in PHONES[1:5]:
        await stage.receive_text(phone)
    await stage.drive(10)
    await stage.accept_many(PHONES[10:14])
    await stage.drive(10)
    assert len(stage.network.calls) == 9


# -- their time -------------------------------------------------------------------------------------------------------


async def test_a_scheduled_message_waits_for_its_time_and_is_then_ahead_of_nobody(stage: Stage) -> None:
    await stage.take_over()
    later = await stage.accept(PHONES[0], "later", send_at=NOW + timedelta(seconds=90))
    await stage.accept(PHONES[0], "now")
    await stage.drive(89)
    assert stage.network.bodies == ["now"]
    assert stage.sender.next_work == NOW + timedelta(seconds=90)
    assert await stage.status(later) == "PENDING"
    await stage.drive(2)
    assert [(call.at, call.body) for call in stage.network.calls] == [(0, "now"), (90, "later")]
    assert await stage.rows("scheduled_messages") == []
    assert stage.sender.next_work is None


async def test_more_than_memory_holds_may_be_scheduled_for_one_moment(stage: Stage) -> None:
    limits = msgspec.structs.replace(FAST, throughput=10)
    await stage.take_over(limits, msgspec.structs.replace(RULES, read_ahead=4))
    await stage.accept_many(PHONES[:30], send_at=NOW + timedelta(seconds=60))
    await stage.drive(59)
    assert stage.network.calls == []
    await stage.drive(10)
    assert len({call.message.id for call in stage.network.calls}) == len(stage.network.calls) == 30
    assert await stage.rows("scheduled_messages") == []


@pytest.mark.parametrize("scheduled", [False, True])
async def test_long_messages_are_read_a_few_at_a_time(stage: Stage, scheduled: bool) -> None:
    """The memory of a queue is limited, whatever the messages in it contain."""
    phones = [{"phone": "1" * 1000, "type": "2" * 1000, "wa_id": "3" * 1000} for _ in range(20)]
    cards = [{"name": {"formatted_name": "Ana"}, "phones": phones}] * 16
    at: dict[str, Any] = {"send_at": NOW + timedelta(seconds=60)} if scheduled else {}
    for phone in PHONES[:12]:
        long = SendRequest(phone, type="contacts", contacts=cards, priority="bulk", **at)
        await stage.acceptor.accept(stage.caller, long)
    await stage.accept(PHONES[12], "short", **at)
    await stage.take_over(rules=msgspec.structs.replace(RULES, read_ahead=1000), connected=False)
    await stage.drive(70, stride=1)
    assert len(stage.sender._queue) in (5, 6)
    stage.sender.connect(stage.network)
    await stage.drive(10)
    assert len({call.message.id for call in stage.network.calls}) == len(stage.network.calls) == 13
    assert await stage.rows("scheduled_messages") == []
    await stage.check_floor()


async def test_a_canceled_message_never_leaves(stage: Stage) -> None:
    await stage.take_over()
    kept = await stage.accept(PHONES[0], "kept", send_at=NOW + timedelta(seconds=60))
    gone = await stage.accept(PHONES[0], "gone", send_at=NOW + timedelta(seconds=60))
    await stage.drive(1)
    await cancel_message(stage.db, stage.caller, await stage.message(gone), stage.clock.now())
    await stage.drive(120)
    assert stage.network.bodies == ["kept"]
    assert await stage.acks(gone) == ["SCHEDULED", "CANCELED"]
    for settled in (kept, gone):
        with pytest.raises(Conflict):
            await cancel_message(stage.db, stage.caller, await stage.message(settled), stage.clock.now())


async def test_a_message_canceled_while_it_waits_in_memory_is_let_go(stage: Stage) -> None:
    await stage.take_over(msgspec.structs.replace(FAST, throughput=1))
    first, second, third = await stage.accept_many([PHONES[0]] * 3)
    await stage.drive(0.5)
    await cancel_message(stage.db, stage.caller, await stage.message(second), stage.clock.now())
    await stage.drive(10)
    assert [call.message.id for call in stage.network.calls] == [first, third]
    assert stage.sender.idle
    assert await stage.check_floor() == third


# -- a lost answer ----------------------------------------------------------------------------------------------------


async def test_a_lost_answer_is_waited_for_and_then_tried_again(stage: Stage) -> None:
    stage.network.answer = lost
    await stage.take_over()
    id_, behind = await stage.accept(PHONES[0]), await stage.accept(PHONES[0], "behind")
    await stage.drive(10)
    await stage.accept(PHONES[1], "others go on")
    stage.network.answer = taken
    await stage.drive(30)
    calls = [(call.at, call.message.id, call.message.attempt) for call in stage.network.calls]
    assert calls[:1] == [(0, id_, 1)]
    assert calls[2:] == [(30, id_, 2), (30, behind, 1)]
    assert await stage.acks(id_) == ["PENDING", "SENT"]
    assert (await stage.message(id_)).attempt == 2


async def test_a_status_settles_a_lost_answer_without_a_second_send(stage: Stage) -> None:
    stage.network.answer = lost
    await stage.take_over()
    id_, behind = await stage.accept(PHONES[0]), await stage.accept(PHONES[0], "behind")
    await stage.drive(5)
    stage.network.answer = taken
    await stage.report(id_, "delivered")
    await stage.drive(60)
    assert [call.message.id for call in stage.network.calls] == [id_, behind]
    assert stage.network.times[1] <= 6, "the next one need not wait for the grace to end"
    assert await stage.acks(id_) == ["PENDING", "DELIVERED"]
    assert await stage.check_floor() == behind


async def test_with_on_unknown_fail_it_is_never_sent_twice(stage: Stage) -> None:
    stage.network.answer = lost
    await stage.take_over()
    id_ = await stage.accept(PHONES[0], on_unknown="fail")
    await stage.drive(29)
    assert await stage.status(id_) == "PENDING"
    await stage.drive(2)
    assert await stage.acks(id_) == ["PENDING", "FAILED"]
    assert "unknown_outcome" in ((await stage.message(id_)).error or "")
    assert len(stage.network.calls) == 1


async def test_a_lost_answer_past_its_ttl_is_not_tried_again(stage: Stage) -> None:
    stage.network.answer = lost
    await stage.take_over()
    id_ = await stage.accept(PHONES[0], ttl=10)
    await stage.drive(60)
    assert (await stage.status(id_), len(stage.network.calls)) == ("FAILED", 1)


async def test_a_scheduled_message_settled_by_a_status_leaves_the_timetable(stage: Stage) -> None:
    stage.network.answer = lost
    await stage.take_over()
    id_ = await stage.accept(PHONES[0], send_at=NOW + timedelta(seconds=10))
    await stage.drive(15)
    await stage.report(id_, "sent")
    await stage.drive(60)
    await stage.take_over()
    await stage.drive(60)
    assert len(stage.network.calls) == 1
    assert await stage.rows("scheduled_messages") == []
    assert stage.sender.idle
    assert stage.sender.next_work is None


# -- in vain ----------------------------------------------------------------------------------------------------------


async def test_a_message_expires_in_the_queue_and_says_why(stage: Stage) -> None:
    await stage.take_over(connected=False)
    short, long = await stage.accept(PHONES[0], ttl=5), await stage.accept(PHONES[0], ttl=500)
    later = await stage.accept(PHONES[1], ttl=5, send_at=NOW + timedelta(seconds=20))
    await stage.drive(4)
    assert await stage.status(short) == "PENDING"
    await stage.drive(2)
    assert await stage.acks(short) == ["PENDING", "EXPIRED"]
    assert msgspec.json.decode((await stage.message(short)).error or "")["details"] == "The channel is not connected"
    await stage.drive(30)
    assert [await stage.status(id_) for id_ in (long, later)] == ["PENDING", "EXPIRED"]
    assert await stage.rows("scheduled_messages") == []
    await stage.check_floor()


async def test_a_message_expires_although_its_intent_was_saved_unnoticed(stage: Stage) -> None:
    """The intent was committed, and the connection to the database ended before its answer came."""
    await stage.take_over(connected=False)
    id_ = await stage.accept(PHONES[0], ttl=5)
    await stage.drive(1)
    await mark_sending(stage.db, stage.lease, [Intent(id_, 1, False)], stage.clock.now())
    await stage.drive(10)
    assert await stage.acks(id_) == ["PENDING", "EXPIRED"]
    assert stage.sender.idle


async def test_a_message_that_is_leaving_does_not_expire_although_chat_came_in_behind_it(stage: Stage) -> None:
    await stage.take_over()
    leaving = await stage.accept(PHONES[0], "leaving", priority="bulk", ttl=5)
    async with stage.db.transaction() as conn:  # holds up the commit of the intent
        await conn.fetchrow("SELECT 1 FROM messages WHERE channel_id = $1 FOR UPDATE", stage.channel_id)
        await stage.sender.step()
        await stage.accept(PHONES[0], "chat")
        stage.clock.advance(6)
        await stage.sender.step()
        await asyncio.sleep(0.05)
    await stage.sender.settled()
    await stage.drive(1)
    assert stage.network.bodies == ["leaving", "chat"]
    assert await stage.acks(leaving) == ["PENDING", "SENT"]


async def test_a_message_that_waits_for_the_tier_expires_with_that_reason(stage: Stage) -> None:
    await stage.take_over(msgspec.structs.replace(FAST, tier=1))
    _, second = await stage.accept_many(PHONES[:2], ttl=60)
    await stage.drive(120, stride=10)
    assert await stage.status(second) == "EXPIRED"
    assert "no more conversations" in ((await stage.message(second)).error or "")


async def test_what_had_no_room_is_read_when_a_status_makes_room(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.network.answer = lost
    await stage.take_over(rules=msgspec.structs.replace(RULES, read_ahead=1))
    first = await stage.accept(PHONES[0])
    await stage.drive(1)
    second = await stage.accept(PHONES[1])
    await stage.drive(1)
    stage.network.answer = taken
    with monkeypatch.context() as asleep:  # the commit of a status does not wake the sender
        asleep.setattr(stage, "wake", lambda: None)
        await stage.report(first, "sent")
    stage.clock.advance(10)  # nothing of the pace is left to be saved
    again = await stage.sender.step()
    assert (len(stage.sender._queue), stage.sender.idle) == (0, False)
    assert again is not None
    assert again < stage.clock.monotonic() + 1, "nothing else would wake it before the answer counts as lost"
    await stage.drive(1)
    assert [await stage.status(one) for one in (first, second)] == ["SENT", "SENT"]
