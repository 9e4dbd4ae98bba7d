"""Batches: how they gather, what they look like, and what becomes of each event in one."""

import asyncio
import hashlib
from collections import defaultdict
from uuid import UUID

import pytest
from standardwebhooks import Webhook

from gatepost.model.endpoint import DeliveryOptions
from gatepost.store.deliveries.queue import DueDelivery, PendingPage, PendingRead
from gatepost.webhooks.event_batch import BatchCollector, batch_id, build_body
from tests.conftest import Answer, Received
from tests.webhooks.stage import ANA, BOB, DAY, SECRET, Stage, event_ids
from tests.webhooks.test_http_post import until

DOWN, UP = Answer(500), Answer()


def due(number: int) -> DueDelivery:
    return DueDelivery(UUID(int=number), b'{"n":%d}' % number, 0)


def sizes(stage: Stage, path: str = "/hook") -> list[int]:
    return [len(request.json()["events"]) for request in stage.received(path)]


# -- gathering --------------------------------------------------------------------------------------------------------


def test_a_batch_is_closed_when_it_is_full_or_has_waited_long_enough() -> None:
    options, gather = DeliveryOptions(batch=3, batch_wait=0.5), BatchCollector()
    for number in (2, 1):
        gather.add(due(number), 10.0)
    assert gather.take(options, 10.49) == ()
    gather.add(due(3), 10.49)
    assert [one.event_id.int for one in gather.take(options, 10.49)] == [1, 2, 3]
    assert gather.due_at(options) is None
    gather.add(due(4), 11.0)
    assert gather.due_at(options) == 11.5
    assert (gather.take(options, 11.49), len(gather.take(options, 11.5))) == ((), 1)


def test_the_body_of_a_batch() -> None:
    items = [due(1), due(2)]
    parcel = build_body(DeliveryOptions(batch=2), items)
    assert parcel.body == b'{"events":[{"n":1},{"n":2}]}'
    names = ".".join(f"evt_{number:032x}" for number in (1, 2))
    assert parcel.id == "bat_" + hashlib.sha256(names.encode()).hexdigest()[:32]
    assert parcel.id != batch_id([UUID(int=2), UUID(int=1)])
    assert build_body(DeliveryOptions(), items[:1]).body == b'{"n":1}'


# -- with a receiver --------------------------------------------------------------------------------------------------


async def test_full_batches_and_the_rest_after_its_wait(stage: Stage) -> None:
    await stage.add(batch=100, batch_wait=1.0)
    await stage.take_over()
    emitted = await stage.emit(250)
    await stage.settle()
    assert sorted(sizes(stage)) == [100, 100]
    await stage.drive(0.9)
    assert len(stage.received()) == 2
    await stage.drive(0.2)
    assert sorted(sizes(stage)) == [50, 100, 100]
    assert sorted(stage.events_at()) == event_ids(emitted)
    for request in stage.received():
        events = [event["id"] for event in Webhook(SECRET).verify(request.body, request.headers)["events"]]
        assert events == sorted(events)
        assert request.headers["webhook-id"].startswith("bat_")
    assert {row["state"] for row in await stage.rows("deliveries")} == {1}


async def test_a_batch_of_one_hundred_and_none_of_a_hundred_and_one(stage: Stage) -> None:
    await stage.add("/hundred", batch=100)
    await stage.add("/two", batch=2)
    await stage.take_over()
    await stage.emit(101)
    await stage.settle()
    assert sizes(stage, "/hundred") == [100, 1]
    assert set(sizes(stage, "/two")) == {2, 1}


def count_reads(stage: Stage) -> list[int]:
    """Count the pages that deliverers read."""
    read, counted = stage.context.read_pending, [0]

    async def read_and_count(key: PendingRead) -> PendingPage | None:
        counted[0] += 1
        return await read(key)

    stage.context.read_pending = read_and_count
    return counted


def at_a_pause(stage: Stage) -> None:
    """Move the clock to a moment at which pauses of all lengths begin."""
    stage.clock.advance(0.5 - stage.clock.monotonic() % 0.5 + 0.001)


