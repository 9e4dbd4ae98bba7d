"""Orders and usage."""

from typing import Literal

from gatepost_client.calls.builders import act, fetch, pages
from gatepost_client.calls.messages import Moment
from gatepost_client.types import Order, Usage
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
    """List orders from `start` (inclusive) to `end` (exclusive), newest first. Filters combine."""
    query = {"from": start, "to": end, "tz": tz, "status": status, "phone": phone}
    return pages(Order, "orders", query=query)


def order(order_id: str) -> Call[Order]:
    """Return one order with its items."""
    return fetch(Order, "orders", order_id)


def change_order(order_id: str, status: Status) -> Call[Order]:
    """Change the status of an order. Not retried after a lost response: a status cannot be set twice."""
    return act(Order, "PATCH", "orders", order_id, body={"status": status})


def usage() -> Call[Usage]:
    """Return the usage of the plan and of every limit, and the messages of the last 30 days."""
    return fetch(Usage, "usage")
