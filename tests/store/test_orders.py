"""Orders: one row and one event with the message that brings them; sums to the last digit, or none at all."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.model import ids, times
from gatepost.store.orders import total_of
from gatepost.store.pool import Database
from tests.for_each import for_each
from tests.inbound.incoming_messages import ANA, contact_of, contact_view, data, message_from, receive, row_of
from tests.outbound.stage import Stage, make_stage


def item(price: Any = "30.00", quantity: Any = 1, currency: Any = "USD") -> dict[str, Any]:
    return {"retailer_id": "a", "quantity": quantity, "price": price, "currency": currency}


def order(items: Any, **more: Any) -> dict[str, Any]:
    return {"order": {"catalog_id": "cat", "text": "Please", "items": items, **more}}


async def test_an_order_is_a_message_an_order_and_an_event_of_each(stage: Stage) -> None:
    content = order([item("19.99", 3), item("0.01", 1)])
    update = message_from(stage, ANA, "order", content, age=60)
    for _ in range(2):
        await receive(stage, update)
    message, contact, (row,) = (
        await row_of(stage, update),
        await contact_of(stage, ANA.phone or ""),
        await stage.rows("orders"),
    )
    assert (row["id"], row["contact_id"], row["status"]) == (message["id"], contact["id"], "new")
    assert (row["total"], row["currency"], row["created_at"]) == (Decimal("59.98"), "USD", update.at)
    assert (row["catalog_id"], row["note"]) == ("cat", "Please")
    assert msgspec.json.decode(row["items"]) == content["order"]["items"]
    seen, event = await data(stage)
    assert seen["content"] == content
    assert event == {
        "id": ids.format_id("ord", row["id"]),
        "message": ids.message_id(row["id"]),
        "contact": contact_view(stage, contact),
        "conversation": {"id": ids.format_id("cv", contact["id"])},
        "status": "new",
        "catalog_id": "cat",
        "note": "Please",
        "items": content["order"]["items"],
        "total": "59.98",
        "currency": "USD",
        "created_at": times.format_time(update.at),
    }


SILLY: list[Any] = [
    [],
    None,
    "text",
    {"a": 1},
    [1, None],
    [item("NaN")],
    [item("sNaN")],
    [item("Infinity")],
    [item("1e999")],
    [item("1e-999999")],
    [item("-1.00")],
    [item(None)],
    [item("")],
    [item("free")],
    [item({"a": 1})],
    [item(quantity=None)],
    [item(quantity="2")],
    [item(quantity=1.5)],
    [item(quantity=True)],
    [item(quantity=-1)],
    [item(quantity=10**9 + 1)],
    [item("1000000000000000.01")],
    [item("0.0000000001")],
    [{}],
    [item(), item(currency="EUR")],
    [item(currency="a\x00b", price="x")],
]


@for_each("items", SILLY)
async def test_what_has_no_sum_is_an_order_all_the_same(db: Database, items: Any) -> None:
    stage = await make_stage(db)
    update = message_from(stage, ANA, "order", order(items, text="a\x00b", catalog_id=7))
    await receive(stage, update)
    (row,) = await stage.rows("orders")
    assert (row["total"], row["note"], row["catalog_id"]) == (None, "a\ufffdb", "7")
    assert (await data(stage, "order"))[0]["total"] is None


@pytest.mark.parametrize("content", [{}, {"order": None}, {"order": "x"}, {"order": {}}, []])
async def test_an_order_without_an_order_is_a_message_alone(stage: Stage, content: Any) -> None:
    await receive(stage, message_from(stage, ANA, "order", content))
    assert await stage.rows("orders") == []
    assert len(await data(stage)) == 1


@for_each(
    ("items", "total"),
    [
        ([item("30.00", 2)], "60.00"),
        ([item("1000000000000000", 10**9)] * 3, "3000000000000000000000000"),
        ([item("999999999999999.999999999", 999_999_999)], "999999998999999999999999.000000001"),
        ([item("1e3", 2)], "2000"),
        ([item("0", 0)], "0"),
        ([item(0.1, 3)], "0.3"),
        ([item(30, 2)], "60"),
        ([item("0.1", 1)] * 10, "1.0"),
        ([item("1.5", 1, None)], "1.5"),
    ],
)
def test_sums_are_exact(items: list[dict[str, Any]], total: str) -> None:
    found, currency = total_of(items)
    assert found is not None
    assert f"{found:f}" == total
    assert currency == (items[0]["currency"] or None)


@given(st.lists(st.tuples(st.integers(0, 10**17), st.integers(0, 9), st.integers(0, 10**9)), min_size=1, max_size=30))
def test_any_sum_is_that_of_whole_numbers(lines: list[tuple[int, int, int]]) -> None:
    items = [item(str(Decimal(digits).scaleb(-places)), count) for digits, places, count in lines]
    total, _ = total_of(items)
    if any(digits > 10 ** (15 + places) for digits, places, _ in lines):
        assert total is None
    else:
        assert total is not None
        assert Fraction(total) == sum(Fraction(digits * count, 10**places) for digits, places, count in lines)
