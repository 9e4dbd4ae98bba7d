"""Orders in the API: found by date, status and number; their status changes."""

from typing import Any

import pytest

from gatepost.model.order import STATUSES, may_move
from tests.gateway.checks import PERSON, check_refused, feed, until
from tests.running_gateway import Gateway

ORDERS = "/api/v1/orders"
ITEM = {"product_retailer_id": "bread", "quantity": 3, "item_price": 1.10, "currency": "EUR"}


async def order(gateway: Gateway, person: str = PERSON) -> Any:
    """An order of a person, as the list shows it."""
    before = await listed(gateway, "limit=100")
    content = {"catalog_id": "c", "text": "Please", "product_items": [ITEM]}
    said = {"from": person, "type": "order", "order": content}
    await gateway.sandbox("POST", "/control/numbers/100000000000001/incoming", said)

    async def there() -> Any:
        data = (await gateway.call("GET", f"{ORDERS}?limit=100")).json()["data"]
        return next((one for one in data if one["id"] not in before), None)

    return await until(there)


async def listed(gateway: Gateway, query: str, key: str | None = None) -> list[str]:
    answer = await gateway.call("GET", f"{ORDERS}?{query}", key=key)
    assert answer.status == 200, answer.body
    return [one["id"] for one in answer.json()["data"]]


async def test_an_order_with_its_sum(gateway: Gateway) -> None:
    shown = await order(gateway)
    assert (shown["status"], shown["total"], shown["currency"], shown["note"]) == ("new", "3.3", "EUR", "Please")
    assert (shown["contact"]["phone"], shown["items"][0]["quantity"]) == (PERSON, 3)
    assert shown["id"] == "ord_" + shown["message"].lower()
    assert (await gateway.call("GET", f"{ORDERS}/{shown['id']}")).json()["data"] == shown
    assert (await gateway.call("GET", f"/api/v1/messages/{shown['message']}")).status == 200


async def test_a_new_status_of_an_order_is_reported(gateway: Gateway) -> None:
    one = f"{ORDERS}/{(await order(gateway))['id']}"
    for status in ("confirmed", "confirmed", "shipped", "delivered"):
        moved = await gateway.call("PATCH", one, {"status": status})
        assert (moved.status, moved.json()["data"]["status"]) == (200, status)
    for status in ("canceled", "new", "shipped"):
        check_refused(await gateway.call("PATCH", one, {"status": status}), 409, "wrong_state")
    check_refused(await gateway.call("PATCH", one, {"status": "lost"}), 422, "invalid_field", "status")
    check_refused(await gateway.call("PATCH", one, {}), 422, "invalid_field", "status")
    seen = [e["data"] for e in await feed(gateway) if (e["type"], e["action"]) == ("order_notifications", "updated")]
    assert [(data["previous"], data["status"]) for data in seen] == [
        ("new", "confirmed"),
        ("confirmed", "shipped"),
        ("shipped", "delivered"),
    ]
    assert (seen[0]["total"], seen[0]["contact"]["phone"]) == ("3.3", PERSON)


async def test_orders_by_status_person_and_day(gateway: Gateway) -> None:
    first, second = await order(gateway), await order(gateway, "5511999997777")
    await gateway.call("PATCH", f"{ORDERS}/{first['id']}", {"status": "canceled"})
    both = sorted((first["id"], second["id"]), reverse=True)  # the network reports whole seconds
    assert await listed(gateway, "") == both
    assert await listed(gateway, "status=canceled") == [first["id"]]
    assert await listed(gateway, f"phone={PERSON}") == [first["id"]]
    assert await listed(gateway, f"phone={PERSON}&status=new") == []
    assert await listed(gateway, "phone=5511999990000") == []
    day = first["created_at"][:10]
    assert await listed(gateway, f"from={day}") == both
    assert await listed(gateway, f"to={day}") == []
    assert await listed(gateway, f"from={first['created_at']}&to=2999-01-01&tz=America/Sao_Paulo") == both
    assert await listed(gateway, f"to={first['created_at']}") == []
    page = (await gateway.call("GET", f"{ORDERS}?limit=1")).json()
    assert await listed(gateway, f"limit=1&cursor={page['paging']['next']}") == both[1:]
    for query, field in (("status=lost", "status"), ("phone=x", "phone"), ("from=x", "from"), ("day=x", "day")):
        code = "invalid_phone" if field == "phone" else "invalid_field"
        check_refused(await gateway.call("GET", f"{ORDERS}?{query}"), 422, code, field)


async def test_an_order_outlives_its_contact(gateway: Gateway) -> None:
    made = await order(gateway)
    assert (await gateway.call("DELETE", f"/api/v1/contacts/{made['contact']['id']}")).status == 200
    shown = (await gateway.call("GET", f"{ORDERS}/{made['id']}")).json()["data"]
    assert shown["contact"] == {"id": made["contact"]["id"], "phone": PERSON, "name": None}


async def test_a_strangers_orders_are_not_there(gateway: Gateway) -> None:
    made, stranger = await order(gateway), await gateway.new_stranger()
    assert await listed(gateway, "", stranger) == []
    for method, body in (("GET", None), ("PATCH", {"status": "shipped"})):
        for id_ in (made["id"], "ord_x"):
            check_refused(await gateway.call(method, f"{ORDERS}/{id_}", body, key=stranger), 404, "not_found")
    assert await listed(gateway, "status=new") == [made["id"]]


@pytest.mark.parametrize("before", STATUSES)
def test_orders_only_go_forward(before: str) -> None:
    way = {
        "new": {"confirmed", "shipped", "delivered", "canceled"},
        "confirmed": {"shipped", "delivered", "canceled"},
        "shipped": {"delivered", "canceled"},
        "delivered": set(),
        "canceled": set(),
    }
    assert {after for after in STATUSES if may_move(before, after)} == way[before]
