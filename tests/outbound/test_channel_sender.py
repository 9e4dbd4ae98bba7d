"""The sender over a real database: order, throughput, pair limit, priorities, back-off and failures."""

import asyncio
import random
from collections import defaultdict

import msgspec
import pytest

from gatepost.model.send_request import SendRequest
from gatepost.networks.base import (
    ErrorReaction,
    NetworkError,
    Outgoing,
    QuotedRef,
    Receipt,
    SendAccepted,
    SendNotMade,
    SendRefused,
    SendUnknown,
)
from gatepost.outbound.number_limits import NumberLimits
from tests.outbound.stage import FAST, RULES, Stage

PHONES = [f"55119000000{i:02d}" for i in range(60)]
NO = NetworkError(131026, "Message undeliverable", "Not on the network")


def limits(**changes: float) -> NumberLimits:
    return msgspec.structs.replace(FAST, **changes)


def taken(message: Outgoing) -> SendAccepted:
    return SendAccepted(f"wamid.{message.id.hex}")


async def test_a_message_is_sent_and_reported(stage: Stage) -> None:
    await stage.take_over()
    id_ = await stage.accept(PHONES[0], "Hello", client_ref="order-1")
    stage.clock.advance(3)
    began = stage.clock.now()
    await stage.drive(1)
    (call,) = stage.network.calls
    assert (call.message.id, call.message.attempt, call.message.phone, call.body) == (id_, 1, PHONES[0], "Hello")
    message = await stage.message(id_)
    assert message.network_id == f"wamid.{id_.hex}.1"
    assert message.sent_at == began
    assert message.sent_at > message.created_at
    assert await stage.acks(id_) == ["PENDING", "SENT"]
    assert stage.sender.idle
    assert await stage.check_floor() == id_


async def test_a_reply_and_a_reaction_may_refer_to_a_message_that_still_waits(stage: Stage) -> None:
    await stage.take_over(limits(pair_seconds=1, pair_burst=1))
    first = await stage.accept(PHONES[0], "first")
    await stage.accept(PHONES[0], "reply", reply_to=first.hex)
    reaction = SendRequest(PHONES[0], type="reaction", reaction={"message_id": first.hex, "emoji": "👍"})
    await stage.acceptor.accept(stage.caller, reaction)
    await stage.drive(5)
    _, reply, reacted = (call.message for call in stage.network.calls)
    expected = QuotedRef(f"wamid.{first.hex}.1", from_me=True, text="first")
    assert (reply.reply_to, reacted.target) == (expected, expected)


async def test_order_is_kept_per_conversation_with_many_in_flight(stage: Stage) -> None:
    dice = random.Random(7)

    async def slowly(message: Outgoing) -> Receipt:
        await asyncio.sleep(dice.random() / 100)
        return taken(message)

    stage.network.answer = slowly
    await stage.take_over(rules=msgspec.structs.replace(RULES, in_flight=6))
    sent = [(PHONES[i % 8], str(i)) for i in range(64)]
    for phone, body in sent:
        await stage.accept(phone, body)
    await stage.drive(5)
    by_phone: dict[str, list[str]] = defaultdict(list)
    for call in stage.network.calls:
        by_phone[call.message.phone].append(call.body)
    assert by_phone == {phone: [body for p, body in sent if p == phone] for phone in PHONES[:8]}
    assert stage.network.most_at_once == 6
    assert {row["state"] for row in await stage.rows("messages")} == {2}


@pytest.mark.parametrize("rate", [5, 20])
async def test_the_throughput_is_used_and_never_exceeded(stage: Stage, rate: int) -> None:
    await stage.take_over(limits(throughput=rate))
    await stage.accept_many(PHONES[:45])
    await stage.drive(15)
    times = stage.network.times
    assert len(times) == 45
    assert max(sum(start <= at < start + 0.999 for at in times) for start in times) <= rate
    assert (44 - 1) / rate <= times[-1] <= 44 / rate + 0.1


