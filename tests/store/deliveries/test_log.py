"""The log of deliveries: pages show everything once with any filter, and no query reads a whole channel."""

import random
from datetime import timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import msgspec
import pytest

from gatepost.api.contract.deliveries import WholeDelivery
from gatepost.model import ids
from gatepost.model.dates import IdRange
from gatepost.model.delivery import CANCELED, DELIVERED, EXHAUSTED, PENDING
from gatepost.services.deliveries import SCAN, attempts_of
from gatepost.store.deliveries import log as delivery_log
from gatepost.store.deliveries.log import (
    DeliveryFilter,
    LoggedDelivery,
    LogPosition,
    get_logged,
    list_attempts,
    read_attempts,
    read_page,
)
from gatepost.store.endpoints import delete_endpoint
from gatepost.store.partitions import make_partitions
from gatepost.store.pool import Database
from tests.outbound.stage import NOW, Stage
from tests.store import delivery_rows
from tests.store.query_plans import Explained, Plan, fill

CHANNEL, ENDPOINT = UUID(int=1), UUID(int=7)
Key = tuple[UUID, UUID]


async def whole(stage: Stage, row: LoggedDelivery) -> Any:
    """A delivery with its attempts as the API answers it."""
    attempts, bodies = await attempts_of(stage.db, stage.channel_id, row)
    return msgspec.to_builtins(WholeDelivery.with_attempts(row, attempts, bodies, NOW))


async def read_all(stage: Stage, wanted: DeliveryFilter, *, scan: int = SCAN, most: int = 20) -> tuple[list[Key], int]:
    """Return all deliveries that match, and the number of pages."""
    found: list[Key] = []
    before: LogPosition | None = None
    for pages in range(1, 500):
        page = await read_page(stage.db, stage.channel_id, wanted, before, scan=scan, limit=most)
        assert len(page.found) <= most
        found += [(one.event_id, one.endpoint_id) for one in page.found]
        if page.reached is None:
            return found, pages
        assert before is None or page.reached < before
        before = page.reached
    raise AssertionError("the pages have no end")


async def test_pending_deliveries_of_a_deleted_endpoint_are_canceled(stage: Stage) -> None:
    """Also what is recorded after the deletion, however long ago that was."""
    gone, kept = [await delivery_rows.add_endpoint(stage.db, stage.channel_id) for _ in range(2)]
    events = await delivery_rows.add_events(stage.db, stage.channel_id, 3)
    for hook in (gone, kept):
        await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, events, [PENDING, DELIVERED, EXHAUSTED])
    assert await delete_endpoint(stage.db, stage.channel_id, gone)

    async def found(*states: int, **more: Any) -> set[Key]:
        return set((await read_all(stage, DeliveryFilter(states=states, **more)))[0])

    assert await found(CANCELED) == {(events[0], gone)}
    assert await found(PENDING) == {(events[0], kept)}
    assert await found(PENDING, CANCELED) == {(events[0], gone), (events[0], kept)}
    assert await found(DELIVERED, endpoint_id=gone) == {(events[1], gone)}
    assert await found(CANCELED, endpoint_id=gone) == {(events[0], gone)}
    one = await get_logged(stage.db, stage.channel_id, gone, events[0])
    assert one is not None
    assert (one.state, one.next_at) == (CANCELED, None)


@pytest.mark.parametrize(("scan", "most"), [(SCAN, 100), (SCAN, 7), (40, 7), (4, 1)])
async def test_pages_show_everything_once(stage: Stage, scan: int, most: int) -> None:
    chance = random.Random(5)
    hooks = [await delivery_rows.add_endpoint(stage.db, stage.channel_id) for _ in range(3)]
    first = await delivery_rows.add_events(stage.db, stage.channel_id, 40)
    later = await delivery_rows.add_events(
        stage.db, stage.channel_id, 40, type_="ack_notification", start=NOW - timedelta(hours=1)
    )
    kept: dict[Key, int] = {}
    for hook in hooks:
        chosen = [event for event in first + later if chance.random() < 0.7]
        states = [chance.choice([0, 1, 1, 1, 2]) for _ in chosen]
        await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, chosen, states)
        kept |= {(event, hook): state for event, state in zip(chosen, states, strict=True)}
    await delivery_rows.change(stage.db, "DELETE FROM endpoints WHERE id = $1", hooks[1])
    kept = {key: CANCELED if (key[1], state) == (hooks[1], PENDING) else state for key, state in kept.items()}
    span = IdRange(first[10], later[20])
    for wanted in (
        DeliveryFilter(),
        DeliveryFilter(states=(CANCELED,)),
        DeliveryFilter(span),
        DeliveryFilter(endpoint_id=hooks[1]),
        DeliveryFilter(states=(EXHAUSTED,)),
        DeliveryFilter(span, states=(PENDING, EXHAUSTED)),
        DeliveryFilter(types=("ack_notification",)),
        DeliveryFilter(endpoint_id=hooks[0], states=(1,), types=("message_notification",)),
        DeliveryFilter(states=(3,)),
        DeliveryFilter(types=("order_notifications",)),
    ):
        fitting = [
            (event, hook)
            for (event, hook), state in kept.items()
            if wanted.span.start <= event < wanted.span.end
            and wanted.endpoint_id in (None, hook)
            and (wanted.states is None or state in wanted.states)
            and (wanted.types is None or (event in later) == ("ack_notification" in wanted.types))
            and wanted.types != ("order_notifications",)
        ]
        found, _ = await read_all(stage, wanted, scan=scan, most=most)
        assert found == sorted(fitting, reverse=True), wanted


