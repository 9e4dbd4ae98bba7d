"""The circuit breaker: when it opens, probes, closes and gives up; and the notices it emits."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from gatepost.model.endpoint import ACTIVE, DISABLED, PAUSED, HealthCounters
from gatepost.model.event import SYSTEM
from gatepost.model.event.templates import TemplateApproved
from gatepost.store.endpoints import EndpointChange, set_endpoint_state, update_endpoint
from gatepost.webhooks.breaker import (
    FailureWindow,
    ObservedPost,
    decide,
    ends_outage,
    is_throttled,
    probe_delay,
    should_open,
)
from tests.conftest import Answer, Received
from tests.for_each import for_each
from tests.webhooks.stage import DAY, Stage, event_ids, near

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DOWN, UP = Answer(500), Answer()

# -- the decision -----------------------------------------------------------------------------------------------------


@for_each(
    ("finished", "failed", "outage", "failures", "opened"),
    [
        (9, 9, 30, 10, False),
        (10, 6, 30, 10, False),
        (10, 7, 30, 10, True),
        (10, 10, 30, 10, True),
        (10, 10, 30, 9, False),
        (10, 10, 29.9, 10, False),
        (1000, 1000, 2, 1000, False),
        (1000, 699, 300, 100, False),
    ],
)
def test_it_opens_at_ten_attempts_of_which_seven_in_ten_failed_and_thirty_seconds(
    finished: int, failed: int, outage: float, failures: int, opened: bool
) -> None:
    seen, health = ObservedPost(False, finished, failed), HealthCounters(NOW - timedelta(seconds=outage), failures - 1)
    assert should_open(seen, failures, timedelta(seconds=outage)) is opened
    assert decide(ACTIVE, health, seen, NOW, 0.5).state == (PAUSED if opened else ACTIVE)
    assert decide(ACTIVE, health, ObservedPost(True, finished, failed), NOW, 0.5).state == ACTIVE


@pytest.mark.parametrize(
    ("failures", "seconds", "over"), [(0, 60, False), (1, 60, False), (2, 4.9, False), (2, 5, True), (50, 2, False)]
)
def test_a_success_ends_an_outage_of_some_failures_over_some_seconds(failures: int, seconds: float, over: bool) -> None:
    health = HealthCounters(NOW - timedelta(seconds=seconds) if failures else None, failures)
    assert ends_outage(ACTIVE, health, NOW, probe=False) is over
    assert ends_outage(PAUSED, health, NOW, probe=True) is True
    assert ends_outage(PAUSED, health, NOW, probe=False) is False


def test_an_endpoint_is_throttled_after_ten_failures_in_a_row() -> None:
    assert [is_throttled(ACTIVE, HealthCounters(NOW, failures)) for failures in (0, 9, 10, 99)] == [
        False,
        False,
        True,
        True,
    ]
    assert not is_throttled(PAUSED, HealthCounters(NOW, 99))


def test_the_failure_window_covers_five_minutes() -> None:
    tally = FailureWindow()
    for minute in range(10):
        tally.add(NOW + timedelta(minutes=minute), ok=minute % 2 == 0)
    assert tally.count(NOW + timedelta(minutes=9)) == (6, 3)
    assert tally.count(NOW + timedelta(minutes=14, seconds=10)) == (0, 0)


def test_the_delays_of_probes() -> None:
    assert [probe_delay(n, 0.5).total_seconds() for n in range(7)] == [30, 60, 120, 240, 300, 300, 300]
    assert [probe_delay(4, uniform).total_seconds() for uniform in (0.0, 1.0)] == [240, 360]


@pytest.mark.parametrize(
    ("days", "failures", "state"), [(4.999, 99, ACTIVE), (5, 3, ACTIVE), (5, 4, DISABLED), (9, 99, DISABLED)]
)
def test_it_gives_up_after_five_days_of_at_least_five_failures(days: float, failures: int, state: str) -> None:
    health = HealthCounters(NOW - timedelta(days=days), failures, 2)
    found = decide(ACTIVE, health, ObservedPost(False, 1, 1), NOW, 0.5)
    assert (found.state, [notice.event.ACTION for notice in found.notices]) == (
        state,
        ["endpoint_disabled"] if state == DISABLED else [],
    )


def test_early_notices_come_after_four_failures_and_after_a_day_once_each() -> None:
    health, emitted = HealthCounters(), []
    for number in range(1, 9):
        found = decide(ACTIVE, health, ObservedPost(False, 1, 1), NOW + timedelta(hours=6 * number), 0.5)
        health = found.health
        emitted += [(number, one.event.ACTION) for one in found.notices]
    assert emitted == [(4, "endpoint_failing"), (5, "endpoint_failing")]
    assert decide(ACTIVE, HealthCounters(NOW, 3), ObservedPost(False, 1, 1, muted=True), NOW, 0.5).notices == ()


def test_only_a_probe_closes_it_or_moves_the_next_one() -> None:
    paused = HealthCounters(NOW, 12, 1, None, 2, NOW)
    assert decide(PAUSED, paused, ObservedPost(True, 1, 0), NOW, 0.5).state == PAUSED
    assert decide(PAUSED, paused, ObservedPost(False, 1, 1), NOW, 0.5).health.probes == 2
    failed = decide(PAUSED, paused, ObservedPost(False, 1, 1, probe=True), NOW, 0.5)
    assert (failed.health.probes, failed.health.probe_at) == (3, NOW + timedelta(seconds=240))
    assert decide(PAUSED, paused, ObservedPost(True, 1, 0, probe=True), NOW, 0.5).health == HealthCounters(
        succeeded_at=NOW
    )


# -- with a receiver --------------------------------------------------------------------------------------------------


async def test_it_opens_probes_and_closes(stage: Stage) -> None:
    hook = await stage.add()
    emitted = await stage.emit(40)
    stage.receiver.answer = DOWN
    await stage.take_over(in_flight=1)
    await stage.settle()
    assert len(stage.received()) == 10
    await stage.drive(29)
    assert (await stage.endpoint(hook)).state == "active"
    assert 37 <= len(stage.received()) <= 39  # one a second
    await stage.drive(2)
    endpoint, tries = await stage.endpoint(hook), len(stage.received())
    assert (endpoint.state, endpoint.health.probes) == ("paused", 0)
    assert endpoint.health.probe_at is not None
    assert near((endpoint.health.probe_at - endpoint.updated_at).total_seconds(), 30)
    await stage.drive(3600)
    times = [request.headers["webhook-timestamp"] for request in stage.received()[tries:]]
    waits = [int(b) - int(a) for a, b in pairwise([str(int(endpoint.updated_at.timestamp())), *times])]
    assert all(near(wait, wanted) for wait, wanted in zip(waits, [30, 60, 120, 240, 300, 300], strict=False)), waits
    assert 12 <= len(times) <= 18
    assert (await stage.endpoint(hook)).health.probes == len(times)
    stage.receiver.answer = UP
    stage.receiver.requests.clear()
    await stage.drive(400)
    assert (await stage.endpoint(hook)).state == "active"
    assert set(stage.events_at()) == set(event_ids(emitted))
    assert await stage.rows("delivery_retries") == []
    await stage.save()
    assert [one["action"] for one in await stage.notices()] == [
        "endpoint_failing",
        "endpoint_paused",
        "endpoint_resumed",
    ]
    _failing, paused, resumed = await stage.notices()
    assert (paused["state"], paused["previous"], paused["failures"]) == ("paused", "active", tries)
    assert paused["reason"] == f"{tries} of the last {tries} attempts failed"
    assert (resumed["state"], resumed["previous"], resumed["failing_since"]) == ("active", "paused", None)
    after = await stage.endpoint(hook)
    assert (after.reason, after.health.failures, after.health.failing_since) == (None, 0, None)


async def test_a_new_owner_continues_the_pause(stage: Stage) -> None:
    hook = await stage.add()
    await stage.emit(100)
    stage.receiver.answer = DOWN
    await stage.take_over(in_flight=1)
    await stage.drive(70)
    before, requests = await stage.endpoint(hook), len(stage.received())
    assert (before.state, before.health.probes) == ("paused", 1)
    await stage.take_over()
    assert before.health.probe_at is not None
    until = (before.health.probe_at - stage.clock.now()).total_seconds()
    await stage.drive(until - 1)
    assert len(stage.received()) == requests
    await stage.drive(2)
    assert len(stage.received()) == requests + 1
    assert (await stage.endpoint(hook)).health.probes == 2


@pytest.mark.parametrize("seconds", [20, 70])  # it gets one attempt a second, or is paused
async def test_it_is_tried_at_once_after_the_clock_was_set_back(stage: Stage, seconds: float) -> None:
    hook = await stage.add()
    emitted = await stage.emit(100)
    stage.receiver.answer = DOWN
    await stage.take_over(in_flight=1)
    await stage.drive(seconds)
    stage.clock.advance(-86_400)
    stage.receiver.answer = UP
    stage.receiver.requests.clear()
    if (await stage.endpoint(hook)).state == "paused":
        await stage.take_over()
    await stage.drive(10)
    assert (await stage.endpoint(hook)).state == "active"
    assert set(stage.events_at()) == set(event_ids(emitted))


async def test_a_single_event_that_fails_for_three_days_does_not_open_it(stage: Stage) -> None:
    hook = await stage.add()
    stage.receiver.answer = DOWN
    await stage.take_over()
    await stage.emit()
    await stage.drive(4 * DAY)
    assert len(stage.received()) == 10
    assert (await stage.endpoint(hook)).state == "active"
    actions = [one["action"] for one in await stage.notices()]
    assert actions == ["endpoint_failing", "endpoint_failing", "endpoint_exhausted"]


async def test_five_days_of_failures_disable_it_and_nothing_is_lost(stage: Stage) -> None:
    hook = await stage.add()
    stage.receiver.answer = DOWN
    await stage.take_over(in_flight=1)
    emitted = await stage.emit(100)
    await stage.drive(31)
    async with stage.db.connection() as conn:
        since = stage.clock.now() - timedelta(days=5, hours=-1)
        await conn.execute("UPDATE endpoints SET failing_since = $2 WHERE id = $1", hook, since)
    await stage.take_over()
    await stage.drive(3590)
    await stage.save()
    assert (await stage.endpoint(hook)).state == "paused"
    await stage.drive(400)
    endpoint = await stage.endpoint(hook)
    assert (endpoint.state, endpoint.reason) == ("disabled", "Nothing but failures for five days")
    actions = [one["action"] for one in await stage.notices()]
    assert actions == ["endpoint_failing", "endpoint_paused", "endpoint_failing", "endpoint_disabled"]
    await stage.refresh()
    assert stage.deliverers == {}
    await stage.emit(3)  # these are not delivered
    stage.receiver.answer = UP
    await set_endpoint_state(
        stage.db, stage.ref, stage.channel_id, hook, EndpointChange(state=ACTIVE), stage.clock.now()
    )
    stage.receiver.requests.clear()
    await stage.take_over()
    await stage.drive(4 * DAY)
    given_up = [row["event_id"] for row in await stage.rows("deliveries", "AND state = 2")]
    assert set(stage.events_at()) == set(event_ids(emitted)) - set(event_ids(given_up))


async def test_gone_disables_at_once(stage: Stage) -> None:
    hook = await stage.add(system=True)
    await stage.add("/other", system=True)
    stage.receiver.answer = lambda request: Answer(410) if request.path == "/hook" else UP
    await stage.take_over(in_flight=1)
    emitted = await stage.emit(3)
    await stage.settle()
    assert len(stage.received()) == 1
    endpoint = await stage.endpoint(hook)
    assert (endpoint.state, endpoint.reason) == ("disabled", "The endpoint answered 410 Gone")
    assert len(stage.received("/other")) == 4
    (news,) = [request.json() for request in stage.received("/other") if request.json()["type"] == SYSTEM]
    assert (news["action"], news["data"]["state"], news["data"]["url"]) == (
        "endpoint_disabled",
        "disabled",
        endpoint.url,
    )
    rows = {row["event_id"]: row["state"] for row in await stage.rows("deliveries") if row["endpoint_id"] == hook}
    assert [rows[id_] for id_ in emitted] == [3, 0, 0]


async def test_after_a_change_of_the_url_all_retries_are_due(stage: Stage) -> None:
    hook = await stage.add("/wrong")
    stage.receiver.answer = lambda request: DOWN if request.path == "/wrong" else UP
    await stage.take_over()
    emitted = await stage.emit(5)
    await stage.drive(20)
    stage.clock.advance(1)
    change = EndpointChange(url=stage.receiver.url + "/right")
    assert await update_endpoint(stage.db, stage.channel_id, hook, change, stage.clock.now())
    await stage.refresh()
    await stage.settle()
    assert stage.events_at("/right") == event_ids(emitted)
    assert (await stage.endpoint(hook)).health.probe_at is None


async def test_gone_at_the_former_url_disables_nothing(stage: Stage) -> None:
    hook = await stage.add("/old")

    async def answer(request: Received) -> Answer:
        if request.path == "/old":
            stage.clock.advance(1)
            change = EndpointChange(url=stage.receiver.url + "/new")
            assert await update_endpoint(stage.db, stage.channel_id, hook, change, stage.clock.now())
            await stage.refresh()
        return Answer(410) if request.path == "/old" else UP

    stage.receiver.answer = answer
    await stage.take_over(in_flight=1)
    emitted = await stage.emit(3)
    await stage.drive(20)
    assert sorted(stage.events_at("/new")) == sorted(event_ids(emitted))
    assert (await stage.endpoint(hook)).state == "active"


@pytest.mark.parametrize("pause", [True, False])
async def test_enabling_an_endpoint_ends_the_pause_and_makes_retries_due(stage: Stage, pause: bool) -> None:
    """Also of an endpoint that was disabled meanwhile, and with another owner."""
    hook = await stage.add()
    stage.receiver.answer = DOWN
    await stage.take_over(in_flight=1)
    emitted = await stage.emit(20)
    await stage.drive(90)
    assert (await stage.endpoint(hook)).state == "paused"
    stage.receiver.answer = UP
    stage.receiver.requests.clear()
    await stage.save()
    for state in (ACTIVE,) if pause else (DISABLED, ACTIVE):
        stage.clock.advance(1)
        change, now = EndpointChange(state=state), stage.clock.now()
        await set_endpoint_state(stage.db, stage.ref, stage.channel_id, hook, change, now)
    await (stage.refresh() if pause else stage.take_over())
    await stage.drive(1)
    await stage.settle()
    assert sorted(stage.events_at()) == sorted(event_ids(emitted))
    await stage.save()
    assert (await stage.endpoint(hook)).health.failures == 0


async def test_a_change_by_a_user_is_not_overwritten(stage: Stage) -> None:
    """A user disables it while the deliverer, which does not know yet, decides to pause it."""
    hook = await stage.add()
    stage.receiver.answer = DOWN
    await stage.take_over(in_flight=1)
    await stage.emit(20)
    await set_endpoint_state(
        stage.db, stage.ref, stage.channel_id, hook, EndpointChange(state=DISABLED), stage.clock.now()
    )
    emitted = len(await stage.notices())
    await stage.settle()
    assert (await stage.endpoint(hook)).state == "disabled"
    assert "endpoint_paused" not in [one["action"] for one in (await stage.notices())[emitted:]]


async def test_a_notice_of_exhausted_deliveries_is_emitted_once_an_hour_with_their_number(stage: Stage) -> None:
    """Deliveries to a forbidden address are given up at once."""
    hook = await stage.add(url="http://10.0.0.1/", system=True)
    await stage.take_over(in_flight=1)
    await stage.emit(1)
    await stage.settle()
    await stage.emit(2)
    await stage.settle()
    await stage.drive(3599)
    exhausted = [one for one in await stage.notices() if one["action"] == "endpoint_exhausted"]
    assert [one["exhausted"] for one in exhausted] == [1]
    await stage.drive(2)
    exhausted = [one for one in await stage.notices() if one["action"] == "endpoint_exhausted"]
    assert [one["exhausted"] for one in exhausted] == [1, 2]
    assert exhausted[0]["event"].startswith("evt_")
    states = {row["state"] for row in await stage.rows("deliveries") if row["endpoint_id"] == hook}
    assert states == {2}  # those that reported it were given up too, and that was not reported


async def test_a_failing_endpoint_gets_no_notifications_about_its_own_notifications(stage: Stage) -> None:
    """It gets only system notifications, and every delivery of them fails for good."""
    hook = await stage.add(only=[SYSTEM])
    stage.receiver.answer = DOWN
    await stage.take_over()
    await stage.emit(3, data=TemplateApproved.example())
    await stage.drive(6 * DAY)
    assert {row["state"] for row in await stage.rows("deliveries")} == {2}
    assert len(stage.received()) >= 10
    assert [one["action"] for one in await stage.notices()] == ["template_approved"] * 3
    assert (await stage.endpoint(hook)).state == "active"


async def test_an_endpoint_that_accepts_some_deliveries_is_not_paused(stage: Stage) -> None:
    """Half an hour of flapping: the only notice is that it fails at first."""
    hook = await stage.add()
    turns = iter(range(10**6))

    def flaky(_: Received) -> Answer:
        return UP if next(turns) % 5 == 4 else DOWN

    stage.receiver.answer = flaky
    await stage.take_over(in_flight=16)
    for _ in range(30):
        await stage.emit(16)
        await stage.drive(60)
    assert (await stage.endpoint(hook)).state == "active"
    assert [one["action"] for one in await stage.notices()] == ["endpoint_failing"]