async def test_the_pair_limit_lends_a_burst_and_waits_until_it_is_paid_back(stage: Stage) -> None:
    await stage.take_over(limits(pair_seconds=6, pair_burst=45))
    await stage.accept_many([PHONES[0]] * 48)
    await stage.drive(3)
    await stage.accept(PHONES[1], "another person")
    await stage.drive(280)
    first = [call.at for call in stage.network.calls if call.message.phone == PHONES[0]]
    assert first == [0] * 45 + [270] * 3
    assert [call.at for call in stage.network.calls if call.message.phone == PHONES[1]] == [3]
    assert stage.network.bodies.count("another person") == 1


async def test_those_who_wait_for_the_pair_limit_are_shown(stage: Stage) -> None:
    await stage.take_over(limits(pair_seconds=6, pair_burst=2))
    shown = {"seconds": 6, "burst": 2}
    await stage.accept_many([PHONES[0]] * 2)
    await stage.drive(1)
    assert (await stage.pace())["pair"] == shown | {"free_at": None, "waiting": 0}, "at the limit nobody waits"
    await stage.accept(PHONES[0])
    await stage.drive(1)
    await stage.accept_many([PHONES[1]] * 3)
    await stage.drive(1)
    assert (await stage.pace())["pair"] == shown | {"free_at": "2026-11-15T10:00:12.000Z", "waiting": 2}
    await stage.drive(30)
    assert (await stage.pace())["pair"] == shown | {"free_at": None, "waiting": 0}


async def test_chat_goes_ahead_of_a_campaign_that_is_larger_than_memory(stage: Stage) -> None:
    await stage.take_over(limits(throughput=10), msgspec.structs.replace(RULES, read_ahead=5))
    await stage.accept_many(PHONES[:50], priority="bulk")
    await stage.drive(1)
    before = len(stage.network.calls)
    await stage.accept(PHONES[59], "a reply")
    await stage.accept(PHONES[49], "a reply to one of the campaign")
    await stage.drive(0.25)
    assert set(stage.network.bodies[before : before + 2]) == {"a reply", "a reply to one of the campaign"}
    await stage.check_floor()
    await stage.drive(10)
    assert len(stage.network.calls) == 52
    assert stage.sender.idle


async def test_a_final_no_fails_that_message_alone(stage: Stage) -> None:
    stage.network.answer = lambda m: SendRefused(NO, ErrorReaction.FINAL) if m.phone == PHONES[0] else taken(m)
    await stage.take_over()
    bad, good = await stage.accept(PHONES[0]), await stage.accept(PHONES[1])
    await stage.drive(1)
    failed = await stage.message(bad)
    assert msgspec.json.decode(failed.error or "") == {
        "code": 131026,
        "title": "Message undeliverable",
        "details": "Not on the network",
    }
    assert (await stage.status(bad), await stage.status(good)) == ("FAILED", "SENT")
    assert await stage.acks(bad) == ["PENDING", "FAILED"]


async def test_a_temporary_no_is_tried_again_until_the_last_attempt(stage: Stage) -> None:
    stage.network.answer = lambda m: SendRefused(NO, ErrorReaction.RETRY) if m.phone == PHONES[0] else taken(m)
    await stage.take_over()
    bad, behind, other = [await stage.accept(phone) for phone in (PHONES[0], PHONES[0], PHONES[1])]
    await stage.drive(1)
    assert [await stage.status(id_) for id_ in (bad, behind, other)] == ["PENDING", "PENDING", "SENT"]
    assert (await stage.message(bad)).next_at is not None
    await stage.drive(60)
    calls = [(call.message.id, call.message.attempt) for call in stage.network.calls if call.message.phone == PHONES[0]]
    assert calls == [(bad, 1), (bad, 2), (bad, 3), (behind, 1), (behind, 2), (behind, 3)]
    message = await stage.message(bad)
    assert await stage.status(bad) == "FAILED"
    assert [msgspec.json.decode(line)["attempt"] for line in message.history or ()] == [1, 2, 3]
    assert await stage.acks(bad) == ["PENDING", "FAILED"]


HELD = [ErrorReaction.HOLD_CHANNEL, ErrorReaction.HOLD_RECIPIENT, ErrorReaction.BREAK]


