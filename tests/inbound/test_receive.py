"""Reports of the network: double, late and disordered ones change nothing, and each real change is reported once."""

import asyncio
import random
from datetime import timedelta
from itertools import permutations
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gatepost.inbound.receive import BATCH, split_updates
from gatepost.model import ids
from gatepost.model.message import STATUS, State, may_follow
from gatepost.networks.base import (
    Incoming,
    NetworkError,
    Outgoing,
    Person,
    Receipt,
    SendAccepted,
    SendUnknown,
    StatusUpdate,
    Update,
)
from tests.outbound.stage import NOW, Stage, make_stage

PHONE = "5511999998888"
STATES = {"sent": State.SENT, "delivered": State.DELIVERED, "read": State.READ, "failed": State.FAILED}
words = st.sampled_from(sorted(STATES))


def taken(message: Outgoing) -> Receipt:
    return SendAccepted(f"wamid.{message.id.hex}.{message.attempt}")


def expected(words: list[str], start: State = State.SENT) -> list[str]:
    """The statuses that events should report, by the rule alone."""
    passed = [start]
    for word in words:
        if may_follow(passed[-1], STATES[word]):
            passed.append(STATES[word])
    return [STATUS[state] for state in passed[1:]]


async def sent_message(stage: Stage, **options: Any) -> UUID:
    if not hasattr(stage, "lane"):
        await stage.take_over()
    id_ = await stage.accept(PHONE, **options)
    await stage.settle()
    return id_


def status(stage: Stage, id_: UUID, word: str, **more: Any) -> StatusUpdate:
    ours: dict[str, Any] = {"message_id": id_, "attempt": 1}
    return StatusUpdate(f"wamid.{id_.hex}.1", word, stage.clock.now(), **ours | more)


# -- statuses ---------------------------------------------------------------------------------------------------------


async def test_every_order_of_statuses_ends_the_same(stage: Stage) -> None:
    for order in permutations(["sent", "delivered", "read"]):
        id_ = await sent_message(stage)
        await stage.report(id_, *order, *order)
        assert await stage.status(id_) == "READ"
        assert await stage.acks(id_) == ["PENDING", "SENT", *expected([*order, *order])]


async def test_every_order_of_sent_and_failed_ends_in_failed(stage: Stage) -> None:
    for order in permutations(["sent", "failed", "failed", "sent"]):
        id_ = await sent_message(stage)
        await stage.report(id_, *order)
        assert await stage.acks(id_) == ["PENDING", "SENT", "FAILED"]


@given(reports=st.lists(words, min_size=1, max_size=8), cuts=st.randoms(use_true_random=False), mine=st.booleans())
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_reports_in_any_company_follow_the_rule(
    stage: Stage, reports: list[str], cuts: random.Random, mine: bool
) -> None:
    """Together in one report or one by one, with our own id or the network's alone."""
    id_ = await sent_message(stage)
    known = {} if mine else {"message_id": None, "attempt": None}
    rest: list[Update] = [status(stage, id_, word, **known) for word in reports]
    while rest:
        size = cuts.randint(1, len(rest))
        await stage.receiver.receive(stage.channel_id, stage.ref, rest[:size])
        rest = rest[size:]
    seen = ["PENDING", "SENT", *expected(reports)]
    assert await stage.acks(id_) == seen
    assert await stage.status(id_) == seen[-1]


async def test_a_hundred_statuses_at_once_cause_one_event_each(stage: Stage) -> None:
    ids_ = [await sent_message(stage) for _ in range(5)]
    reports = [(id_, word) for id_ in ids_ for word in ("delivered", "read")] * 10
    random.Random(3).shuffle(reports)
    await asyncio.gather(*(stage.report(id_, word) for id_, word in reports))
    for id_ in ids_:
        assert await stage.acks(id_) in (["PENDING", "SENT", "DELIVERED", "READ"], ["PENDING", "SENT", "READ"])
    sequence = [row["seq"] for row in await stage.rows("events", "ORDER BY id")]
    assert sequence == list(range(1, len(sequence) + 1))


async def test_a_failure_keeps_its_reason(stage: Stage) -> None:
    id_ = await sent_message(stage)
    error = NetworkError(131026, "Undeliverable", "Why")
    await stage.receiver.receive(stage.channel_id, stage.ref, [status(stage, id_, "failed", error=error)])
    shown = {"code": 131026, "title": "Undeliverable", "details": "Why"}
    assert msgspec.json.decode((await stage.message(id_)).error or "") == shown
    last = msgspec.json.decode((await stage.rows("events", "ORDER BY seq"))[-1]["body"])
    assert last["data"]["error"] == shown