async def test_deliveries_of_others_are_not_shown(stage: Stage) -> None:
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    (event,) = await delivery_rows.add_events(stage.db, stage.channel_id, 1)
    await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, [event], 1)
    stranger = UUID(int=99)
    assert (await read_page(stage.db, stranger, DeliveryFilter(), None, scan=100, limit=10)).found == []
    assert (await read_page(stage.db, stranger, DeliveryFilter(endpoint_id=hook), None, scan=100, limit=10)).found == []
    assert await get_logged(stage.db, stranger, hook, event) is None
    assert await get_logged(stage.db, stage.channel_id, hook, event) is not None


async def test_the_fields_of_a_delivery(stage: Stage) -> None:
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id, state="paused")
    event, gone = await delivery_rows.add_events(stage.db, stage.channel_id, 2)
    await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, [event, gone], 0, attempts=2)
    await delivery_rows.add_attempts(stage.db, stage.channel_id, hook, [event], 1, status=500)
    await delivery_rows.add_attempts(stage.db, stage.channel_id, hook, [event], 2, status=None, error="It broke.")
    await delivery_rows.add_retry(stage.db, stage.channel_id, hook, event, NOW + timedelta(hours=1))
    await delivery_rows.change(stage.db, "DELETE FROM events WHERE id = $1", gone)
    one = await get_logged(stage.db, stage.channel_id, hook, event)
    assert isinstance(one, LoggedDelivery)
    assert (one.type, one.action, one.endpoint_state) == ("message_notification", "created", "paused")
    assert one.last is not None
    assert (one.last.number, one.last.status, one.last.error) == (2, None, "It broke.")
    assert one.next_at == NOW + timedelta(hours=1)
    assert await get_logged(stage.db, stage.channel_id, hook, gone) is None


async def test_a_batch_shows_what_was_sent_and_answered_with_each_of_its_events(stage: Stage) -> None:
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    events = await delivery_rows.add_events(stage.db, stage.channel_id, 3)
    await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, events, 1)
    shared: dict[str, Any] = {"status": 200, "answer_headers": '[["x-said","yes"]]', "answer_body": b"ok"}
    await delivery_rows.add_attempts(stage.db, stage.channel_id, hook, events, batch=events, **shared)
    await delivery_rows.add_attempts(
        stage.db, stage.channel_id, hook, events[1:], at=NOW + timedelta(seconds=9), number=2
    )
    for event in events:
        attempts, bodies = await read_attempts(stage.db, stage.channel_id, hook, event, 50)
        assert attempts[0].batch == tuple(events)
        assert (attempts[0].answer_body, attempts[0].answer_headers) == (b"ok", '[["x-said","yes"]]')
        assert set(bodies) == set(events)
        assert [one.batch for one in attempts[1:]] == ([] if event == events[0] else [()])
        one = await get_logged(stage.db, stage.channel_id, hook, event)
        assert one is not None
        shown = await whole(stage, one)
        sent = shown["attempts"][0]["request"]["body"]
        assert sent == '{"events":[' + ",".join(bodies[id_] for id_ in events) + "]}"
    logged = await list_attempts(stage.db, stage.channel_id, hook, None, 10)
    assert {one.answer_body for one in logged if one.number == 1} == {b"ok"}
    await delivery_rows.change(stage.db, "DELETE FROM events WHERE id = $1", events[0])
    one = await get_logged(stage.db, stage.channel_id, hook, events[1])
    assert one is not None
    shown = await whole(stage, one)
    assert shown["attempts"][0]["request"]["body"] is None  # a part of it is past its time


