"""A receiver that was down for a week reads the feed alone: nothing is missing, nothing comes twice."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gatepost.admin import accounts
from gatepost.model.account import API_ACCESS
from gatepost.store.partitions import drop_old_partitions, make_partitions
from tests.gateway.event_streams import open_stream
from tests.movable_clock import MovableClock
from tests.running_gateway import Gateway, running_gateway

NOW = datetime(2026, 11, 15, 10, tzinfo=UTC)
EVENTS = "/api/v1/events"
DAY = 86_400
PER_DAY = 400


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(NOW)


@pytest.fixture
async def gateway(database_url: str, clock: MovableClock) -> AsyncIterator[Gateway]:
    """Give a gateway that only takes messages, with a partition for each day."""
    async with running_gateway(database_url, clock=clock, role="api", retention__partition_days=1) as one:
        await accounts.add_addon(one.db, one.account_id, API_ACCESS, clock.now())
        yield one


async def send(gateway: Gateway, count: int, first: int = 0) -> None:
    sends = [{"phone": f"55119{(first + number) % 150:08}", "body": f"{number}"} for number in range(count)]
    answer = await gateway.call("POST", "/api/v1/messages/batch", {"messages": sends})
    assert answer.json()["data"]["accepted"] == count


async def live_through_a_week(gateway: Gateway, clock: MovableClock) -> None:
    """Thousands of events, each day's in a partition of its own."""
    for day in range(7):
        clock.advance(DAY)
        await make_partitions(gateway.db, clock.now(), 1)
        await send(gateway, PER_DAY, first=day * 10)


async def read_on(gateway: Gateway, after: str | None, query: str = "") -> tuple[list[Any], str | None]:
    """Everything after a cursor, as the documentation says: until `next` stays the same."""
    found: list[Any] = []
    while True:
        asked = f"{EVENTS}?limit=100{query}" + (f"&after={after}" if after else "")
        page = (await gateway.call("GET", asked)).json()
        found += page["data"]
        if page["paging"]["next"] == after:
            return found, after
        after = page["paging"]["next"]


async def test_a_week_of_silence(gateway: Gateway, clock: MovableClock) -> None:
    await send(gateway, 10)
    known, last = await read_on(gateway, None)
    await live_through_a_week(gateway, clock)
    writing = asyncio.create_task(_go_on_writing(gateway))
    missed, last = await read_on(gateway, last)
    await writing
    rest, _ = await read_on(gateway, last)
    everything = known + missed + rest
    assert [event["sequence"] for event in everything] == list(range(1, len(everything) + 1))
    assert len({event["id"] for event in everything}) == len(everything)
    assert sum(event["type"] == "message_notification" for event in everything) == 10 + 7 * PER_DAY + 300
    assert len({event["timestamp"][:10] for event in missed}) == 7


async def test_a_week_of_silence_for_some_types(gateway: Gateway, clock: MovableClock) -> None:
    await send(gateway, 10)
    _, last = await read_on(gateway, None)
    await live_through_a_week(gateway, clock)
    everything, _ = await read_on(gateway, last)
    for types in ("chat_notification", "contact_notifications,message_notification", "order_notifications"):
        writing = asyncio.create_task(_go_on_writing(gateway))
        some, reached = await read_on(gateway, last, f"&types={types}")
        await writing
        more, _ = await read_on(gateway, reached, f"&types={types}")
        wanted = [event for event in everything if event["type"] in types.split(",")]
        assert (some + more)[: len(wanted)] == wanted, types
        sequences = [event["sequence"] for event in some + more]
        assert sequences == sorted(set(sequences))


async def test_a_stream_catches_up_as_well(gateway: Gateway, clock: MovableClock) -> None:
    await send(gateway, 10)
    known, last = await read_on(gateway, None)
    await live_through_a_week(gateway, clock)
    missed, _ = await read_on(gateway, last)
    assert last is not None
    async with open_stream(gateway, last=last) as stream:
        assert await stream.events(len(missed)) == missed
        await send(gateway, 1)
        assert (await stream.event())["sequence"] == len(known) + len(missed) + 1


async def test_longer_away_than_events_are_kept(gateway: Gateway, clock: MovableClock) -> None:
    await send(gateway, 10)
    known, last = await read_on(gateway, None)
    assert last is not None
    clock.advance(5 * DAY)
    await make_partitions(gateway.db, clock.now(), 1)
    await send(gateway, 20)
    clock.advance(27 * DAY)
    await make_partitions(gateway.db, clock.now(), 1)
    await send(gateway, 5)
    seen = (await gateway.call("GET", f"{EVENTS}?after={last}")).json()["message"]
    assert "older than the 30 days" in seen
    async with gateway.db.connection() as conn:
        everything = await conn.fetchval("SELECT count(*) FROM events")
    gone = await drop_old_partitions(gateway.db, clock.now() + timedelta(days=5), 9999, 30)
    assert any(name.startswith("events") for name in gone)
    rest, _ = await read_on(gateway, last)
    assert rest[0]["sequence"] > known[-1]["sequence"] + 1  # that is how it shows
    assert [event["sequence"] for event in rest] == list(range(rest[0]["sequence"], everything + 1))
    async with open_stream(gateway, last=last) as stream:
        assert await stream.event() == rest[0]


async def test_an_old_cursor_with_nothing_lost_goes_on(gateway: Gateway, clock: MovableClock) -> None:
    await send(gateway, 3)
    known, last = await read_on(gateway, None)
    clock.advance(40 * DAY)
    await make_partitions(gateway.db, clock.now(), 1)
    await drop_old_partitions(gateway.db, clock.now(), 9999, 30)
    await send(gateway, 3)
    rest, _ = await read_on(gateway, last)
    assert rest[0]["sequence"] == known[-1]["sequence"] + 1
    fresh = (await gateway.call("GET", f"{EVENTS}?after={rest[-1]['id']}")).json()
    assert fresh["message"] == "OK"


async def _go_on_writing(gateway: Gateway) -> None:
    for turn in range(10):
        await send(gateway, 10 if turn else 210, first=turn)
