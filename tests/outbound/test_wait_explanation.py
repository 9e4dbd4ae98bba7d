"""Why a message waits, and until when: while it does, on any node, and afterwards in its trace."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest

from gatepost.api.contract.messages import Trace, Waiting
from gatepost.model.waits import RULES, words
from gatepost.networks.base import (
    ErrorReaction,
    NetworkError,
    Outgoing,
    Receipt,
    SendAccepted,
    SendNotMade,
    SendRefused,
    SendUnknown,
)
from gatepost.outbound.wait_explanation import explain_wait, pair_free
from gatepost.outbound.wait_history import NOTED
from gatepost.store.messages.history import read_trace
from tests.for_each import for_each
from tests.outbound.stage import FAST, NOW, Stage
from tests.outbound.stage import RULES as SENDING

PERSON, OTHER = "5511999998888", "5511999997777"
PHONES = [f"55119000000{i:02d}" for i in range(60)]
PAIR = msgspec.structs.replace(FAST, pair_seconds=6, pair_burst=4)
SPAM = SendRefused(NetworkError(131048, "Spam rate limit hit"), ErrorReaction.HOLD_NEW)


def taken(message: Outgoing) -> Receipt:
    return SendAccepted(f"wamid.{message.id.hex}.{message.attempt}")


def busy(_message: Outgoing) -> Receipt:
    return SendRefused(NetworkError(131016, "Service overloaded"), ErrorReaction.RETRY)


def lost(_message: Outgoing) -> Receipt:
    return SendUnknown("The network's answer was lost")


def unreachable(_message: Outgoing) -> Receipt:
    return SendNotMade("The network could not be reached")


async def why(stage: Stage, message_id: UUID) -> dict[str, Any] | None:
    """What `GET /messages/{id}` says, in seconds of the stage."""
    wait = await explain_wait(stage.db, stage.channel_id, await stage.message(message_id), stage.clock.now())
    return None if wait is None else msgspec.structs.asdict(Waiting.of(wait)) | {"until": _seconds(wait.until)}


def _seconds(at: datetime | None) -> float | None:
    """Return the seconds since the beginning, from whole milliseconds, as answers have them."""
    return None if at is None else round((at - NOW) // timedelta(milliseconds=1) / 1000, 1)


async def waited(stage: Stage, message_id: UUID) -> list[tuple[str, float, float, str | None]]:
    """The waits that the trace keeps: rule, from, until, and which message they are due to."""
    message = await stage.message(message_id)
    rows = await read_trace(stage.db, stage.channel_id, message.event_ids)
    trace = msgspec.json.decode(msgspec.json.encode(Trace.of(message, None, rows, stage.clock.now())))
    return [
        (
            step["rule"],
            _seconds(datetime.fromisoformat(step["at"])) or 0.0,
            _seconds(datetime.fromisoformat(step["until"])) or 0.0,
            step["message_id"],
        )
        for step in trace["steps"]
        if step["step"] == "waited"
    ]


def shown(message_id: UUID) -> str:
    return message_id.hex.upper()


async def test_the_pair_limit_is_named_with_its_end_and_kept(stage: Stage) -> None:
    await stage.take_over(PAIR)
    ids = [await stage.accept(PERSON, f"{i}") for i in range(6)]
    await stage.drive(1)
    assert len(stage.network.calls) == 4, "a burst of four"
    for id_ in ids[4:]:
        found = await why(stage, id_)
        assert found is not None
        assert (found["rule"], found["until"], found["message_id"]) == ("pair_limit", 24.0, None)
        assert "one message every 6 s; up to 4" in found["because"]
    await stage.drive(30)
    assert stage.network.times[4:] == [24, 24], "a burst of n costs n times 6 s"
    assert await why(stage, ids[4]) is None
    assert await waited(stage, ids[4]) == [("pair_limit", 0.0, 24.0, None)]
    assert await waited(stage, ids[3]) == []


async def test_the_pair_limit_is_foretold_for_those_far_behind(stage: Stage) -> None:
    await stage.take_over(PAIR)
    ids = [await stage.accept(PERSON, f"{i}") for i in range(12)]
    await stage.drive(1)
    foretold = [(await why(stage, id_) or {}).get("until") for id_ in ids[4:]]
    assert foretold == [24.0] * 4 + [48.0] * 4
    await stage.drive(60)
    assert stage.network.times[4:] == foretold


async def test_another_node_and_the_next_owner_say_the_same(stage: Stage) -> None:
    """Nothing of it is read from the owner's memory."""
    await stage.take_over(PAIR)
    ids = [await stage.accept(PERSON, f"{i}") for i in range(5)]
    await stage.drive(1)
    before = await why(stage, ids[4])
    del stage.sender  # as after kill -9: its memory is gone
    assert await why(stage, ids[4]) == before