@pytest.mark.parametrize(
    "no", [SendNotMade("no route"), *(SendRefused(NO, reaction) for reaction in HELD)], ids=lambda no: str(no)[:60]
)
@pytest.mark.parametrize("then", [SendRefused(NO, ErrorReaction.RETRY, tries=3), SendUnknown("lost")])
async def test_attempts_while_sending_is_held_do_not_count(stage: Stage, no: Receipt, then: Receipt) -> None:
    """After an outage of the network, the first temporary error must not be the last."""
    stage.network.answer = lambda m: no if m.attempt <= 4 else then if m.attempt <= 6 else taken(m)
    await stage.take_over()
    id_ = await stage.accept(PHONES[0])
    await stage.drive(1300, stride=1)
    assert (await stage.status(id_), len(stage.network.calls)) == ("SENT", 7)


async def test_the_tries_of_a_message_count_across_owners_and_its_last_attempts_are_kept(stage: Stage) -> None:
    stage.network.answer = lambda m: (
        SendNotMade("no route") if m.attempt <= 60 else SendRefused(NO, ErrorReaction.RETRY)
    )
    await stage.take_over()
    id_ = await stage.accept(PHONES[0])
    while len(stage.network.calls) < 61:
        await stage.drive(60, stride=60)
    history = (await stage.message(id_)).history or []
    assert [msgspec.json.decode(line)["attempt"] for line in history] == list(range(12, 62))
    await stage.take_over()
    await stage.drive(600, stride=1)
    assert (await stage.status(id_), len(stage.network.calls)) == ("FAILED", 60 + RULES.attempts)


async def test_a_recipient_that_is_written_to_too_often_waits_alone(stage: Stage) -> None:
    refusals = iter([True, True, True, False, False])
    stage.network.answer = lambda m: (
        SendRefused(NO, ErrorReaction.HOLD_RECIPIENT) if m.phone == PHONES[0] and next(refusals) else taken(m)
    )
    await stage.take_over()
    first, second = await stage.accept(PHONES[0]), await stage.accept(PHONES[0])
    await stage.drive(2)
    await stage.accept(PHONES[1], "not held")
    await stage.drive(60)
    held = [(call.at, call.message.id) for call in stage.network.calls if call.message.phone == PHONES[0]]
    assert held == [(0, first), (1, first), (5, first), (21, first), (21, second)]
    assert [call.at for call in stage.network.calls if call.body == "not held"] == [2]


@pytest.mark.parametrize("no", [SendRefused(NO, ErrorReaction.HOLD_CHANNEL), SendNotMade("no route")])
async def test_a_network_that_asks_for_patience_holds_the_whole_channel(stage: Stage, no: Receipt) -> None:
    stage.network.answer = lambda m: no if len(stage.network.calls) <= 3 else taken(m)
    await stage.take_over(rules=msgspec.structs.replace(RULES, in_flight=1))
    ids = await stage.accept_many(PHONES[:5])
    await stage.drive(2.9)
    shown = msgspec.json.decode((await stage.rows("channel_heads"))[0]["pace"])
    assert shown["waiting"]["because"] in ("Message undeliverable", "no route")
    await stage.drive(10)
    assert stage.network.times == [0, 1, 3, 7, 7, 7, 7, 7]
    assert [await stage.status(id_) for id_ in ids] == ["SENT"] * 5
    await stage.drive(1)
    assert msgspec.json.decode((await stage.rows("channel_heads"))[0]["pace"])["waiting"] is None


async def test_a_message_that_breaks_its_adapter_fails_and_the_lane_lives_on(stage: Stage) -> None:
    def answer(message: Outgoing) -> Receipt:
        if message.phone == PHONES[0]:
            raise RuntimeError("no such form")
        return taken(message)

    stage.network.answer = answer
    await stage.take_over()
    bad = await stage.accept(PHONES[0])
    await stage.drive(1)
    good, next_one = await stage.accept(PHONES[1]), await stage.accept(PHONES[0])
    stage.network.answer = taken
    await stage.drive(1)
    assert [await stage.status(id_) for id_ in (bad, good, next_one)] == ["FAILED", "SENT", "SENT"]
    assert "no such form" in ((await stage.message(bad)).error or "")
