"""A campaign to people who never wrote: as many a day as the tier allows, to the last, and nobody else waits for it.

5,000 on a number of 1,000 a day: the sender over a real database, with a clock that is moved
60 on a number of 20 a day: the whole gateway, at a network that counts for itself
"""

from datetime import timedelta

import msgspec
import pytest

from gatepost.store.channels import get_config
from tests.outbound.stage import FAST, NOW, Call, Stage

DAY, HOUR = 86_400.0, 3600.0
WEEK = 7 * 86_400
LADDER = (1000, 10_000, 100_000, 0)
NUMBER = msgspec.structs.replace(FAST, tier=1000, throughput=1000, tier_since=NOW, quality="GREEN")


def people(count: int) -> list[str]:
    return [str(5_511_900_000_000 + i) for i in range(count)]


def most_in_a_day(times: list[float]) -> int:
    """The most in any 24 hours: a window that ends with each of them, and holds those after its beginning."""
    most = first = 0
    for last, at in enumerate(times):
        while times[first] <= at - DAY:
            first += 1
        most = max(most, last - first + 1)
    return most


def openings(calls: list[Call]) -> list[float]:
    """When the campaign wrote to its people."""
    return [call.at for call in calls if call.message.phone.startswith("55119")]


async def answer_somebody(stage: Stage, phone: str) -> None:
    """Somebody writes in the middle of it, and is answered at once."""
    await stage.receive_text(phone)
    await stage.accept(phone, "an answer")
    before = stage.clock.monotonic()
    await stage.drive(0.1)
    (call,) = [call for call in stage.network.calls if call.message.phone == phone]
    assert call.body == "an answer"
    assert NOW.timestamp() + call.at - before < 0.1


async def tier_of(stage: Stage) -> int | None:
    config = await get_config(stage.db, stage.channel_id)
    assert config is not None
    tier: int | None = config.limits.get("tier")
    return tier


async def accept_all(stage: Stage, phones: list[str]) -> None:
    for first in range(0, len(phones), 1000):
        await stage.accept_many(phones[first : first + 1000], priority="bulk", ttl=WEEK)


async def drive_to(stage: Stage, at: float, *, stride: float = 0.05) -> None:
    """Lets time pass until so many seconds after the beginning."""
    await stage.drive(at - (stage.clock.now() - NOW).total_seconds(), stride=stride)


async def check_all_once(stage: Stage, phones: list[str]) -> None:
    sent = [call.message.phone for call in stage.network.calls if call.message.phone.startswith("55119")]
    assert sorted(sent) == phones
    unsent = await stage.rows("messages", "AND NOT incoming AND state <> 2")
    assert unsent == []
    assert stage.sender.idle


async def test_five_thousand_on_a_thousand_a_day_and_the_tier_rises_by_the_rule(stage: Stage) -> None:
    phones = people(5000)
    await accept_all(stage, phones)
    limits = msgspec.structs.replace(NUMBER, ladder=LADDER, rise_after=timedelta(days=1))
    await stage.take_over(limits)
    await stage.drive(2, stride=0.02)
    assert len(stage.network.calls) == 1000
    assert stage.network.times[-1] == pytest.approx(1, abs=0.1), "as fast as the throughput allows"
    await stage.drive(12 * HOUR, stride=HOUR)
    await answer_somebody(stage, "447700900123")
    assert (await stage.pace())["tier"]["waiting"] == 4000
    await stage.drive(DAY - 2 - 12 * HOUR - 1, stride=HOUR)
    assert (len(openings(stage.network.calls)), await tier_of(stage)) == (1000, None), "not a moment too early"
    await stage.drive(20, stride=0.02)
    times = openings(stage.network.calls)
    assert await tier_of(stage) == 10_000
    assert most_in_a_day(times[:1000]) == 1000
    assert min(times[1000:]) >= DAY
    assert most_in_a_day(times) <= 10_000
    await check_all_once(stage, phones)


async def test_without_a_rise_every_rolling_day_holds_exactly_the_tier(stage: Stage) -> None:
    phones = people(440)
    await stage.take_over(msgspec.structs.replace(NUMBER, tier=100, throughput=20))
    await accept_all(stage, phones[:60])
    await drive_to(stage, 10)
    await drive_to(stage, 7 * HOUR, stride=HOUR)
    await accept_all(stage, phones[60:])
    await drive_to(stage, 7 * HOUR + 10)
    for day in range(1, 5):
        for again in (day * DAY, day * DAY + 7 * HOUR):
            await drive_to(stage, again - 5, stride=HOUR)
            await answer_somebody(stage, f"44770090{again / HOUR:.0f}")
            await drive_to(stage, again + 10)
    times = openings(stage.network.calls)
    later = [after - before for before, after in zip(times, times[100:], strict=False)]
    assert min(later) >= DAY, "no rolling day holds more"
    assert max(later) < DAY + 2.5, "and none is wasted: a place that is free is taken"
    assert most_in_a_day(times) == 100
    await check_all_once(stage, phones)
