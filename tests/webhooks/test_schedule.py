"""The whole way of one event that fails: the schedule over three days, and what happens after its end."""

from datetime import timedelta
from email.utils import format_datetime
from itertools import pairwise

import pytest

from gatepost.model import ids
from gatepost.store.deliveries.retry import forget_lost_retries
from gatepost.store.partitions import first_kept_event
from gatepost.webhooks.retry import SCHEDULE
from tests.conftest import Answer
from tests.webhooks.stage import DAY, Stage, event_ids, near

DOWN, UP = Answer(500), Answer()


async def test_ten_attempts_over_three_days_then_it_is_given_up_and_can_be_retried(stage: Stage) -> None:
    hook = await stage.add()
    stage.receiver.answer = DOWN
    await stage.take_over()
    (event,) = await stage.emit()
    await stage.drive(4 * DAY)
    (delivery,) = await stage.rows("deliveries")
    assert (delivery["state"], delivery["attempts"], delivery["next_at"]) == (2, 10, None)
    log = await stage.rows("delivery_attempts", "ORDER BY number")
    assert [row["number"] for row in log] == list(range(1, 11))
    waits = [(b["at"] - a["at"]).total_seconds() for a, b in pairwise(log)]
    assert all(near(wait, wanted) for wait, wanted in zip(waits, SCHEDULE[1:], strict=True)), waits
    assert {request.headers["webhook-id"] for request in stage.received()} == set(event_ids([event]))
    assert await stage.rows("delivery_retries") == []
    await stage.request_retries(hook, [event])
    await stage.drive(3.5 * 3600)  # its schedule starts over: at once, 5 s, 5 min, 30 min, 2 h, each up to a fifth more
    log = await stage.rows("delivery_attempts", "ORDER BY number")
    assert [row["number"] for row in log] == list(range(1, 16))
    stage.receiver.answer = UP
    await stage.drive(DAY)
    (delivery,) = await stage.rows("deliveries")
    assert (delivery["state"], delivery["attempts"], delivery["begun"]) == (1, 16, 10)
    assert await stage.rows("delivery_retries") == []


@pytest.mark.parametrize(
    ("hint", "least", "most"),
    [("5", 60, 72), ("1e9", 3600, 3600), ("-1", 60, 72), ("soon", 60, 72), ("nan", 60, 72), ("date", 900, 1080)],
)
async def test_too_many_requests(stage: Stage, hint: str, least: float, most: float) -> None:
    await stage.add()
    if hint == "date":
        hint = format_datetime(stage.clock.now() + timedelta(seconds=901), usegmt=True)
    stage.receiver.answer = Answer(429, {"Retry-After": hint})
    await stage.take_over()
    await stage.emit()
    await stage.settle()
    (row,) = await stage.rows("delivery_retries")
    assert least <= (row["next_at"] - stage.clock.now()).total_seconds() <= most
    await stage.drive(least - 2)
    assert len(stage.received()) == 1
    await stage.drive(most - least + 4)
    assert len(stage.received()) == 2


async def test_a_redirect_is_a_failure_and_is_not_followed(stage: Stage) -> None:
    await stage.add()
    stage.receiver.answer = Answer(301, {"Location": stage.receiver.url + "/inside"})
    await stage.take_over()
    await stage.emit()
    await stage.settle()
    assert [request.path for request in stage.receiver.requests] == ["/hook"]
    (row,) = await stage.rows("delivery_attempts")
    assert (row["status"], len(await stage.rows("delivery_retries"))) == (301, 1)


async def test_an_orphaned_retry_is_deleted(stage: Stage) -> None:
    """It is deleted, and what is due after it is sent."""
    hook = await stage.add()
    await stage.take_over()
    done, asked = await stage.emit(2)
    await stage.settle()
    await stage.request_retries(hook, [done, asked])
    async with stage.db.connection() as conn:
        await conn.execute("UPDATE deliveries SET state = 1 WHERE event_id = $1", done)
    await stage.settle()
    assert stage.events_at()[2:] == event_ids([asked])
    assert await stage.rows("delivery_retries") == []


@pytest.mark.parametrize("ordered", [False, True])
async def test_events_past_their_retention(stage: Stage, ordered: bool) -> None:
    hook = await stage.add(ordered=ordered)
    stage.receiver.answer = DOWN
    await stage.take_over()
    lost = await stage.emit(3)
    await stage.settle()
    async with stage.db.connection() as conn:
        await conn.execute("DELETE FROM events WHERE channel_id = $1", stage.channel_id)
        await conn.execute("DELETE FROM deliveries WHERE channel_id = $1", stage.channel_id)
    stage.receiver.answer = UP
    assert len(await stage.rows("delivery_retries")) == 3
    await stage.drive(60)
    assert await stage.rows("delivery_retries") == []
    kept = await stage.emit(2)
    await stage.settle()
    assert set(stage.events_at()) - set(event_ids(lost)) == set(event_ids(kept))
    assert (await stage.endpoint(hook)).state == "active"


async def test_cleanup_deletes_retries_of_dropped_events(stage: Stage) -> None:
    plain, ordered = await stage.add(), await stage.add("/ordered", ordered=True)
    stage.receiver.answer = DOWN
    await stage.take_over()
    emitted = await stage.emit(3)
    await stage.settle()
    first = await first_kept_event(stage.db)
    assert ids.time_of(first) < stage.clock.now() - timedelta(days=7)
    assert await forget_lost_retries(stage.db, first) == 0
    assert await forget_lost_retries(stage.db, emitted[-1]) >= 2
    left = [row["endpoint_id"] for row in await stage.rows("delivery_retries")]
    assert (left.count(plain), left.count(ordered)) == (1, 3)  # deferred ones are left to the deliverer