async def test_an_unknown_status_causes_no_event(stage: Stage) -> None:
    id_ = await sent_message(stage)
    await stage.report(id_, "warning")
    await stage.receiver.receive(stage.channel_id, stage.ref, [])
    assert await stage.acks(id_) == ["PENDING", "SENT"]


async def test_a_status_before_our_own_commit_finds_its_message_by_our_id(stage: Stage) -> None:
    async def report_first(message: Outgoing) -> Receipt:
        await stage.report(message.id, "delivered", "sent")
        return taken(message)

    stage.network.answer = report_first
    id_ = await sent_message(stage)
    await stage.drive(1)
    assert await stage.acks(id_) == ["PENDING", "DELIVERED"]
    assert (await stage.message(id_)).network_id == f"wamid.{id_.hex}.1"
    assert stage.sender.idle


@pytest.mark.parametrize("words", [["delivered"], ["read", "sent", "delivered"], ["failed"], ["sent", "sent"]])
async def test_a_status_with_the_networks_id_alone_is_parked_until_we_know_it(stage: Stage, words: list[str]) -> None:
    error = NetworkError(131026, "Undeliverable", "Why")

    async def report_first(message: Outgoing) -> Receipt:
        for word in words:
            update = status(stage, message.id, word, message_id=None, error=error if word == "failed" else None)
            await stage.receiver.receive(stage.channel_id, stage.ref, [update])
        return taken(message)

    stage.network.answer = report_first
    id_ = await sent_message(stage)
    seen = await stage.acks(id_)
    assert seen[:2] == ["PENDING", "SENT"]
    assert seen[-1] == STATUS[max((STATES[word] for word in words), key=abs)] or seen[-1] == "FAILED"
    assert await stage.rows("parked_statuses") == []
    if words == ["failed"]:
        assert "Undeliverable" in ((await stage.message(id_)).error or "")


async def test_a_stranger_s_status_changes_nothing_and_waits_apart(stage: Stage) -> None:
    other = await make_stage(stage.db)
    theirs = await sent_message(other)
    await stage.receiver.receive(stage.channel_id, stage.ref, [status(stage, theirs, "read")])
    assert await other.acks(theirs) == ["PENDING", "SENT"]
    assert len(await stage.rows("parked_statuses")) == 1


async def test_a_report_on_a_lost_answer_teaches_us_the_networks_id(stage: Stage) -> None:
    stage.network.answer = lambda _: SendUnknown("lost")
    id_ = await sent_message(stage)
    await stage.report(id_, "sent")
    message = await stage.message(id_)
    assert (message.state, message.network_id) == (State.SENT, f"wamid.{id_.hex}.1")


async def test_a_failure_of_an_earlier_attempt_does_not_end_the_later_one(stage: Stage) -> None:
    stage.network.answer = lambda _: SendUnknown("lost")
    id_ = await sent_message(stage)
    await stage.drive(31)  # past the time of grace: a second attempt is made, whose answer is lost as well
    assert (await stage.message(id_)).attempt == 2
    await stage.report(id_, "failed", attempt=1)
    assert (await stage.message(id_)).state is State.SENDING
    await stage.report(id_, "failed", attempt=2)
    assert (await stage.message(id_)).state is State.FAILED


# -- messages ---------------------------------------------------------------------------------------------------------


def incoming(stage: Stage, number: int = 1, age: timedelta = timedelta(0), **more: Any) -> Incoming:
    person = Person(PHONE, name=more.pop("name", "Ana"))
    fields: dict[str, Any] = {"type": "text", "content": '{"body": "Oi"}'}
    return Incoming(f"wamid.in.{number}", person, at=stage.clock.now() - age, **fields | more)


async def received(stage: Stage) -> list[Any]:
    return await stage.rows("messages", "AND incoming ORDER BY id")


async def test_a_message_that_is_reported_twice_is_one_message(stage: Stage) -> None:
    first, second = incoming(stage, 1), incoming(stage, 2)
    for updates in ([first, first], [first], [second, first], [second]):
        await stage.receiver.receive(stage.channel_id, stage.ref, updates)
    await asyncio.gather(*(stage.receiver.receive(stage.channel_id, stage.ref, [first]) for _ in range(20)))
    rows = await received(stage)
    assert sorted(row["network_id"] for row in rows) == ["wamid.in.1", "wamid.in.2"]
    assert len(await stage.rows("events", "AND type = 'message_notification'")) == 2
    assert len(await stage.rows("contacts")) == 1


