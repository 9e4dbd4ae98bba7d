"""The stream of an account: all channels, without a gap over cuts and nodes, only for those who may read."""

import asyncio
import gc
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest

from gatepost.admin import accounts, sign_in, users
from gatepost.admin import channels as admin
from gatepost.model import ids
from gatepost.model.account_log import OPERATOR
from gatepost.services.account_feed import AccountStream
from gatepost.services.event_waiters import EventWaiter
from gatepost.store.channels import ChannelConfig, save_connection
from tests.gateway.account_streams import STREAM, AccountReader, open_account_stream
from tests.gateway.checks import TEXT, check_refused, feed, until
from tests.gateway.event_streams import another_node, open_stream
from tests.gateway.people import new_person
from tests.patience import PATIENCE
from tests.running_gateway import Gateway, running_gateway


@pytest.fixture
async def gateway(parted_database_url: str) -> AsyncIterator[Gateway]:
    """Yield a gateway that sends nothing: only the test causes events."""
    async with running_gateway(parted_database_url, role="api") as one:
        yield one


PHONES = {"owner": "5511900000001", "agent": "5511900000002", "reader": "5511900000003"}


async def new_channels(gateway: Gateway, count: int) -> list[ChannelConfig]:
    return [await gateway.new_qr_channel(gateway.account_id, f"1555100{number:04}") for number in range(count)]


async def write(gateway: Gateway, channel: ChannelConfig, turns: int = 1) -> None:
    """Emit events of a channel without its network."""
    for _ in range(turns):
        await save_connection(gateway.db, channel.ref, channel.id, "connected", uuid4().hex, gateway.clock.now())


def numbers(events: list[Any]) -> dict[str, list[int]]:
    """The sequence numbers of each channel."""
    found: dict[str, list[int]] = {}
    for event in events:
        found.setdefault(event["channel"]["id"], []).append(event["sequence"])
    return found


async def test_every_role_gets_what_happens_on_all_channels(gateway: Gateway) -> None:
    other = (await new_channels(gateway, 1))[0]
    for role in ("owner", "agent", "reader"):
        async with open_account_stream(await new_person(gateway, role)) as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            assert await stream.notice("ready") == {"missed": 0, "heartbeat": 15}
            await write(gateway, other)
            assert (await stream.event())["channel"]["id"] == ids.format_id("ch", other.id)
            message_id = await gateway.send(phone=PHONES[role], body="Hello")
            assert message_id in str(await stream.events(3))


async def test_nothing_is_missing_after_a_cut(gateway: Gateway) -> None:
    person, others = await new_person(gateway), await new_channels(gateway, 2)
    async with open_account_stream(person) as stream:
        await write(gateway, others[0])
        await stream.event()
        last = stream.last
    await write(gateway, others[0], 250)
    await write(gateway, others[1], 3)
    await gateway.send(**TEXT)
    for names in ({"last": last}, {"query": f"?after={last}"}):
        async with open_account_stream(person, **names) as stream:
            received = numbers(await stream.events(256))
            assert (await stream.notice("ready"))["missed"] == 256
        assert received[ids.format_id("ch", others[0].id)] == list(range(2, 252))
        assert received[ids.format_id("ch", others[1].id)] == [1, 2, 3]
        assert received[gateway.channel] == [1, 2, 3]


async def test_no_gap_over_many_cuts_while_many_channels_write(gateway: Gateway) -> None:
    person, others = await new_person(gateway), await new_channels(gateway, 30)
    async with open_account_stream(person) as stream:
        last = stream.last
    writers = [asyncio.create_task(write(gateway, channel, 8)) for channel in others]
    received: dict[str, Any] = {}
    while len(received) < 240:
        async with open_account_stream(person, last=last) as stream:
            for _ in range(23):  # cut in the middle of parts
                event = await stream.event()
                received[event["id"]] = event
                if len(received) == 240:
                    break
            last = stream.last
    await asyncio.gather(*writers)
    for channel_id, found in numbers(list(received.values())).items():
        assert found == list(range(1, 9)), channel_id


async def test_two_nodes_continue_each_other(gateway: Gateway) -> None:
    person, channel = await new_person(gateway), (await new_channels(gateway, 1))[0]
    async with another_node(gateway) as (url, _), open_account_stream(person) as here:
        async with open_account_stream(person, url=url) as there:
            await there.notice("ready")
            await write(gateway, channel, 2)
            assert [event["sequence"] for event in await there.events(2)] == [1, 2]
            last = there.last
        await write(gateway, channel)
        async with open_account_stream(person, url=url, last=last) as there:
            assert (await there.event())["sequence"] == 3
        assert [event["sequence"] for event in await here.events(3)] == [1, 2, 3]


async def test_channels_that_come_change_and_go(gateway: Gateway) -> None:
    person = await new_person(gateway)
    async with open_account_stream(person) as stream:
        await stream.notice("ready")
        channel = (await new_channels(gateway, 1))[0]
        own = {"id": ids.format_id("ch", channel.id)}
        await write(gateway, channel)
        assert await stream.notice("channel_changed") == {"channel": own, "change": "created"}
        assert (await stream.event())["channel"]["id"] == own["id"]
        answer = await person.call("PATCH", f"/api/v1/account/channels/{own['id']}", {"name": "The bakery"})
        assert answer.status == 200
        assert await stream.notice("channel_changed") == {"channel": own, "change": "updated"}
        await admin.delete_channel(gateway.db, gateway.account_id, channel.id, actor=OPERATOR, now=gateway.clock.now())
        while (await stream.notice("channel_changed"))["change"] != "deleted":
            pass
        last = stream.last
    async with open_account_stream(person, last=last) as stream:  # its events are not sent any more
        assert (await stream.notice("ready"))["missed"] == 0


