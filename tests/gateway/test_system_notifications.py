"""Notifications for operators: always in the feed and the streams, at endpoints only if asked for, each change once."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
import pytest

from gatepost.model import ids
from gatepost.store.channels import get_config
from gatepost.store.network_updates import STALE_NUMBER
from gatepost.store.numbers import save_number
from gatepost_sandbox import SandboxSettings
from tests.conftest import Answer, Receiver
from tests.gateway.account_streams import open_account_stream
from tests.gateway.checks import TEXT, check_refused, until
from tests.gateway.event_streams import open_stream
from tests.gateway.people import new_person
from tests.running_gateway import Gateway, running_gateway

TYPE = "system_notification"
HOOKS, TEMPLATES, HEALTH = "/api/v1/webhooks", "/api/v1/templates", "/api/v1/channel/health"
WABA, NUMBER = "200000000000001", "100000000000007"
CONTROL = f"/control/numbers/{NUMBER}"
NEW = {
    "name": "order_sent",
    "language": "en_US",
    "category": "UTILITY",
    "components": [{"type": "BODY", "text": "Your order has left our store today."}],
}


@pytest.fixture
async def gateway(parted_database_url: str) -> AsyncIterator[Gateway]:
    """Give a gateway whose number the network knows; templates are reviewed by the test, callbacks come in order."""
    network = msgspec.convert({"management": {"review": "manual"}, "callbacks": {"connections": 1}}, SandboxSettings)
    async with running_gateway(parted_database_url, sandbox=network) as one:
        limits = {"pair_seconds": 0, "pair_burst": 10_000, "window": 0}
        channel = await one.new_channel(one.account_id, "15550007777", NUMBER, limits, waba_id=WABA)
        await one.sandbox("PATCH", CONTROL, {"limits": {"tier": 1000}, "quality_rating": "GREEN"})
        one.channel, one.key = channel.ref.id, await one.new_key(channel.id)
        assert (await one.call("GET", HEALTH)).json()["data"]["quality"] == "GREEN"
        yield one


async def news(gateway: Gateway) -> list[tuple[str, Any]]:
    """All system notifications of the feed: their action and data."""
    page = (await gateway.call("GET", f"/api/v1/events?types={TYPE}&limit=100")).json()
    return [(event["action"], event["data"]) for event in page["data"]]


async def until_news(gateway: Gateway, count: int) -> list[tuple[str, Any]]:
    """Wait for so many system notifications; there must not be more."""

    async def come() -> Any:
        found = await news(gateway)
        return found if len(found) >= count else None

    found: list[tuple[str, Any]] = await until(come)
    assert len(found) == count, found
    return found


async def create_template(gateway: Gateway, **changes: Any) -> Any:
    made = await gateway.call("POST", TEMPLATES, NEW | changes)
    assert made.status == 201, made.body
    return made.json()["data"]


async def decide(gateway: Gateway, template: Any, decision: str) -> None:
    """The network decides about a template, and reports it."""
    await gateway.sandbox("POST", f"/control/templates/{template['network_id']}/review", {"decision": decision})


async def report_again(gateway: Gateway, template: Any, status: str) -> None:
    """The network reports a decision once more."""
    value = {
        "event": status,
        "message_template_id": template["network_id"],
        "message_template_name": template["name"],
        "message_template_language": template["language"],
        "reason": "NONE",
    }
    body = {"field": "message_template_status_update", "value": value}
    await gateway.sandbox("POST", f"/control/wabas/{WABA}/news", body)


async def test_each_decision_about_a_template_is_reported_once(gateway: Gateway) -> None:
    template = await create_template(gateway)
    assert await news(gateway) == []
    steps = (
        ("reject", "REJECTED"),
        ("approve", "APPROVED"),
        ("pause", "PAUSED"),
        ("resume", "APPROVED"),
        ("disable", "DISABLED"),
    )
    for number, (decision, status) in enumerate(steps, 1):
        await decide(gateway, template, decision)
        await until_news(gateway, number)
        await report_again(gateway, template, status)  # it is processed before the next decision
    assert (await gateway.call("POST", TEMPLATES + "/sync")).status == 200
    found = await news(gateway)
    assert [(action, data["status"], data["previous"]) for action, data in found] == [
        ("template_rejected", "REJECTED", "PENDING"),
        ("template_approved", "APPROVED", "REJECTED"),
        ("template_paused", "PAUSED", "APPROVED"),
        ("template_approved", "APPROVED", "PAUSED"),
        ("template_disabled", "DISABLED", "APPROVED"),
    ]
    _, rejected = found[0]
    assert (rejected["id"], rejected["name"], rejected["language"]) == (template["id"], "order_sent", "en_US")
    assert "INVALID_FORMAT" in rejected["reason"]


async def test_a_decision_that_only_a_sync_finds_is_reported_once(gateway: Gateway) -> None:
    template = await create_template(gateway)
    await gateway.sandbox("PATCH", CONTROL, {"callback_url": None})
    await decide(gateway, template, "approve")
    assert await news(gateway) == []
    for _ in range(2):
        assert (await gateway.call("POST", TEMPLATES + "/sync")).status == 200
    ((action, data),) = await news(gateway)
    assert (action, data["id"], data["previous"]) == ("template_approved", template["id"], "PENDING")


async def test_templates_that_a_sync_adds_are_not_reported(gateway: Gateway) -> None:
    assert (await gateway.call("POST", TEMPLATES + "/sync")).json()["data"]["added"] > 0
    assert await news(gateway) == []


async def report_number(gateway: Gateway, what: str, fields: Any) -> None:
    """The network reports a change of the number. Wait until it is saved, and the number was read again after it.

    Otherwise a reading may bring the next change before the report of this one has arrived.
    """
    before = await number_state(gateway)
    await gateway.sandbox("POST", f"{CONTROL}/{what}", fields)

    async def settled() -> bool:
        state = await number_state(gateway)
        return state.get("at") != before.get("at") and STALE_NUMBER not in state

    await until(settled)


async def number_state(gateway: Gateway) -> Mapping[str, Any]:
    """What is stored of the number."""
    id_ = ids.parse_id("ch", gateway.channel)
    assert id_ is not None
    channel = await get_config(gateway.db, id_)
    assert channel is not None
    return channel.state


async def test_a_new_quality_and_tier_are_reported_once(gateway: Gateway) -> None:
    await report_number(gateway, "quality", {"rating": "RED"})
    assert await news(gateway) == [("number_quality_changed", {"quality": "RED", "previous": "GREEN"})]
    await report_number(gateway, "quality", {"rating": "RED", "event": "FLAGGED"})
    await report_number(gateway, "tier", {"tier": 10_000})
    assert (await news(gateway))[1:] == [("number_tier_changed", {"tier": 10_000, "previous": 1000})]
    await report_number(gateway, "tier", {"tier": 10_000})
    await report_number(gateway, "tier", {"tier": 0})
    assert (await news(gateway))[2:] == [("number_tier_changed", {"tier": 0, "previous": 10_000})]


async def test_a_reading_that_is_older_than_a_report_is_not_saved(gateway: Gateway) -> None:
    asked_at = gateway.clock.now()
    await asyncio.sleep(0.002)  # times are stored in milliseconds
    await report_number(gateway, "tier", {"tier": 10_000})
    assert len(await news(gateway)) == 1
    id_ = ids.parse_id("ch", gateway.channel)
    assert id_ is not None
    channel = await get_config(gateway.db, id_)
    assert channel is not None
    await save_number(gateway.db, channel.ref, channel.id, {"tier": 1000}, 1000, asked_at)
    assert len(await news(gateway)) == 1
    assert (await gateway.call("GET", "/api/v1/channel")).json()["data"]["limits"]["tier"] == 10_000
    await save_number(gateway.db, channel.ref, channel.id, {"tier": 1000}, 1000, gateway.clock.now())
    assert (await news(gateway))[1:] == [("number_tier_changed", {"tier": 1000, "previous": 10_000})]


async def test_a_change_that_only_reading_finds_is_reported_once(gateway: Gateway) -> None:
    await gateway.sandbox("PATCH", CONTROL, {"limits": {"tier": 2000}, "quality_rating": "YELLOW"})
    answers = await asyncio.gather(*(gateway.call("GET", HEALTH) for _ in range(5)))
    assert {answer.status for answer in answers} == {200}
    assert await news(gateway) == [
        ("number_quality_changed", {"quality": "YELLOW", "previous": "GREEN"}),
        ("number_tier_changed", {"tier": 2000, "previous": 1000}),
    ]


async def test_a_tier_that_an_operator_has_set_is_not_changed_by_reading(gateway: Gateway) -> None:
    async with gateway.db.connection() as conn:
        await conn.execute("""UPDATE channels SET limits = limits || '{"tier": 5}' WHERE phone = '15550007777'""")
    await gateway.sandbox("PATCH", CONTROL, {"limits": {"tier": 2000}})
    await gateway.call("GET", HEALTH)
    assert await news(gateway) == []


async def test_an_endpoint_gets_them_only_if_it_asks(gateway: Gateway, receiver: Receiver) -> None:
    quiet = (await gateway.call("POST", HOOKS, {"url": receiver.url + "/quiet"})).json()["data"]
    assert quiet["events"][TYPE] is False
    asking = {"url": receiver.url + "/asking", "events": {TYPE: True}}
    curious = (await gateway.call("POST", HOOKS, asking)).json()["data"]
    assert set(curious["events"].values()) == {True}
    template = await create_template(gateway)
    await decide(gateway, template, "approve")
    await until_news(gateway, 1)
    await gateway.until_status(await gateway.send(**TEXT), "READ")

    def paths(type_: str) -> list[str]:
        return sorted(request.path for request in receiver.requests if request.json()["type"] == type_)

    while len(paths("ack_notification")) < 6:
        await receiver.wait_for(len(receiver.requests) + 1)
    assert paths(TYPE) == ["/asking"]
    (event,) = [request.json() for request in receiver.requests if request.json()["type"] == TYPE]
    assert (event["action"], event["data"]["id"]) == ("template_approved", template["id"])
    off = await gateway.call("PATCH", f"{HOOKS}/{curious['id']}", {"events": {TYPE: False}})
    assert off.json()["data"]["events"] == quiet["events"]


async def test_they_are_in_every_stream(gateway: Gateway) -> None:
    template = await create_template(gateway)
    person = await new_person(gateway, "reader")
    async with open_account_stream(person) as account, open_stream(gateway, f"?types={TYPE}") as channel:
        await account.notice("ready")
        await decide(gateway, template, "approve")
        for stream in (account, channel):
            event = await stream.event()
            assert (event["type"], event["action"]) == (TYPE, "template_approved")


async def test_an_endpoint_that_is_gone_is_reported(gateway: Gateway, receiver: Receiver) -> None:
    hook = (await gateway.call("POST", HOOKS, {"url": receiver.url, "events": {TYPE: True}})).json()["data"]
    receiver.answer = Answer(410)
    await gateway.send(**TEXT)
    ((action, data),) = await until_news(gateway, 1)
    assert (action, data["id"], data["state"], data["previous"]) == (
        "endpoint_disabled",
        hook["id"],
        "disabled",
        "active",
    )
    receiver.answer = Answer()
    await gateway.call("PATCH", f"{HOOKS}/{hook['id']}", {"active": True})
    assert [action for action, _ in await until_news(gateway, 2)][1] == "endpoint_enabled"


async def test_the_list_of_channels_counts_what_needs_a_person(gateway: Gateway, receiver: Receiver) -> None:
    person = await new_person(gateway, "reader")

    async def attention() -> Any:
        channels = (await person.call("GET", "/api/v1/account/channels")).json()["data"]
        return {channel["phone"]: channel["attention"] for channel in channels}["15550007777"]

    first = await create_template(gateway)
    await create_template(gateway, name="other")
    hooks = [
        (await gateway.call("POST", HOOKS, {"url": f"{receiver.url}/{name}"})).json()["data"]["id"]
        for name in ("gone", "off", "on")
    ]
    assert await attention() == {"endpoints": 0, "templates": 0}
    await gateway.call("PATCH", f"{HOOKS}/{hooks[1]}", {"active": False})  # by a person, who knows
    receiver.answer = lambda request: Answer(410 if request.path == "/gone" else 200)
    await gateway.send(**TEXT)
    await decide(gateway, first, "reject")
    await until_news(gateway, 3)
    assert await attention() == {"endpoints": 1, "templates": 1}
    await decide(gateway, first, "approve")
    await gateway.call("DELETE", f"{HOOKS}/{hooks[0]}")
    await until_news(gateway, 4)
    assert await attention() == {"endpoints": 0, "templates": 0}


async def test_the_old_name_is_unknown(gateway: Gateway) -> None:
    check_refused(
        await gateway.call("GET", "/api/v1/events?types=endpoint_notification"), 422, "invalid_field", "types"
    )