async def test_a_message_is_reported_with_its_contact_and_what_it_answers(stage: Stage) -> None:
    answered = await sent_message(stage)
    update = incoming(stage, reply_to=f"wamid.{answered.hex}.1")
    await stage.receiver.receive(stage.channel_id, stage.ref, [update])
    event = msgspec.json.decode((await stage.rows("events", "ORDER BY seq"))[-1]["body"])
    assert (event["type"], event["action"]) == ("message_notification", "created")
    data = event["data"]
    assert (data["direction"], data["contact"]["name"], data["content"]) == ("in", "Ana", {"body": "Oi"})
    assert data["context"] == {"reply_to": ids.message_id(answered)}
    (conversation,) = await stage.rows("conversations")
    assert conversation["last_in_at"] == stage.clock.now()


async def test_the_window_counts_from_the_newest_message_whatever_the_order(stage: Stage) -> None:
    for age in (5, 1, 3):
        update = incoming(stage, age, timedelta(hours=age))
        await stage.receiver.receive(stage.channel_id, stage.ref, [update])
    (conversation,) = await stage.rows("conversations")
    assert conversation["last_in_at"] == stage.clock.now() - timedelta(hours=1)


async def test_a_name_follows_its_owner(stage: Stage) -> None:
    for number, name in enumerate(["Ana", None, "Ana Maria"]):
        await stage.receiver.receive(stage.channel_id, stage.ref, [incoming(stage, number, name=name)])
    assert [row["name"] for row in await stage.rows("contacts")] == ["Ana Maria"]


@pytest.mark.parametrize("age", [timedelta(days=400), timedelta(days=8), timedelta(days=-30), timedelta(hours=-2)])
async def test_a_time_far_off_is_moved_to_where_there_is_room(stage: Stage, age: timedelta) -> None:
    await stage.receiver.receive(stage.channel_id, stage.ref, [incoming(stage, age=age)])
    (row,) = await received(stage)
    now = stage.clock.now()
    assert now - timedelta(days=7) <= row["sent_at"] <= now + timedelta(hours=1)
    first, after = ids.second_of(row["sent_at"])
    assert first <= row["id"] < after


@pytest.mark.parametrize("age", [timedelta(0), timedelta(seconds=3), timedelta(seconds=-3)], ids=str)
async def test_messages_of_one_second_keep_the_order_in_which_they_came(stage: Stage, age: timedelta) -> None:
    said = [incoming(stage, number, age) for number in range(60)]
    for start in range(0, 60, 20):
        await stage.receiver.receive(stage.channel_id, stage.ref, said[start : start + 20])
        stage.clock.advance(0.01)
    await stage.receiver.receive(stage.channel_id, stage.ref, said)  # and reported once more
    rows = sorted(await received(stage), key=lambda row: row["id"])
    assert [row["network_id"] for row in rows] == [one.network_id for one in said]


async def test_a_message_of_last_week_reported_again_is_still_one_message(stage: Stage) -> None:
    late = incoming(stage, age=timedelta(days=8))
    for _ in range(3):
        await stage.receiver.receive(stage.channel_id, stage.ref, [late, late])
        stage.clock.advance(60)
    assert len(await received(stage)) == 1


@pytest.mark.parametrize("ages", list(permutations([0, 1, 240])), ids=str)
async def test_a_message_reported_again_with_another_time_is_one_message(stage: Stage, ages: tuple[int, ...]) -> None:
    for age in ages:
        await stage.receiver.receive(stage.channel_id, stage.ref, [incoming(stage, age=timedelta(seconds=age))])
        stage.clock.advance(30)
    assert len(await received(stage)) == 1


# -- many at once -----------------------------------------------------------------------------------------------------


def text(number: int, length: int = 1) -> Incoming:
    return Incoming(f"wamid.{number}", Person(PHONE), "text", msgspec.json.encode({"body": "x" * length}).decode(), NOW)


@pytest.mark.parametrize(
    ("lengths", "parts"),
    [
        ([], []),
        ([1] * BATCH, [BATCH]),
        ([1] * (BATCH + 1), [BATCH, 1]),
        ([65_536] * 60, [28, 28, 4]),  # each counts as nine
        ([10_000_000, 1, 10_000_000], [1, 1, 1]),
    ],
)
def test_a_report_is_divided_by_number_and_length(lengths: list[int], parts: list[int]) -> None:
    updates = [text(number, length) for number, length in enumerate(lengths)]
    divided = list(split_updates(updates))
    assert [len(part) for part in divided] == parts
    assert [update for part in divided for update in part] == updates


async def test_a_large_report_is_written_in_several_commits(stage: Stage) -> None:
    async with stage.db.connection() as conn:
        await stage.receiver.receive(stage.channel_id, stage.ref, [text(number) for number in range(BATCH + 1)])
        commits = await conn.fetch(
            "SELECT xmin::text, count(*) AS count FROM messages WHERE channel_id = $1 GROUP BY 1 ORDER BY 2 DESC",
            stage.channel_id,
        )
    assert [row["count"] for row in commits] == [BATCH, 1]
