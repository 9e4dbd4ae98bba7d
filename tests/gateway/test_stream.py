"""The event stream: begins now or behind an event, goes on after a cut, on every node, and ends when it should."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from gatepost.admin import keys
from gatepost.model.event import ALL_TYPES, ChannelRef
from gatepost.store.channels import get_config, save_connection
from tests.for_each import for_each
from tests.gateway.checks import TEXT, check_refused, feed
from tests.gateway.event_streams import STREAM, another_node, open_stream
from tests.movable_clock import MovableClock
from tests.patience import PATIENCE
from tests.running_gateway import Gateway, running_gateway

NOBODY = "evt_" + "0" * 32
NOW = datetime(2026, 11, 15, 10, tzinfo=UTC)


async def test_it_starts_now_and_sends_what_happens(gateway: Gateway) -> None:
    await gateway.until_status(await gateway.send(**TEXT), "READ")
    before = await feed(gateway)
    async with open_stream(gateway) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert stream.headers["cache-control"] == "no-store"
        assert stream.last == before[-1]["id"]
        await gateway.send(**TEXT)
        received = await stream.events(4)
    assert received == (await feed(gateway))[len(before) : len(before) + 4]


async def test_a_channel_without_a_past(gateway: Gateway) -> None:
    async with open_stream(gateway) as stream:
        assert stream.last == NOBODY
    await gateway.send(**TEXT)
    async with open_stream(gateway, last=NOBODY) as stream:  # as a browser that has received nothing yet connects again
        assert (await stream.event())["sequence"] == 1


async def test_behind_an_event_by_parameter_and_by_header(gateway: Gateway) -> None:
    await gateway.until_status(await gateway.send(**TEXT), "READ")
    known = await feed(gateway)
    async with open_stream(gateway, f"?after={known[1]['id']}") as stream:
        assert await stream.events(4) == known[2:]
    async with open_stream(gateway, f"?after={known[1]['id']}", last=known[4]["id"]) as stream:
        assert await stream.event() == known[5]


async def test_only_some_types(gateway: Gateway) -> None:
    async with open_stream(gateway, f"?after={NOBODY}&types=ack_notification,order_notifications") as stream:
        await gateway.send(**TEXT)
        assert [(await stream.event())["data"]["status"] for _ in range(3)] == ["SENT", "DELIVERED", "READ"]
    async with open_stream(gateway, "?types=" + ",".join(ALL_TYPES)):
        pass


async def test_no_gap_and_no_double_over_many_cuts(gateway: Gateway) -> None:
    async def write(number: int) -> None:
        for turn in range(10):
            await gateway.send(phone=f"5511900{number:05}{turn}", body="Hi")

    writers = [asyncio.create_task(write(number)) for number in range(4)]
    received: list[Any] = []
    last = NOBODY
    while sum(event["data"].get("status") == "READ" for event in received) < 40:
        async with open_stream(gateway, last=last) as stream:
            for _ in range(17):  # cut in the middle of pages, wherever that falls
                received.append(await stream.event())
                if sum(event["data"].get("status") == "READ" for event in received) == 40:
                    break
            last = stream.last
    await asyncio.gather(*writers)
    assert [event["sequence"] for event in received] == list(range(1, len(received) + 1))
    assert received == await feed(gateway)


async def test_what_another_node_writes(parted_database_url: str) -> None:
    calm = running_gateway(parted_database_url, api__heartbeat=60)
    async with calm as gateway, another_node(gateway) as (url, _), open_stream(gateway, url=url) as stream:
        message_id = await gateway.send(**TEXT)
        blocks = [await stream.block() or {} for _ in range(3)]
        assert all("data" in block for block in blocks), "found only with a sign of life, not when it was written"
        assert msgspec.json.decode(blocks[2]["data"])["data"]["key"]["id"] == message_id


async def test_other_accounts_get_nothing(gateway: Gateway) -> None:
    stranger = await gateway.new_stranger()
    ours = await gateway.send(**TEXT)
    async with open_stream(gateway, f"?after={NOBODY}", key=stranger) as stream:
        await gateway.call("POST", "/api/v1/message/send", TEXT, key=stranger)
        assert ours not in str(await stream.events(3))


async def test_a_sign_of_life_and_where_it_stands(parted_database_url: str) -> None:
    calm = running_gateway(parted_database_url, api__heartbeat=0.05)
    async with calm as gateway, open_stream(gateway, "?types=order_notifications") as stream:
        assert await stream.block() == {"": ""}
        await gateway.until_status(await gateway.send(**TEXT), "READ")
        end = (await feed(gateway))[-1]["id"]
        async with asyncio.timeout(PATIENCE):
            while stream.last != end:  # nothing of that was wanted, and nobody has to look through it again
                assert "data" not in (await stream.block() or {})


@for_each("query", ["?after=", "?after=1", f"?after=we_{'0' * 32}", "?after=evt_x"])
async def test_bad_cursors(gateway: Gateway, query: str) -> None:
    check_refused(await gateway.call("GET", STREAM + query), 400, "invalid_cursor")
    named = {"last-event-id": query.removeprefix("?after=")}
    check_refused(await gateway.call("GET", STREAM, headers=named), 400, "invalid_cursor")


async def test_questions_that_make_no_sense(gateway: Gateway) -> None:
    check_refused(await gateway.call("GET", STREAM + "?types=smoke"), 422, "invalid_field", "types")
    check_refused(await gateway.call("GET", STREAM + "?limit=1"), 422, "invalid_field", "limit")
    check_refused(await gateway.call("GET", STREAM, key=""), 401, "missing_api_key")


async def test_so_many_streams_and_no_more(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, api__streams=2) as gateway:
        other = await gateway.new_key(UUID(hex=gateway.channel[3:]))
        async with open_stream(gateway):
            async with open_stream(gateway):
                refused = await gateway.call("GET", STREAM)
                check_refused(refused, 429, "rate_limited")
                assert refused.headers["retry-after"] == "1"
                check_refused(await gateway.call("GET", "/api/v1/events?wait=1"), 429, "rate_limited")
                assert (await gateway.call("GET", "/api/v1/events")).status == 200
                async with open_stream(gateway, key=other):
                    pass
            await _until_room(gateway)


async def _until_room(gateway: Gateway) -> None:
    """A cut connection is noticed soon, and its place is free again."""
    async with asyncio.timeout(PATIENCE):
        while True:
            answer = await gateway.call("GET", "/api/v1/events?wait=1&types=order_notifications")
            if answer.status == 200:
                return
            await asyncio.sleep(0.01)


async def test_it_ends_when_its_key_is_revoked(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, api__heartbeat=0.05) as gateway:
        channel_id = UUID(hex=gateway.channel[3:])
        made = await keys.create_key(gateway.db, channel_id, "short", now=gateway.clock.now())
        async with open_stream(gateway, key=made.text) as stream:
            await keys.revoke_key(gateway.db, channel_id, made.key.id, gateway.clock.now())
            last = (await stream.end())[-1]
        assert "key" in last[""]


async def test_it_ends_when_its_key_expires(database_url: str) -> None:
    clock = MovableClock(NOW)
    async with running_gateway(database_url, clock=clock, role="api", api__heartbeat=0.05) as gateway:
        until = clock.now() + timedelta(hours=1)
        key = await gateway.new_key(UUID(hex=gateway.channel[3:]), expires_at=until)
        async with open_stream(gateway, key=key) as stream:
            clock.advance(3599)
            assert await stream.block() == {"": ""}
            clock.advance(1)
            assert "key" in (await stream.end())[-1][""]


async def test_a_busy_stream_ends_with_its_key_too(gateway: Gateway) -> None:
    channel_id = UUID(hex=gateway.channel[3:])
    made = await keys.create_key(gateway.db, channel_id, "short", now=gateway.clock.now())
    config = await get_config(gateway.db, channel_id)
    assert config is not None
    channel = ChannelRef(gateway.channel, config.kind, config.phone)
    async with open_stream(gateway, key=made.text) as stream:
        await keys.revoke_key(gateway.db, channel_id, made.key.id, gateway.clock.now())
        for turn in range(10_000):  # something happens all the time, and it never comes to a sign of life
            await save_connection(gateway.db, channel, channel_id, "connected", f"Turn {turn}", gateway.clock.now())
            if "data" not in (await stream.block() or {}):
                break
        assert await stream.end() == []


async def test_it_ends_when_the_node_stops_and_lets_nobody_in(gateway: Gateway) -> None:
    async with another_node(gateway) as (url, node), open_stream(gateway, url=url) as stream:
        waiting = asyncio.create_task(gateway.call("GET", f"{url}/api/v1/events?wait=30"))
        async with asyncio.timeout(PATIENCE):
            while sum(map(len, node._waiters._of.values())) < 2:  # a request that comes later gets 503
                await asyncio.sleep(0.01)
        node.end_streams()
        assert [block for block in await stream.end() if "data" in block] == []
        assert (await waiting).json()["data"] == []
        check_refused(await gateway.call("GET", url + STREAM), 503, "overloaded")
        async with open_stream(gateway, last=stream.last) as again:  # another node takes over
            await gateway.send(**TEXT)
            assert (await again.event())["sequence"] == 1