async def test_what_is_collected_is_read_after_a_pause(stage: Stage) -> None:
    await stage.add(batch=100, batch_wait=1.0)
    await stage.take_over()
    reads = count_reads(stage)
    at_a_pause(stage)
    emitted = []
    for _ in range(5):
        emitted += await stage.emit()
        await stage.settle()
    assert reads == [1]
    await stage.drive(0.2)
    assert reads == [1]
    await stage.drive(0.06)
    assert reads == [2]
    await stage.drive(0.75)
    assert stage.events_at() == event_ids(emitted)
    assert sizes(stage) == [5]


async def test_the_pause_is_a_part_of_the_wait(stage: Stage) -> None:
    await stage.add(batch=2, batch_wait=1.0)
    await stage.take_over()
    at_a_pause(stage)
    await stage.emit(2)
    await stage.settle()
    await stage.emit(1)
    await stage.drive(0.99)
    assert sizes(stage) == [2]
    await stage.drive(0.02)
    assert sizes(stage) == [2, 1]


async def test_commits_during_a_pause_do_not_wake_the_deliverer(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    await stage.add(batch=100, batch_wait=1.0)
    await stage.take_over()
    reads, steps = count_reads(stage), [0]
    at_a_pause(stage)
    await stage.settle()
    (deliverer,) = stage.deliverers.values()
    step = deliverer.step

    async def step_and_count() -> float | None:
        steps[0] += 1
        return await step()

    monkeypatch.setattr(deliverer, "step", step_and_count)
    deliverer.start()
    await deliverer.looked.wait()
    emitted = await stage.emit()
    before = steps[0]
    for _ in range(100):
        deliverer.wake()
        for _ in range(5):
            await asyncio.sleep(0)
    assert steps[0] <= before + 2  # the clock of the pause stands still, but not that of its timer
    assert reads == [1]
    stage.clock.advance(0.25)
    await until(lambda: reads == [2])
    stage.clock.advance(0.75)
    deliverer.wake()
    await until(lambda: stage.events_at() == event_ids(emitted))
    await deliverer.stop()
    await deliverer.end()


async def test_a_full_page_is_followed_by_the_next_without_a_pause(stage: Stage) -> None:
    await stage.add(batch=2, batch_wait=1.0)
    await stage.emit(1001)
    await stage.take_over()
    await stage.settle()
    assert sum(sizes(stage)) == 1000


async def test_a_short_wait_has_shorter_pauses_and_no_wait_has_none(stage: Stage) -> None:
    await stage.add("/short", batch=2, batch_wait=0.1)
    await stage.add("/none", batch=2)
    await stage.take_over()
    await stage.settle()
    reads = count_reads(stage)
    at_a_pause(stage)
    for _ in range(3):
        await stage.emit()
        await stage.settle()
    assert (sizes(stage, "/short"), sizes(stage, "/none")) == ([], [1, 1, 1])
    assert reads == [1 + 3]
    await stage.drive(0.06)
    assert (reads, sizes(stage, "/short")) == ([2 + 3], [2])


async def test_the_same_events_are_repeated_under_the_same_id(stage: Stage) -> None:
    await stage.add(batch=5, batch_wait=0.5)
    await stage.take_over()
    stage.receiver.answer = DOWN
    first = await stage.emit(5)
    await stage.settle()
    stage.clock.advance(0.5)
    second = await stage.emit(5)
    await stage.settle()
    stage.receiver.answer = UP
    await stage.drive(10)
    by_id = defaultdict(list)
    for request in stage.received():
        by_id[request.headers["webhook-id"]].append([event["id"] for event in request.json()["events"]])
    assert by_id == {batch_id(events): [event_ids(events)] * 2 for events in (first, second)}
    log = await stage.rows("delivery_attempts", "ORDER BY event_id, number")
    assert [(row["event_id"], row["number"], row["status"]) for row in log] == [
        (event, number, status) for event in (*first, *second) for number, status in ((1, 500), (2, 200))
    ]


async def test_the_log_of_a_batch(stage: Stage) -> None:
    await stage.add(batch=3)
    stage.receiver.answer = Answer(200, {"X-Said": "yes"}, b"thanks")
    await stage.take_over()
    emitted = await stage.emit(3)
    await stage.settle()
    log = await stage.rows("delivery_attempts", "ORDER BY event_id")
    assert [row["event_id"] for row in log] == emitted
    assert {row["batch_first"] for row in log} == {emitted[0]}
    assert [row["batch"] for row in log] == [emitted, None, None]
    assert [row["answer_body"] for row in log] == [b"thanks", None, None]
    assert [row["answer_headers"] is None for row in log] == [False, True, True]


async def test_every_event_of_a_batch_keeps_its_own_schedule(stage: Stage) -> None:
    """One that has failed nine times is in a batch with new ones: it is given up, they are retried."""
    hook = await stage.add(batch=10, batch_wait=1.0)
    await stage.take_over()
    stage.receiver.answer = DOWN
    (old,) = await stage.emit()
    await stage.drive(2)
    async with stage.db.connection() as conn:
        await conn.execute("UPDATE deliveries SET attempts = 9 WHERE event_id = $1", old)
        await conn.execute("UPDATE delivery_retries SET next_at = $2 WHERE event_id = $1", old, stage.clock.now())
    fresh = await stage.emit(2)
    await stage.refresh()
    await stage.drive(1.5)
    assert stage.received()[-1].headers["webhook-id"] == batch_id([old, *fresh])
    rows = {row["event_id"]: row for row in await stage.rows("deliveries") if row["endpoint_id"] == hook}
    assert [(rows[id_]["state"], rows[id_]["attempts"]) for id_ in (old, *fresh)] == [(2, 10), (0, 1), (0, 1)]


async def test_a_probe_carries_one_event(stage: Stage) -> None:
    await stage.add(batch=10)
    stage.receiver.answer = DOWN
    await stage.take_over(in_flight=1)
    emitted = await stage.emit(600)
    await stage.settle()
    assert (len(stage.received()), set(sizes(stage))) == (10, {10})
    await stage.drive(31)
    stage.receiver.requests.clear()
    stage.receiver.answer = UP
    await stage.drive(40)
    assert sizes(stage)[0] == 1
    await stage.drive(600)
    assert set(stage.events_at()) == set(event_ids(emitted))
    assert (len(stage.events_at()), max(sizes(stage))) == (600, 10)


@pytest.mark.parametrize("restarted", [False, True])
async def test_ordered_batches(stage: Stage, restarted: bool) -> None:
    """Several of a conversation in one batch, in their order; and never two batches with the same one at a time."""
    await stage.add(ordered=True, batch=4, batch_wait=0.1)
    in_flight: set[str] = set()
    emitted: dict[str, list[str]] = defaultdict(list)
    for _ in range(6):
        for name, about in (("ana", ANA), ("bob", BOB)):
            emitted[name] += event_ids(await stage.emit(3, about))
    who = {event: name for name, events in emitted.items() for event in events}
    requests = 0

    async def answer(request: Received) -> Answer:
        nonlocal requests
        requests += 1
        names = {who[event["id"]] for event in request.json()["events"]}
        assert not names & in_flight
        in_flight.update(names)
        try:
            return DOWN if requests in (2, 3) else UP
        finally:
            in_flight.difference_update(names)

    stage.receiver.answer = answer
    await stage.take_over()
    await stage.settle()
    if restarted:
        await stage.take_over()
    await stage.drive(DAY)
    good = [request for number, request in enumerate(stage.received(), 1) if number not in (2, 3)]
    for name, events in emitted.items():
        seen = [event["id"] for request in good for event in request.json()["events"]]
        assert [event for event in dict.fromkeys(seen) if who[event] == name] == events
    assert await stage.rows("delivery_retries") == []
    assert {row["state"] for row in await stage.rows("deliveries")} == {1}
    assert max(sizes(stage)) == 4
