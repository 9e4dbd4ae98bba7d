"""Messages per day: each counted once, no matter who counts, and none for what is no message."""

import asyncio
from datetime import timedelta

import msgspec

from gatepost.model.dates import Days
from gatepost.networks.base import ErrorReaction, NetworkError, Outgoing, Person, SendRefused
from gatepost.store.usage import (
    DayCount,
    count_all,
    count_messages,
    read_days,
    sum_codes,
    sum_failures,
    uncounted_channels,
)
from tests.inbound.incoming_messages import ANA, message_from, receive
from tests.outbound.stage import NOW, Stage

TODAY = NOW.date()


async def days(stage: Stage) -> list[DayCount]:
    return await read_days(stage.db, stage.channel_id, TODAY)


async def test_each_message_counts_once_on_its_day(stage: Stage) -> None:
    message = message_from(stage, ANA, "text", {"body": 'x\x00 "direction":"out","type":"y"'})
    await receive(stage, message, message_from(stage, Person(lid="1", name="Bob"), "image", {}, age=3 * 86_400))
    await receive(stage, message_from(stage, ANA, "reaction", {"reaction": {"emoji": "x"}}, target=message.network_id))
    await stage.accept("5511999990001")
    stage.clock.advance(86_400)
    await stage.accept("5511999990001")
    while await count_messages(stage.db, stage.channel_id, 2):
        pass
    tomorrow = TODAY + timedelta(days=1)
    counted = {(one.day, one.incoming, one.type): one.count for one in await days(stage)}
    assert counted.pop((tomorrow, False, "text")) == 1
    assert counted.pop((TODAY, False, "text")) == 1
    assert counted.pop((TODAY, True, "text")) == 1
    assert counted.pop((TODAY, True, "image")) == 1
    assert sum(counted.values()) == len([key for key in counted if key[2] == "reaction"])


async def test_two_who_count_at_once_count_once(stage: Stage) -> None:
    await stage.accept_many([f"55119999900{i:02d}" for i in range(20)])
    await asyncio.gather(*(count_messages(stage.db, stage.channel_id) for _ in range(4)))
    assert [one.count for one in await days(stage)] == [20]


def refuse(message: Outgoing) -> SendRefused:
    return SendRefused(NetworkError(131026, 'Not "there", {"code":1}'), ErrorReaction.FINAL)


async def test_a_failed_message_counts_once_on_the_day_it_was_accepted(stage: Stage) -> None:
    await stage.take_over()
    stage.network.answer = refuse
    refused = [await stage.accept("5511999990001"), await stage.accept("5511999990002")]
    await stage.accept("5511999990003", send_at=NOW + timedelta(days=1), ttl=60)  # waits until the number is connected
    await stage.drive(1)
    await stage.take_over(connected=False)
    await stage.drive(90_000, stride=60)
    await stage.report(refused[0], "failed", "delivered")  # too late: it has failed already
    while await count_messages(stage.db, stage.channel_id, 2):
        pass
    today, later = Days(TODAY, TODAY + timedelta(days=1)), Days(TODAY + timedelta(days=1), TODAY + timedelta(days=9))
    codes = {one.code: one for one in await sum_codes(stage.db, [stage.channel_id], today, 10)}
    assert {code: one.count for code, one in codes.items()} == {"131026": 2, "expired": 1}
    assert codes["131026"].message_id == refused[1]
    assert [one.count for one in await sum_failures(stage.db, [stage.channel_id], today)] == [3, 3]  # day and channel
    assert await sum_failures(stage.db, [stage.channel_id], later) == []


async def test_upkeep_counts_what_is_new_and_rests(stage: Stage) -> None:
    assert stage.channel_id not in await uncounted_channels(stage.db)
    await stage.accept("5511999990001")
    assert stage.channel_id in await uncounted_channels(stage.db)
    await count_all(stage.db)
    assert stage.channel_id not in await uncounted_channels(stage.db)
    assert [one.count for one in await days(stage)] == [1]
    assert await count_messages(stage.db, stage.channel_id) == 0


async def test_the_created_event_is_the_first_of_its_message(stage: Stage) -> None:
    await stage.accept("5511999990001", client_ref='"' * 200)
    await receive(stage, message_from(stage, Person(user_id='U"S.\\1', name='"'), "text"))
    messages = {row["id"]: row["event_ids"][0] for row in await stage.rows("messages")}
    rows = [row for row in await stage.rows("events") if row["message_id"]]
    assert {row["message_id"]: row["id"] for row in rows} == messages
    bodies = [msgspec.json.decode(row["body"]) for row in rows]
    assert [(body["type"], body["action"]) for body in bodies] == [("message_notification", "created")] * 2
    await count_all(stage.db)
    assert sum(one.count for one in await days(stage)) == 2
