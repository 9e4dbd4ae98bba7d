"""Events call people what they are called here, and by the network's name only where nobody gave them another."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.gateway.checks import PERSON, feed, until
from tests.running_gateway import Gateway, running_gateway

NUMBER = "/control/numbers/100000000000001/incoming"


@pytest.fixture
async def gateway(database_url: str) -> AsyncIterator[Gateway]:
    async with running_gateway(database_url) as one:
        yield one


async def say(gateway: Gateway, name: str = "Ana at home", **more: Any) -> None:
    said = more or {"type": "text", "text": {"body": "Hi"}}
    await gateway.sandbox("POST", NUMBER, {"from": PERSON, "name": name} | said)


def names(events: list[Any]) -> set[str | None]:
    """Every name that these events call a contact."""
    refs = [event["data"]["contact"] for event in events if "contact" in event["data"]]
    refs += [event["data"] for event in events if event["type"] == "contact_notifications"]
    return {ref["name"] for ref in refs}


async def test_every_event_uses_the_given_name(gateway: Gateway) -> None:
    made = await gateway.call("POST", "/api/v1/contacts", {"phone": PERSON, "name": "Mrs Ana"})
    contact = made.json()["data"]["id"]
    conversation = "cv" + contact[2:]
    label = (await gateway.call("POST", "/api/v1/labels", {"name": "VIP"})).json()["data"]["id"]
    await say(gateway)
    line = {"product_retailer_id": "tea", "quantity": "1", "item_price": "2.50", "currency": "EUR"}
    order = {"catalog_id": "c", "text": "", "product_items": [line]}
    await say(gateway, type="order", order=order)
    sent = await gateway.send(phone=PERSON, body="Hello")
    await gateway.until_status(sent, "READ")
    await gateway.call("PUT", f"/api/v1/conversations/{conversation}/labels/{label}")
    await gateway.call("PATCH", f"/api/v1/conversations/{conversation}", {"status": "closed"})
    await say(gateway)

    async def seen() -> bool:
        received = {(event["type"], event["action"]) for event in await feed(gateway)}
        return {("order_notifications", "created"), ("label_notifications", "assigned")} <= received and sum(
            event["type"] == "chat_notification" for event in await feed(gateway)
        ) >= 3

    await until(seen)
    events = await feed(gateway)
    assert names(events) == {"Mrs Ana"}
    kinds = {event["type"] for event in events if "contact" in event["data"]}
    assert kinds == {"message_notification", "chat_notification", "label_notifications", "order_notifications"}


async def test_a_network_name_is_reported_only_where_it_is_used(gateway: Gateway) -> None:
    async def renamed() -> list[Any]:
        return [
            e["data"] for e in await feed(gateway) if (e["type"], e["action"]) == ("contact_notifications", "updated")
        ]

    await say(gateway, "Ana")
    await say(gateway, "Ana Maria")
    await until(renamed)
    assert [data["name"] for data in await renamed()] == ["Ana Maria"]
    contact = (await renamed())[0]["id"]
    await gateway.call("PATCH", f"/api/v1/contacts/{contact}", {"name": "Mrs Ana"})
    await say(gateway, "Ana the third")
    await say(gateway, "Ana the fourth")

    async def all_heard() -> bool:
        return len([event for event in await feed(gateway) if event["data"].get("direction") == "in"]) == 4

    await until(all_heard)
    assert [data["name"] for data in await renamed()] == ["Ana Maria", "Mrs Ana"]
    await gateway.call("PATCH", f"/api/v1/contacts/{contact}", {"name": None})
    assert (await renamed())[-1]["name"] == "Ana the fourth"  # what the network says was noted all the while