async def test_the_newest_fifty_attempts_are_shown(stage: Stage) -> None:
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    (event,) = await delivery_rows.add_events(stage.db, stage.channel_id, 1)
    await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, [event], 2, attempts=51)
    for number in range(1, 52):
        await delivery_rows.add_attempts(stage.db, stage.channel_id, hook, [event], number)
    one = await get_logged(stage.db, stage.channel_id, hook, event)
    assert one is not None
    shown = await whole(stage, one)
    assert shown["attempt_count"] == 51
    assert [attempt["number"] for attempt in shown["attempts"]] == list(range(2, 52))


# -- how much is read -------------------------------------------------------------------------------------------------


async def fill_database(url: str) -> None:
    """Ten weeks of deliveries to one endpoint, a few days of them to three more."""
    plain = await Database.connect(url, connections=1)
    await make_partitions(plain, NOW - timedelta(days=70), 7)
    await make_partitions(plain, NOW, 7)
    await plain.close()
    await fill(url, CHANNEL, ENDPOINT, count=12_000, start=NOW - timedelta(days=70), end=NOW, salt="past")
    for number in range(1, 4):
        end = NOW - timedelta(days=number)
        await fill(url, CHANNEL, UUID(int=7 + number), count=300, start=end, end=NOW, salt=f"{number}")


def looked_at(plans: list[Plan], table: str) -> int:
    """Return how many rows of a table the most expensive statement has read."""
    nodes = [[n for n in plan.nodes() if n.get("Relation Name", "").startswith(table)] for plan in plans]
    return max(
        int(sum((n["Actual Rows"] + n.get("Rows Removed by Filter", 0)) * n["Actual Loops"] for n in some))
        for some in nodes
    )


@pytest.mark.parametrize(
    "wanted", [DeliveryFilter(states=(3,)), DeliveryFilter(types=("none",)), DeliveryFilter(states=(3,), types=("x",))]
)
@pytest.mark.parametrize("endpoint", [None, ENDPOINT])
async def test_a_filter_without_matches_is_split_into_pages(
    explained: Explained, wanted: DeliveryFilter, endpoint: UUID | None
) -> None:
    db, plans = explained
    asked = DeliveryFilter(endpoint_id=endpoint, states=wanted.states, types=wanted.types)
    page = await read_page(db, CHANNEL, asked, None, scan=1_000, limit=20)
    assert page.found == []
    assert page.reached is not None
    assert all(plan.seq_scans() == [] for plan in plans)
    assert looked_at(plans, "deliveries") <= 1_100
    assert looked_at(plans, "events") <= 1_100


@pytest.mark.parametrize("endpoint", [None, ENDPOINT])
async def test_a_page_reads_what_it_shows(explained: Explained, endpoint: UUID | None) -> None:
    db, plans = explained
    page = await read_page(db, CHANNEL, DeliveryFilter(endpoint_id=endpoint), None, scan=SCAN, limit=20)
    assert len(page.found) == 20
    assert all(plan.seq_scans() == [] for plan in plans)
    assert looked_at(plans, "deliveries") <= 4 * 20 + 20
    assert looked_at(plans, "delivery_attempts") <= 40
    assert plans
    for plan in plans:
        if "FROM had" not in plan.query:  # which looks for endpoints wherever there may be some
            assert len(plan.touched("deliveries")) <= 3, plan.query


async def test_one_delivery_is_found_by_its_key(explained: Explained) -> None:
    db, plans = explained
    (one, *_) = (await read_page(db, CHANNEL, DeliveryFilter(endpoint_id=ENDPOINT), None, scan=SCAN, limit=1)).found
    plans.clear()
    assert await get_logged(db, CHANNEL, one.endpoint_id, one.event_id) == one
    await read_attempts(db, CHANNEL, one.endpoint_id, one.event_id, 50)
    assert plans
    for plan in plans:
        assert plan.seq_scans() == []
        assert plan.rows_read + plan.rows_filtered <= 3, plan.query


async def test_the_number_of_deleted_endpoints_is_limited(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_log, "_DELETED", 3)
    events = await delivery_rows.add_events(stage.db, stage.channel_id, 1)
    hooks = [ids.new_id(NOW + timedelta(seconds=number)) for number in range(4)]
    assert all(one < two for one, two in pairwise(hooks))
    for hook in hooks:
        await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, events, 1)
    found, _ = await read_all(stage, DeliveryFilter())
    assert [hook for _, hook in found] == hooks[:0:-1]  # the three youngest
    assert len((await read_all(stage, DeliveryFilter(endpoint_id=hooks[0])))[0]) == 1
