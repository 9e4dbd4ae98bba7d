"""Orders, and what the account has used."""

from typing import Literal

from gatepost_client.calls.making import act, fetch, pages
from gatepost_client.calls.messages import Moment
from gatepost_client.records import Order, Usage
from gatepost_client.wire import Call, Listing

Status = Literal["new", "confirmed", "shipped", "delivered", "canceled"]


def orders(
    *,
    start: Moment | None = None,
    end: Moment | None = None,
    tz: str | None = None,
    status: Status | None = None,
    phone: str | None = None,
) -> Listing[Order]:
    """Orders from `start` up to, but without, `end`, the newest first. Filters combine."""
    query = {"from": start, "to": end, "tz": tz, "status": status, "phone": phone}
    return pages(Order, "orders", query=query)


def order(order_id: str) -> Call[Order]:
    """One order with its items."""
    return fetch(Order, "orders", order_id)


def change_order(order_id: str, status: Status) -> Call[Order]:
    """Say how far an order has come. Not repeated after a lost answer: an order only moves on."""
    return act(Order, "PATCH", "orders", order_id, body={"status": status})


def usage() -> Call[Usage]:
    """The month against the plan, what every limit leaves, and the last 30 days."""
    return fetch(Usage, "usage")
