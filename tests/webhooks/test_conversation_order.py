"""Order within a conversation: through failures, restarts and exhausted deliveries, without delaying others."""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from uuid import UUID

import pytest

from gatepost.model.endpoint import DeliveryOptions
from gatepost.store.deliveries.queue import DueDelivery
from gatepost.store.endpoints import EndpointChange, update_endpoint
from gatepost.webhooks.conversation_order import HELD_PER_CONVERSATION, HELD_TOTAL, ConversationOrder
from tests.conftest import Answer, Received
from tests.webhooks.stage import ANA, BOB, DAY, Stage, event_ids

DOWN, UP = Answer(500), Answer()


def due(number: int, key: int = 1, *, blocked: bool = False) -> DueDelivery:
    return DueDelivery(UUID(int=number), b"{}", 0, key=UUID(int=key), blocked=blocked)


# -- in memory --------------------------------------------------------------------------------------------------------


def test_one_is_sent_and_the_others_are_held_up_to_a_limit() -> None:
    order = ConversationOrder()
    places = [order.place(due(number), joining=False) for number in range(HELD_PER_CONVERSATION + 3)]
    assert places == ["send", *["held"] * HELD_PER_CONVERSATION, "defer", "defer"]
    assert order.place(due(999, key=2), joining=False) == "send"
    order.begin_read()
    assert order.place(due(1000, blocked=True), joining=False) == "defer"


def test_the_number_of_held_deliveries_is_limited() -> None:
    order = ConversationOrder()
    lines = HELD_TOTAL // HELD_PER_CONVERSATION
    for key in range(lines):
        for number in range(HELD_PER_CONVERSATION + 1):
            assert order.place(due(1 + key * 1000 + number, key), joining=False) != "defer"
    assert order.place(due(10**6, lines), joining=False) == "send"
    assert order.place(due(10**6 + 1, lines), joining=False) == "defer"


def test_a_conversation_deferred_while_a_page_was_read_stays_deferred() -> None:
    order = ConversationOrder()
    assert order.place(due(1), joining=False) == "send"
    order.begin_read()
    assert order.drain([UUID(int=1)]) == []  # the first one failed, and is recorded
    assert order.next(UUID(int=1)) is None
    assert order.place(due(2), joining=False) == "defer"  # the page was read before
    order.begin_read()
    assert order.place(due(3), joining=False) == "send"


# -- with a receiver --------------------------------------------------------------------------------------------------


def fail(*broken: str) -> Callable[[Received], Answer]:
    """A receiver that fails for some events."""
    return lambda request: DOWN if request.json()["id"] in broken else UP


