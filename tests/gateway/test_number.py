"""An official number as the network has it: found out by itself, followed when it changes, and not against a hand."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from gatepost.model import ids
from gatepost.model.number_status import NumberHealth
from gatepost.networks.base import BusinessAccount
from gatepost.services.profile import check_health
from gatepost.store.channels import get_config
from tests.gateway.checks import feed, until
from tests.running_gateway import Gateway

CHANNEL, HEALTH = "/api/v1/channel", "/api/v1/channel/health"
NUMBER = "100000000000007"
CONTROL = f"/control/numbers/{NUMBER}"
FREE = {"pair_seconds": 0, "pair_burst": 10_000, "window": 0}


async def known(gateway: Gateway, at_the_network: dict[str, Any], by_hand: dict[str, Any] | None = None) -> None:
    """The gateway's channel is now one that the network knew long before us."""
    channel = await gateway.new_channel(gateway.account_id, "15550007777", NUMBER, FREE | (by_hand or {}))
    await gateway.sandbox("PATCH", CONTROL, at_the_network)
    gateway.key = await gateway.new_key(channel.id)
    await gateway.until_status(await gateway.send(phone="5511999990001", body="Hello"), "READ")


async def shown(gateway: Gateway) -> Any:
    return (await gateway.call("GET", CHANNEL)).json()["data"]


async def seen(gateway: Gateway) -> list[tuple[str, str | None]]:
    """Every state of the connection that was reported."""
    changes = [event["data"] for event in await feed(gateway) if event["action"] == "connection"]
    return [(change["state"], change["reason"]) for change in changes]


async def test_a_number_that_was_raised_long_ago_is_used_as_it_is(gateway: Gateway) -> None:
    await known(gateway, {"limits": {"tier": 10_000, "throughput": 1000}, "quality_rating": "YELLOW"})

    async def found() -> Any:
        channel = await shown(gateway)
        return channel if channel["quality"] else None

    channel = await until(found)
    assert (channel["quality"], channel["status"]) == ("YELLOW", "CONNECTED")
    assert (channel["limits"]["throughput"], channel["limits"]["tier"]) == (1000, 10_000)

    async def in_force() -> Any:
        now = await shown(gateway)
        return now["throughput"]["limit"] == 1000 and now["tier"]["limit"] == 10_000

    await gateway.send(phone="5511999990002", body="Hello")
    await until(in_force)
    assert await seen(gateway) == [], "nothing has happened to its connection"


async def test_what_a_person_set_stays(gateway: Gateway) -> None:
    await known(gateway, {"limits": {"tier": 10_000, "throughput": 1000}}, {"tier": 5, "throughput": 20})
    health = (await gateway.call("GET", HEALTH)).json()["data"]
    assert (health["tier"], health["throughput"]) == (10_000, 1000)
    limits = (await shown(gateway))["limits"]
    assert (limits["tier"], limits["throughput"]) == (5, 20)


async def test_a_network_without_tiers_leaves_ours(gateway: Gateway) -> None:
    await known(gateway, {})
    health = (await gateway.call("GET", HEALTH)).json()["data"]
    assert (health["tier"], health["throughput"]) == (None, None)
    limits = (await shown(gateway))["limits"]
    assert (limits["tier"], limits["throughput"]) == (1000, 80)


async def test_a_worse_quality_is_seen_without_being_asked_for(gateway: Gateway) -> None:
    await known(gateway, {"limits": {"tier": 1000}})
    await gateway.sandbox("POST", f"{CONTROL}/quality", {"rating": "RED"})

    async def red() -> Any:
        return (await shown(gateway))["quality"] == "RED"

    await until(red)


async def test_a_reported_tier_follows_what_is_read_later(gateway: Gateway) -> None:
    await known(gateway, {"limits": {"tier": 1000}})
    await gateway.sandbox("POST", f"{CONTROL}/tier", {"tier": 10_000})

    async def risen() -> Any:
        return (await shown(gateway))["limits"]["tier"] == 10_000

    await until(risen)
    await gateway.sandbox("PATCH", CONTROL, {"limits": {"tier": 2000}})  # and no news of it

    async def followed() -> Any:
        assert (await gateway.call("GET", HEALTH)).json()["data"]["tier"] == 2000
        return (await shown(gateway))["limits"]["tier"] == 2000

    await until(followed)  # a read by the gateway itself may end later, with the tier before


async def test_a_number_that_was_blocked_without_a_report_is_noticed_and_reported_once(gateway: Gateway) -> None:
    await known(gateway, {})
    await gateway.call("GET", HEALTH)
    for status, state in (("BANNED", "banned"), ("BANNED", "banned"), ("CONNECTED", "connected")):
        await gateway.sandbox("PATCH", CONTROL, {"status": status})
        assert (await gateway.call("GET", HEALTH)).json()["data"]["status"] == status
        assert (await shown(gateway))["connection"]["state"] == state
    assert [state for state, _ in await seen(gateway)] == ["banned", "connected"]


async def test_an_upgrade_is_waited_for_and_used(gateway: Gateway) -> None:
    await known(gateway, {"limits": {"tier": 0, "throughput": 80}})
    await gateway.sandbox("POST", f"{CONTROL}/upgrade", {"seconds": 3600})
    sent = [await gateway.send(phone=f"551199999{n:04}", body="Meanwhile") for n in range(5)]

    async def refused() -> Any:
        ledger = await gateway.sandbox("GET", f"/control/ledger?kind=refused&phone_number_id={NUMBER}")
        return {entry["code"] for entry in ledger["entries"]}

    assert await until(refused) == {131057}
    await gateway.sandbox("POST", "/control/clock", {"advance": 3600})
    for id_ in sent:
        await gateway.until_status(id_, "READ")

    async def upgraded() -> Any:
        return (await shown(gateway))["limits"]["throughput"] == 1000

    await until(upgraded)