async def test_another_account_gets_nothing(gateway: Gateway) -> None:
    account_id = await gateway.new_account()
    theirs = await gateway.new_qr_channel(account_id, "15550009999")
    us, them = await new_person(gateway), await new_person(gateway, account_id=account_id)
    async with open_account_stream(us) as ours, open_account_stream(them) as stream:
        await ours.notice("ready")
        await gateway.send(**TEXT)
        await write(gateway, theirs)
        assert (await stream.event())["channel"]["id"] == ids.format_id("ch", theirs.id)
        await ours.events(3)
        last = ours.last
    async with open_account_stream(them, last=last) as stream:  # a cursor of ours opens nothing
        await write(gateway, theirs)
        assert numbers(await stream.events(2)) == {ids.format_id("ch", theirs.id): [1, 2]}


async def ended(stream: AccountReader) -> str:
    return (await stream.end())[-1][""]


async def test_it_ends_with_the_session_and_the_right_to_read(parted_database_url: str) -> None:
    options: dict[str, Any] = {"security__key_cache_seconds": 0.0, "api__heartbeat": 0.05}
    async with running_gateway(parted_database_url, role="api", **options) as gateway:
        now = gateway.clock.now()
        person = await new_person(gateway)
        async with open_account_stream(person) as stream:
            await sign_in.end_sessions(gateway.db, person.user, now=now)
            assert "session has ended" in await ended(stream)
        check_refused(await person.call("GET", STREAM), 401, "session_ended")
        person = await new_person(gateway)
        async with open_account_stream(person) as stream:
            await users.delete_user(gateway.db, gateway.account_id, person.user.id, now=now)
            assert "session has ended" in await ended(stream)
        person = await new_person(gateway)
        async with open_account_stream(person) as stream:
            await accounts.set_suspended(gateway.db, gateway.account_id, True)
            assert "suspended" in await ended(stream)


async def test_so_many_streams_of_one_person(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, api__streams=2) as gateway:
        person, other = await new_person(gateway), await new_person(gateway)
        async with open_account_stream(person), open_account_stream(other):
            async with open_account_stream(person):
                await person.sign_in()  # another session of the same person
                refused = await person.call("GET", STREAM)
                check_refused(refused, 429, "rate_limited")
                assert refused.headers["retry-after"] == "1"
            async with asyncio.timeout(PATIENCE):
                while (await person.call("GET", STREAM)).status != 200:  # a cut connection is noticed soon
                    await asyncio.sleep(0.01)


async def test_a_client_that_does_not_read_takes_no_memory_and_misses_nothing(gateway: Gateway) -> None:
    person, channel = await new_person(gateway), (await new_channels(gateway, 1))[0]
    reason = "x" * 30_000
    async with open_account_stream(person) as stream:
        await stream.notice("ready")
        for turn in range(300):  # 9 MB: more than the sockets and the buffer hold
            await save_connection(
                gateway.db, channel.ref, channel.id, "connected", f"{turn}{reason}", gateway.clock.now()
            )
        assert [event["sequence"] for event in await stream.events(300)] == list(range(1, 301))


async def test_it_can_begin_a_little_earlier(gateway: Gateway) -> None:
    person, channel = await new_person(gateway), (await new_channels(gateway, 1))[0]
    await write(gateway, channel, 2)
    async with open_account_stream(person, "?back=60") as stream:
        assert numbers(await stream.events(2)) == {ids.format_id("ch", channel.id): [1, 2]}
        last = stream.last
    async with open_account_stream(person, "?back=60", last=last) as stream:  # a cursor is more exact
        assert (await stream.notice("ready"))["missed"] == 0


async def test_bad_cursors_and_parameters(gateway: Gateway) -> None:
    person = await new_person(gateway)
    for text in ("", "1", "evt_" + "0" * 32, "a1.x"):
        check_refused(await person.call("GET", f"{STREAM}?after={text}"), 400, "invalid_cursor")
        refused = await person.call("GET", STREAM, headers={"last-event-id": text})
        check_refused(refused, 400, "invalid_cursor")
    check_refused(await person.call("GET", STREAM + "?seconds=0"), 422, "invalid_field", "seconds")
    for seconds in ("-1", "61"):
        check_refused(await person.call("GET", f"{STREAM}?back={seconds}"), 422, "invalid_field", "back")
    check_refused(await person.call("GET", STREAM + "?types=x"), 422, "invalid_field", "types")
    check_refused(await gateway.call("GET", STREAM), 403, "session_required")
    assert (await person.call("HEAD", STREAM)).body == b""


async def test_a_stream_with_an_end_that_is_closed_before_leaves_nothing(gateway: Gateway) -> None:
    person = await new_person(gateway)

    async def in_memory() -> set[int]:
        gc.collect()
        return {id(one) for one in gc.get_objects() if isinstance(one, AccountStream | EventWaiter)}

    before = await in_memory()
    async with open_account_stream(person, "?seconds=3600") as stream, open_stream(gateway, "?seconds=3600"):
        await stream.notice("ready")
        assert len(await in_memory() - before) == 2

    async def all_gone() -> bool:
        return await in_memory() <= before

    await until(all_gone)


async def test_it_ends_when_the_node_stops(gateway: Gateway) -> None:
    person = await new_person(gateway)
    async with another_node(gateway) as (url, node), open_account_stream(person, url=url) as stream:
        await stream.notice("ready")
        node.end_streams()
        assert await stream.end() == []
        check_refused(await person.call("GET", url + STREAM), 503, "overloaded")


async def test_the_feed_of_one_channel_says_the_same(gateway: Gateway) -> None:
    person = await new_person(gateway)
    async with open_account_stream(person) as stream:
        await gateway.send(**TEXT)
        received = await stream.events(3)
    assert received == await feed(gateway)