async def test_a_back_off_ahead_is_named_with_its_message(stage: Stage) -> None:
    stage.network.answer = busy
    await stage.take_over(rules=msgspec.structs.replace(SENDING, retry_base=100))
    first = await stage.accept(PERSON, "A")
    await stage.drive(1)
    second = await stage.accept(PERSON, "B")
    await stage.drive(1)
    next_at = _seconds((await stage.message(first)).next_at)
    own, behind = await why(stage, first), await why(stage, second)
    assert own == {"rule": "retry", "because": words("retry"), "until": next_at, "message_id": None}
    assert behind == {
        "rule": "retry",
        "because": words("retry", ahead=True),
        "until": next_at,
        "message_id": shown(first),
    }
    stage.network.answer = taken
    await stage.drive(150)
    ((rule, start, end, due_to),) = await waited(stage, second)
    assert (rule, start, end, due_to) == ("retry", 1.0, next_at, shown(first))
    assert [wait[0] for wait in await waited(stage, first)] == ["retry"]
    assert (await waited(stage, first))[0][3] is None


async def test_an_unknown_outcome_is_named_for_it_and_for_those_behind(stage: Stage) -> None:
    stage.network.answer = lost
    await stage.take_over()
    first, second = await stage.accept(PERSON, "A"), await stage.accept(PERSON, "B")
    await stage.drive(2)
    own, behind = await why(stage, first), await why(stage, second)
    assert own is not None
    assert behind is not None
    assert (own["rule"], own["until"], own["message_id"]) == ("unknown_outcome", 30.0, None)
    assert (behind["rule"], behind["until"], behind["message_id"]) == ("unknown_outcome", 30.0, shown(first))
    stage.network.answer = taken
    await stage.drive(40)
    assert await waited(stage, second) == [("unknown_outcome", 0.0, 30.0, shown(first))]
    assert (await stage.message(first)).next_at is None


async def test_an_unknown_outcome_that_an_owner_takes_over_is_named(stage: Stage) -> None:
    stage.network.answer = lost
    await stage.take_over()
    first = await stage.accept(PERSON, "A")
    await stage.settle()  # and dies
    await stage.take_over()
    await stage.drive(2)
    found = await why(stage, first)
    assert found is not None
    assert found["rule"] == "unknown_outcome"
    assert found["until"] == 30.0


async def test_a_tier_is_named_with_when_it_is_free(stage: Stage) -> None:
    await stage.take_over(msgspec.structs.replace(FAST, tier=1))
    await stage.accept(OTHER, "opens the only one")
    await stage.drive(10)
    new, known = await stage.accept(PERSON, "A", ttl=200_000), await stage.accept(OTHER, "B")
    await stage.drive(1)
    found = await why(stage, new)
    assert found is not None
    assert (found["rule"], found["until"]) == ("tier", 86_400.0)
    assert await why(stage, known) is None
    await stage.drive(86_400, stride=600)
    ((rule, start, end, _),) = await waited(stage, new)
    assert (rule, start) == ("tier", 10.0)
    assert 86_390 <= end <= 87_100


async def test_a_warm_up_is_named_on_a_linked_number(stage: Stage) -> None:
    await stage.take_over(msgspec.structs.replace(FAST, tier=1, warm_up=True))
    _, second = await stage.accept_many(PHONES[:2])
    await stage.drive(1)
    assert (await why(stage, second) or {})["rule"] == "warm_up"
    assert (await stage.pace())["waiting"]["rule"] == "warm_up"


async def test_new_conversations_that_the_network_forbids_are_named(stage: Stage) -> None:
    stage.network.answer = lambda _: SPAM
    await stage.take_over()
    await stage.accept(OTHER, "A")
    await stage.drive(1)
    held = await stage.accept(PERSON, "B")
    await stage.drive(1)
    found = await why(stage, held)
    assert found is not None
    assert (found["rule"], found["until"], found["because"]) == ("new_conversations", 900.0, "Spam rate limit hit")


async def test_a_channel_that_is_not_connected_is_named(stage: Stage) -> None:
    await stage.take_over(connected=False)
    first = await stage.accept(PERSON, "A")
    await stage.drive(9)
    assert await why(stage, first) == {
        "rule": "not_connected",
        "because": "The channel is not connected",
        "until": None,
        "message_id": None,
    }
    stage.sender.connect(stage.network)
    await stage.drive(1)
    assert await waited(stage, first) == [("not_connected", 0.0, 9.0, None)]


async def test_a_hold_of_the_network_is_named(stage: Stage) -> None:
    stage.network.answer = unreachable
    await stage.take_over()
    await stage.accept(PERSON, "A")
    await stage.drive(10)
    stage.network.answer = taken
    other = await stage.accept(OTHER, "B")
    await stage.drive(0.6)
    found = await why(stage, other)
    assert found is not None
    assert (found["rule"], found["because"]) == ("hold", "The network could not be reached")
    assert found["until"] == 15.0
    await stage.drive(20)
    assert await waited(stage, other) == [("hold", 10.0, 15.0, None)]