def arrived(stage: Stage, emitted: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the events of each conversation in the order of their arrival, without duplicates."""
    who = {event: name for name, events in emitted.items() for event in events}
    found: dict[str, list[str]] = defaultdict(list)
    for event in dict.fromkeys(stage.events_at()):
        found[who[event]].append(event)
    return dict(found)


async def test_one_after_another_within_a_conversation_and_conversations_in_parallel(stage: Stage) -> None:
    await stage.add(ordered=True)
    open_now: dict[str, int] = defaultdict(int)
    most, at_once = 0, 0
    emitted: dict[str, list[str]] = defaultdict(list)
    for _ in range(10):
        for name, about in (("ana", ANA), ("bob", BOB), ("channel", None)):
            emitted[name] += event_ids(await stage.emit(2, about))
    who = {event: name for name, events in emitted.items() for event in events}

    async def answer(request: Received) -> Answer:
        nonlocal most, at_once
        name = who[request.json()["id"]]
        open_now[name] += 1
        most, at_once = max(most, open_now[name]), max(at_once, sum(open_now.values()))
        try:
            await asyncio.sleep(0.01)
            return UP
        finally:
            open_now[name] -= 1

    stage.receiver.answer = answer
    await stage.take_over()
    await stage.settle()
    assert (most, at_once) == (1, 3)
    assert arrived(stage, emitted) == emitted
    assert await stage.rows("delivery_retries") == []


async def test_a_failure_delays_only_its_own_conversation(stage: Stage) -> None:
    await stage.add(ordered=True)
    await stage.take_over()
    ana, bob = event_ids(await stage.emit(1, ANA)), event_ids(await stage.emit(1, BOB))
    stage.receiver.answer = fail(ana[0])
    await stage.settle()
    ana += event_ids(await stage.emit(5, ANA))
    bob += event_ids(await stage.emit(5, BOB))
    await stage.settle()
    assert stage.events_at() == [*sorted(ana[:1] + bob[:1]), *bob[1:]]
    waiting = await stage.rows("delivery_retries", "ORDER BY event_id")
    assert [row["conversation_id"] for row in waiting] == [ANA] * 6
    stage.receiver.answer = UP
    await stage.drive(10)
    assert arrived(stage, {"ana": ana, "bob": bob}) == {"ana": ana, "bob": bob}
    assert stage.events_at().count(ana[0]) == 2
    assert await stage.rows("delivery_retries") == []


async def test_what_is_held_in_memory_is_deferred_after_a_failure(stage: Stage) -> None:
    await stage.add(ordered=True)
    ana = event_ids(await stage.emit(8, ANA))
    stage.receiver.answer = fail(ana[3])
    await stage.take_over()
    await stage.settle()
    assert stage.events_at() == ana[:4]
    assert len(await stage.rows("delivery_retries")) == 5
    stage.receiver.answer = UP
    await stage.drive(10)
    assert stage.events_at() == [*ana[:4], *ana[3:]]


@pytest.mark.parametrize("saved", [False, True])
async def test_a_new_owner_keeps_the_order(stage: Stage, saved: bool) -> None:
    """Whether the cursor was saved or not, the order is kept, and only failed deliveries are repeated."""
    await stage.add(ordered=True)
    await stage.take_over()
    ana, bob = event_ids(await stage.emit(4, ANA)), event_ids(await stage.emit(2, BOB))
    stage.receiver.answer = fail(ana[1])
    await stage.settle()
    if saved:
        await stage.save()
    await stage.take_over()
    ana += event_ids(await stage.emit(3, ANA))
    await stage.settle()
    assert len(await stage.rows("delivery_retries")) == 6
    stage.receiver.answer = UP
    await stage.take_over()
    await stage.drive(10)
    assert arrived(stage, {"ana": ana, "bob": bob}) == {"ana": ana, "bob": bob}
    assert sorted(stage.events_at()) == sorted([*ana, *bob, ana[1]])


async def test_the_next_one_is_sent_when_one_is_given_up(stage: Stage) -> None:
    await stage.add(ordered=True)
    await stage.take_over()
    ana = event_ids(await stage.emit(3, ANA))
    stage.receiver.answer = fail(ana[0])
    await stage.drive(2 * DAY)
    assert set(stage.events_at()) == {ana[0]}
    await stage.drive(2 * DAY)
    assert stage.events_at() == [ana[0]] * 10 + ana[1:]
    states = [row["state"] for row in await stage.rows("deliveries", "ORDER BY event_id")]
    assert states == [2, 1, 1]


async def test_a_requested_retry_is_sent_before_later_events(stage: Stage) -> None:
    hook = await stage.add(ordered=True)
    await stage.take_over()
    old = await stage.emit(3, ANA)
    await stage.settle()
    stage.clock.advance(60)
    newer = await stage.emit(2, ANA)
    stage.receiver.answer = fail(*event_ids(newer))
    await stage.settle()
    stage.receiver.requests.clear()
    await stage.request_retries(hook, [old[2], old[0]])
    await stage.settle()
    assert stage.events_at() == event_ids([old[0], old[2]])
    stage.receiver.answer = UP
    await stage.drive(10)
    assert stage.events_at() == event_ids([old[0], old[2], *newer])


async def test_many_wait_in_the_database_not_in_memory(stage: Stage) -> None:
    """A slow conversation has more than are held in memory, and others are not delayed."""
    hook = await stage.add(ordered=True)
    ana = await stage.emit(300, ANA)
    bob = await stage.emit(1, BOB)
    await stage.take_over()
    one = stage.deliverers[hook]
    for _ in range(10):
        await one.step()
    waiting = await stage.rows("delivery_retries")
    assert len(waiting) >= 300 - 1 - HELD_PER_CONVERSATION - 5
    assert {row["conversation_id"] for row in waiting} == {ANA}
    await stage.settle()
    assert [event for event in stage.events_at() if event not in event_ids(bob)] == event_ids(ana)
    assert await stage.rows("delivery_retries") == []


@pytest.mark.parametrize("stopped", [False, True])
async def test_a_new_owner_does_not_start_with_deferred_deliveries(stage: Stage, stopped: bool) -> None:
    """Some are deferred already while earlier ones were only in the memory of the last owner."""
    hook, hold = await stage.add(ordered=True), asyncio.Event()
    ana = event_ids(await stage.emit(2 * HELD_PER_CONVERSATION, ANA))

    async def answer(request: Received) -> Answer:
        await hold.wait()
        return UP

    stage.receiver.answer = answer
    await stage.take_over()
    one = stage.deliverers[hook]
    for _ in range(10):
        await one.step()
    assert await stage.rows("delivery_retries")
    if stopped:
        hold.set()
        await one.stop()
        await stage.save()
    await stage.take_over()
    hold.set()
    await stage.settle()
    await one.settled()
    assert list(dict.fromkeys(stage.events_at())) == ana
    assert await stage.rows("delivery_retries") == []


async def test_an_endpoint_that_is_no_longer_ordered(stage: Stage) -> None:
    hook = await stage.add(ordered=True)
    await stage.take_over()
    ana = event_ids(await stage.emit(5, ANA))
    stage.receiver.answer = fail(ana[0])
    await stage.settle()
    assert len(await stage.rows("delivery_retries")) == 5
    plain = EndpointChange(options=DeliveryOptions(ordered=False))
    await update_endpoint(stage.db, stage.channel_id, hook, plain, stage.clock.now())
    await stage.refresh()
    await stage.settle()
    assert sorted(stage.events_at()) == sorted(ana)
    assert [row["conversation_id"] for row in await stage.rows("delivery_retries")] == [ANA]


async def test_an_endpoint_that_becomes_ordered(stage: Stage) -> None:
    """What failed before is ordered from its next attempt on."""
    hook = await stage.add()
    await stage.take_over()
    ana = event_ids(await stage.emit(1, ANA))
    stage.receiver.answer = fail(ana[0])
    await stage.settle()
    ordered = EndpointChange(options=DeliveryOptions(ordered=True))
    await update_endpoint(stage.db, stage.channel_id, hook, ordered, stage.clock.now())
    await stage.refresh()
    await stage.drive(7)
    assert stage.events_at() == [ana[0]] * 2
    ana += event_ids(await stage.emit(2, ANA))
    await stage.settle()
    assert stage.events_at() == [ana[0]] * 2
    stage.receiver.answer = UP
    await stage.drive(400)
    assert stage.events_at()[2:] == ana
    assert await stage.rows("delivery_retries") == []


async def test_a_conversation_and_a_breaker(stage: Stage) -> None:
    """Everything fails, the breaker opens, the endpoint recovers: the order is kept."""
    await stage.add(ordered=True)
    stage.receiver.answer = DOWN
    emitted: dict[str, list[str]] = defaultdict(list)
    await stage.take_over(in_flight=2)
    for newcomer in range(7, 11):  # whose first attempt is due at once: those of the others wait, by chance too long
        for person in (*range(7), newcomer):
            emitted[str(person)] += event_ids(await stage.emit(2, UUID(int=person)))
        await stage.drive(20)
    await stage.drive(400)
    assert "endpoint_paused" in [one["action"] for one in await stage.notices()]
    await stage.take_over()
    stage.receiver.requests.clear()
    stage.receiver.answer = UP
    await stage.drive(DAY)
    assert arrived(stage, emitted) == emitted
    assert await stage.rows("delivery_retries") == []