async def test_messages_that_fail_for_the_numbers_sake_stop_the_others(gateway: Gateway) -> None:
    await known(gateway, {})
    await gateway.sandbox("POST", "/control/faults", {"fault": "fail", "code": 131042, "phone_number_id": NUMBER})
    await gateway.until_status(await gateway.send(phone="5511999990002", body="Unpaid"), "FAILED")

    async def limited() -> Any:
        channel = await shown(gateway)
        return channel["connection"] if channel["connection"]["state"] == "limited" else None

    connection = await until(limited)
    assert "cannot be charged" in connection["reason"]
    waiting = [await gateway.send(phone=f"55119999900{n}", body="Has to wait") for n in range(10, 15)]

    async def held() -> Any:
        return (await shown(gateway))["waiting"]

    assert (await until(held))["because"] == connection["reason"]
    assert {await gateway.status(id_) for id_ in waiting} == {"PENDING"}


async def test_messages_that_fail_because_of_spam_reports_hold_new_conversations(gateway: Gateway) -> None:
    await known(gateway, {})
    fault = {"fault": "fail", "code": 131048, "phone_number_id": NUMBER, "times": 1}
    await gateway.sandbox("POST", "/control/faults", fault)
    await gateway.until_status(await gateway.send(phone="5511999990002", body="Too many"), "FAILED")

    async def held() -> Any:
        return (await shown(gateway))["waiting"]

    async def limited() -> Any:
        return (await shown(gateway))["connection"]["state"] == "limited"

    await until(limited)
    waiting = await gateway.send(phone="5511999990010", body="Has to wait")
    assert (await until(held))["rule"] == "new_conversations"
    assert await gateway.status(waiting) == "PENDING"


@pytest.mark.parametrize("reported", [True, False])
async def test_a_restricted_number_answers_people_and_opens_no_conversations(gateway: Gateway, reported: bool) -> None:
    await known(gateway, {})
    person = {"from": "5511999990005", "type": "text", "text": {"body": "Hello?"}}
    if reported:
        await gateway.sandbox("POST", f"{CONTROL}/status", {"status": "RESTRICTED"})

        async def limited() -> Any:
            return any("may not open conversations" in str(reason) for _, reason in await seen(gateway))

        await until(limited)
    else:
        await gateway.sandbox("PATCH", CONTROL, {"status": "RESTRICTED"})
    waiting = await gateway.send(phone="5511999990010", body="Has to wait")

    async def held() -> Any:
        return (await shown(gateway))["waiting"]

    assert (await until(held))["rule"] == "new_conversations"
    await gateway.sandbox("POST", f"{CONTROL}/incoming", person)

    async def written() -> Any:
        return (await gateway.call("GET", "/api/v1/messages?phone=5511999990005")).json()["data"]

    await until(written)
    await gateway.until_status(await gateway.send(phone="5511999990005", body="A reply"), "READ")
    assert await gateway.status(waiting) == "PENDING"
    refused = await gateway.sandbox("GET", f"/control/ledger?kind=refused&phone_number_id={NUMBER}")
    assert len(refused["entries"]) == (0 if reported else 1)


async def test_a_failure_of_one_message_stops_nobody(gateway: Gateway) -> None:
    await known(gateway, {})
    fault = {"fault": "fail", "code": 131026, "phone_number_id": NUMBER, "times": 1}
    await gateway.sandbox("POST", "/control/faults", fault)
    await gateway.until_status(await gateway.send(phone="5511999990002", body="Not there"), "FAILED")
    await gateway.until_status(await gateway.send(phone="5511999990003", body="There"), "READ")
    assert (await shown(gateway))["connection"]["state"] == "connected"


async def read_late(gateway: Gateway, seen: NumberHealth, meanwhile: Callable[[], Awaitable[object]]) -> None:
    """Read the number, with an answer that arrives after something else has happened."""

    class LateAnswer:
        async def read_number(self) -> NumberHealth:
            await asyncio.sleep(0.002)  # times are stored in milliseconds
            await meanwhile()
            return seen

    id_ = ids.parse_id("ch", gateway.channel)
    assert id_ is not None
    channel = await get_config(gateway.db, id_)
    assert channel is not None
    await check_health(gateway.db, channel, cast("BusinessAccount", LateAnswer()), gateway.clock.now())


async def test_a_late_answer_changes_nothing_that_is_newer(gateway: Gateway) -> None:
    await known(gateway, {"limits": {"tier": 1000}, "quality_rating": "GREEN"})
    gateway.channel = (await shown(gateway))["id"]
    assert (await gateway.call("GET", HEALTH)).json()["data"]["tier"] == 1000
    before = NumberHealth("CONNECTED", "GREEN", 80, 1000, None, None, None, [])

    async def read_another_tier() -> None:
        await gateway.sandbox("PATCH", CONTROL, {"limits": {"tier": 10_000}})
        assert (await gateway.call("GET", HEALTH)).json()["data"]["tier"] == 10_000

    await read_late(gateway, before, read_another_tier)
    assert (await shown(gateway))["limits"]["tier"] == 10_000

    async def end_a_ban() -> None:
        for status, state in (("BANNED", "banned"), ("CONNECTED", "connected")):
            await gateway.sandbox("POST", f"{CONTROL}/status", {"status": status})
            await until_connection(gateway, state)

    await read_late(gateway, NumberHealth("BANNED", "GREEN", 80, 10_000, None, None, None, []), end_a_ban)
    assert (await shown(gateway))["connection"]["state"] == "connected"


async def until_connection(gateway: Gateway, state: str) -> None:
    async def settled() -> bool:
        return bool((await shown(gateway))["connection"]["state"] == state)

    await until(settled)
