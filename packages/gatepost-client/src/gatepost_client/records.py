"""Results whose parts the OpenAPI document does not describe yet."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

from gatepost_client.types import ContactRef, ConversationRef, Result


class Item(Result, frozen=True):
    """An item of an order."""

    retailer_id: str
    quantity: int
    price: Decimal | None = None
    currency: str | None = None


class Order(Result, frozen=True):
    """An order. `total` is None if its items have several currencies."""

    id: str
    message: str
    contact: ContactRef
    conversation: ConversationRef
    status: str
    items: list[Item]
    created_at: datetime
    updated_at: datetime
    catalog_id: str | None = None
    note: str | None = None
    total: Decimal | None = None
    currency: str | None = None


class PlanUsage(Result, frozen=True):
    """This month's usage of the plan; without a limit, `limit` and `left` are None."""

    name: str
    title: str
    month: str
    used: int
    resets_at: datetime
    limit: int | None = None
    left: int | None = None


class StorageUsage(Result, frozen=True):
    """Bytes of stored files; without a limit, `limit` and `left` are None."""

    used: int
    limit: int | None = None
    left: int | None = None


class Count(Result, frozen=True):
    """Messages of a day, in total and by type."""

    total: int
    types: dict[str, int]


class Day(Result, frozen=True, rename={"day": "date", "incoming": "in", "outgoing": "out"}):
    """A day's messages, incoming and outgoing."""

    day: date
    incoming: Count
    outgoing: Count


class Usage(Result, frozen=True):
    """The plan, the limits, and the last 30 days."""

    plan: PlanUsage
    trial: dict[str, Any]
    addons: list[str]
    api_access: bool
    tier: dict[str, Any]
    throughput: dict[str, Any]
    api: dict[str, Any]
    days: list[Day]
    storage: StorageUsage | None = None  # a gateway of before does not show it


class AttemptedDelivery(Result, frozen=True):
    """The state of a delivery."""

    state: str
    next_at: datetime | None = None


class Attempt(Result, frozen=True):
    """One attempt to deliver an event to an endpoint."""

    event: str
    number: int
    at: datetime
    latency_ms: float
    delivery: AttemptedDelivery
    request: dict[str, Any]
    answer: dict[str, Any]
    status: int | None = None
    error: str | None = None
