"""What people keep: conversations, contacts, labels, orders, and what the account has used."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import msgspec

from gatepost_client.results import Message, Named, Person, Result


class LabelRef(Named, frozen=True):
    """A label on something."""

    name: str
    color: str


class Label(LabelRef, frozen=True):
    """A label."""

    created_at: datetime
    updated_at: datetime


class Conversation(Named, frozen=True):
    """All messages with one person."""

    contact: Person
    status: str
    archived: bool
    muted: bool
    unread: int
    created_at: datetime
    updated_at: datetime
    assignee: str | None = None
    note: str | None = None
    labels: list[LabelRef] = msgspec.field(default_factory=list)
    window_ends_at: datetime | None = None
    last_message: Message | None = None


class Contact(Named, frozen=True):
    """A person."""

    opted_out: bool
    created_at: datetime
    updated_at: datetime
    conversation: Named
    phone: str | None = None
    name: str | None = None
    username: str | None = None
    opted_out_at: datetime | None = None
    custom: dict[str, str] = msgspec.field(default_factory=dict)
    labels: list[LabelRef] = msgspec.field(default_factory=list)


class CheckedNumber(Result, frozen=True):
    """Whether a number is on the network, and the id of the contact that goes by it."""

    phone: str
    exists: bool
    contact: str | None = None


class ImportedLine(Result, frozen=True):
    """What became of one line of a table."""

    line: int
    result: str
    phone: str | None = None
    id: str | None = None
    code: str | None = None
    reason: str | None = None


class ImportReport(Result, frozen=True):
    """What became of a table. `error` is there when it ended early; `summary` counts what was written."""

    lines: list[ImportedLine]
    summary: dict[str, int] = msgspec.field(default_factory=dict)
    error: dict[str, Any] | None = None


class Item(Result, frozen=True):
    """One line of an order."""

    retailer_id: str
    quantity: int
    price: Decimal | None = None
    currency: str | None = None


class Order(Named, frozen=True):
    """What somebody ordered. `total` is None where items are in several currencies."""

    message: str
    contact: Person
    conversation: Named
    status: str
    items: list[Item]
    created_at: datetime
    updated_at: datetime
    catalog_id: str | None = None
    note: str | None = None
    total: Decimal | None = None
    currency: str | None = None


class PlanUsage(Result, frozen=True):
    """The month against the plan; without a limit, `limit` and `left` are None."""

    name: str
    title: str
    month: str
    used: int
    resets_at: datetime
    limit: int | None = None
    left: int | None = None


class StorageUsage(Result, frozen=True):
    """Bytes of files against the plan; without a limit, `limit` and `left` are None."""

    used: int
    limit: int | None = None
    left: int | None = None


class Count(Result, frozen=True):
    """Messages of a day, in all and by type."""

    total: int
    types: dict[str, int]


class Day(Result, frozen=True, rename={"day": "date", "incoming": "in", "outgoing": "out"}):
    """A day's messages, both ways."""

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


class ReportLine(msgspec.Struct, frozen=True):
    """A line of an import's answer: about a line of the table, or the end."""

    line: int | None = None
    summary: dict[str, int] | None = None
    error: dict[str, Any] | None = None
