"""After an outage: a short one pauses nothing, and when the endpoint recovers, all retries are sent at once."""

import asyncio
from datetime import timedelta
from types import SimpleNamespace

import pytest

from gatepost.model import ids
from gatepost.store.deliveries.retry import make_retries_due
from gatepost.webhooks import delivery_request, outage_recovery
from tests.conftest import Answer, Received
from tests.webhooks.stage import ANA, DAY, Stage, event_ids, near

UP = Answer()


@pytest.mark.parametrize("status", [500, 502])
async def test_a_restart_of_two_seconds_pauses_nothing(stage: Stage, status: int) -> None:
    hook = await stage.add()
    stage.receiver.answer = Answer(status)
    await stage.take_over()
    emitted = await stage.emit(200)
    await stage.drive(2)
    assert len(stage.received()) < 100  # the rest waits until it is back, and fails no attempt
    stage.receiver.answer = UP
    stage.receiver.requests.clear()
    await stage.drive(1)
    assert len(stage.events_at()) > 100
    await stage.drive(80)
    assert sorted(stage.events_at()) == event_ids(emitted)
    assert (await stage.endpoint(hook)).state == "active"
    assert [one["action"] for one in await stage.notices()] == ["endpoint_failing"]


@pytest.mark.parametrize("ordered", [False, True])
async def test_after_the_first_success_all_retries_are_sent_oldest_first(stage: Stage, ordered: bool) -> None:
    await stage.add(ordered=ordered)
    stage.receiver.answer = Answer(500)
    await stage.take_over(in_flight=1)
    emitted = [id_ for number in range(4) for id_ in await stage.emit(2, conversation_id=ids.new_id(stage.clock.now()))]
    await stage.drive(20)  # what was tried fails twice, and has five minutes to wait
    stage.receiver.answer = UP
    stage.receiver.requests.clear()
    emitted += await stage.emit(1, ANA)
    await stage.settle()
    assert sorted(stage.events_at()) == event_ids(emitted)
    first, *rest = stage.events_at()
    assert first == event_ids(emitted)[-1]
    if not ordered:
        assert rest == event_ids(emitted)[:-1]
    assert await stage.rows("delivery_retries") == []


async def test_a_failed_probe_is_sent_before_new_deliveries(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    # By chance all third attempts could come after the five minutes in which the breaker counts failures.
    monkeypatch.setattr(delivery_request, "random", SimpleNamespace(random=lambda: 0.4))
    await stage.add()
    stage.receiver.answer = Answer(500)
    await stage.take_over(in_flight=1)
    tried = await stage.emit(12)
    await stage.drive(1200)
    later = await stage.emit(300)
    stage.receiver.answer = UP
    stage.receiver.requests.clear()
    await stage.drive(400)
    assert sorted(stage.events_at()[:12]) == event_ids(tried)
    assert sorted(stage.events_at()[12:]) == event_ids(later)


async def test_the_concurrency_limit_holds_after_an_outage(stage: Stage) -> None:
    await stage.add()
    stage.receiver.answer = Answer(500)
    await stage.take_over(in_flight=4)
    emitted = await stage.emit(300)
    await stage.drive(90)
    under_way = most = 0

    async def answer(_: Received) -> Answer:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.001)
        under_way -= 1
        return UP

    stage.receiver.answer = answer
    stage.receiver.requests.clear()
    await stage.drive(400)
    assert set(stage.events_at()) == set(event_ids(emitted))
    assert most <= 4


async def test_a_rate_limit_holds_after_an_outage(stage: Stage) -> None:
    await stage.add(rate=5)
    stage.receiver.answer = Answer(500)
    await stage.take_over()
    emitted = await stage.emit(40)
    await stage.drive(120)
    times: list[float] = []

    def answer(_: Received) -> Answer:
        times.append(stage.clock.monotonic())
        return UP

    stage.receiver.answer = answer
    stage.receiver.requests.clear()
    await stage.drive(600)
    assert set(stage.events_at()) == set(event_ids(emitted))
    assert all(b - a >= 1 for a, b in zip(times, times[5:], strict=False))