async def test_the_throughput_is_named_with_how_many_are_ahead(stage: Stage) -> None:
    await stage.take_over(msgspec.structs.replace(FAST, throughput=2))
    ids = await stage.accept_many(PHONES[:40], priority="bulk")
    await stage.drive(1)
    ahead = 39 - len(stage.network.calls)
    found = await why(stage, ids[39])
    assert found is not None
    assert found["rule"] == "throughput"
    assert found["because"].startswith(f"{ahead} messages of this number are ahead of it")
    assert found["until"] == pytest.approx(1 + ahead / 2, abs=0.6)
    await stage.drive(40)
    ((rule, start, end, _),) = await waited(stage, ids[39])
    assert (rule, start) == ("throughput", 0.0)
    assert end == pytest.approx(19.5, abs=1)
    assert await waited(stage, ids[1]) == [], "what is shorter than two seconds is not noted"


async def test_a_channel_that_nobody_sends_for_is_named_after_a_while(stage: Stage) -> None:
    first = await stage.accept(PERSON, "A")
    assert (await why(stage, first) or {})["rule"] == "queue"
    stage.clock.advance(6)
    assert (await why(stage, first) or {})["rule"] == "no_worker"


async def test_a_schedule_is_named(stage: Stage) -> None:
    await stage.take_over()
    first = await stage.accept(PERSON, "A", send_at=NOW + timedelta(seconds=60))
    assert (await why(stage, first) or {})["until"] == 60.0
    assert (await why(stage, first) or {})["rule"] == "scheduled"


async def test_a_scheduled_message_in_back_off_is_named_for_those_behind(stage: Stage) -> None:
    stage.network.answer = busy
    await stage.take_over(rules=msgspec.structs.replace(SENDING, retry_base=100))
    first = await stage.accept(PERSON, "A", send_at=NOW + timedelta(seconds=5))
    await stage.accept(OTHER, "settled later, so that the floor is behind")
    await stage.drive(10)
    second = await stage.accept(PERSON, "B")
    await stage.drive(1)
    assert (await why(stage, second) or {})["message_id"] == shown(first)


async def test_what_expires_keeps_what_held_it(stage: Stage) -> None:
    await stage.take_over(connected=False)
    first = await stage.accept(PERSON, "A", ttl=5)
    await stage.drive(10)
    assert await stage.status(first) == "EXPIRED"
    ((rule, start, end, _),) = await waited(stage, first)
    assert (rule, start) == ("not_connected", 0.0)
    assert 5 <= end <= 6


async def test_short_waits_are_not_written(stage: Stage) -> None:
    await stage.take_over(msgspec.structs.replace(FAST, pair_seconds=NOTED - 0.1, pair_burst=1))
    ids = [await stage.accept(PERSON, f"{i}") for i in range(2)]
    await stage.drive(10)
    assert [(await stage.message(id_)).waits for id_ in ids] == [None, None]
    await stage.take_over(msgspec.structs.replace(FAST, pair_seconds=NOTED, pair_burst=1))
    ids = [await stage.accept(PERSON, f"{i}") for i in range(2)]
    await stage.drive(10)
    assert [bool((await stage.message(id_)).waits) for id_ in ids] == [False, True]


@for_each(
    ("sent", "before", "free"),
    [
        ([], 0, 0),
        ([-1], 0, 0),  # within the burst
        ([-3, -2, -1, 0], 0, 21),  # four cost 24 s from the first on
        ([-3, -2, -1, 0], 3, 21),
        ([-3, -2, -1, 0], 4, 45),
        ([-30, -29, -28, -27], 0, 0),  # paid back
        ([-7], 0, 0),
        ([-7, -1], 0, 0),
    ],
)
def test_when_the_pair_limit_lets_the_next_one_go(sent: list[int], before: int, free: int) -> None:
    times = [NOW + timedelta(seconds=at) for at in sent]
    assert pair_free(times, 6, 4, before, NOW) == NOW + timedelta(seconds=free)


def test_every_rule_has_words() -> None:
    assert all(words(rule) and words(rule, ahead=True) for rule in RULES)


async def test_the_waits_of_the_last_twenty_attempts_are_kept(stage: Stage) -> None:
    """However long the network is away: what a message remembers is bounded."""
    stage.network.answer = busy
    await stage.take_over(rules=msgspec.structs.replace(SENDING, attempts=100, retry_base=4, retry_most=4))
    first = await stage.accept(PERSON, "A", ttl=10_000)
    await stage.drive(130)
    message = await stage.message(first)
    assert message.attempt > 25
    assert len(message.waits or []) == 20
    steps = await waited(stage, first)
    assert {step[0] for step in steps} == {"retry"}
    assert steps[-1][2] > 100, "the newest are kept"