async def test_attempts_after_an_outage_do_not_count_in_the_schedule(stage: Stage) -> None:
    """One event that never succeeds, at an endpoint that accepts all others: its ten attempts take three days."""
    await stage.add()
    (poison,) = await stage.emit()
    name = ids.format_id("evt", poison)
    stage.receiver.answer = lambda request: Answer(500) if request.json()["id"] == name else UP
    await stage.take_over()
    await stage.drive(7)
    for _ in range(24):
        await stage.drive(4 * 3600)
        await stage.emit()
    await stage.drive(60)
    (row,) = await stage.rows("deliveries", f"AND event_id = '{poison}'")
    ends = (row["settled_at"] - stage.start).total_seconds() if row["settled_at"] else 5 * DAY
    assert ends > 2.5 * DAY
    assert 1 <= row["begun"] <= 20  # so many tries came with a success of others
    assert row["attempts"] <= 10 + row["begun"]


async def test_what_was_in_flight_at_the_end_of_the_outage_is_retried_too(stage: Stage) -> None:
    await stage.add()
    stage.receiver.answer = Answer(500)
    await stage.take_over()
    (slow,) = await stage.emit()
    await stage.drive(20)
    (row,) = await stage.rows("delivery_retries")
    stage.clock.advance((row["next_at"] - stage.clock.now()).total_seconds())
    came = asyncio.Event()

    async def answer(request: Received) -> Answer:
        if request.json()["id"] != ids.format_id("evt", slow):
            stage.clock.advance(0.01)
            came.set()
        elif not came.is_set():
            await came.wait()
            await asyncio.sleep(0.1)
            return Answer(500)
        return UP

    stage.receiver.answer = answer
    (quick,) = await stage.emit()
    stage.receiver.requests.clear()
    await stage.settle()
    assert sorted(stage.events_at()) == sorted(event_ids([slow, slow, quick]))


async def test_after_a_crash_the_next_owner_makes_the_rest_of_the_retries_due(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = await stage.add()
    stage.receiver.answer = Answer(500)
    await stage.take_over(in_flight=1)
    emitted = await stage.emit(12)
    await stage.drive(3600)
    assert (await stage.endpoint(hook)).state == "paused"
    assert stage.lease is not None
    # The probe has arrived, one piece is written, and nothing after it.
    assert await make_retries_due(stage.db, stage.lease, hook, stage.clock.now(), limit=2) == 2
    monkeypatch.setattr(outage_recovery, "CHUNK", 2)
    await stage.take_over()
    stage.receiver.answer = UP
    stage.receiver.requests.clear()
    await stage.drive(400)
    assert set(stage.events_at()) == set(event_ids(emitted))
    assert await stage.rows("delivery_retries") == []


async def test_making_retries_due_is_fenced_and_does_not_touch_other_endpoints(stage: Stage) -> None:
    mine, other = await stage.add("/mine"), await stage.add("/other")
    stage.receiver.answer = Answer(500)
    await stage.take_over()
    await stage.emit(3)
    await stage.drive(20)
    assert stage.lease is not None
    rows = await stage.rows("delivery_retries")
    before = {row["event_id"]: row["next_at"] for row in rows if row["endpoint_id"] == other}
    assert await make_retries_due(stage.db, stage.lease, mine, stage.clock.now(), limit=1000) == 3
    assert await make_retries_due(stage.db, stage.lease, mine, stage.clock.now(), limit=1000) == 0
    rows = await stage.rows("delivery_retries")
    assert {row["event_id"]: row["next_at"] for row in rows if row["endpoint_id"] == other} == before
    due = [row["next_at"] for row in rows if row["endpoint_id"] == mine]
    assert all(at <= stage.clock.now() for at in due)
    assert near((stage.clock.now() - max(due)).total_seconds(), 20)
    assert max(due) - min(due) < timedelta(seconds=1)
