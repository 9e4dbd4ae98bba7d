"""Contacts and their orders."""

from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import Meta

from gatepost.mcp.answers import (
    Answer,
    Arguments,
    Cursor,
    LabelId,
    LabelName,
    Limit,
    Moment,
    PersonView,
    Query,
    Zone,
    label_names,
    last_digits,
)
from gatepost.mcp.cursors import read_cursor, show_cursor
from gatepost.mcp.outside_words import Outside, outside
from gatepost.mcp.registry import READING, tool
from gatepost.mcp.tool_call import Call
from gatepost.mcp.tools.conversations import NUMBER, only_digits
from gatepost.model import ids, times
from gatepost.model.dates import read_span
from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import check_storable
from gatepost.model.order import STATUSES
from gatepost.services.contacts import ContactService
from gatepost.services.lookup import read_id
from gatepost.store.contacts.read import ContactFilter, ContactRow, SearchPosition, list_contacts, search_contacts
from gatepost.store.orders import OrderFilter, OrderRow, list_orders

_NAME_MAX = 64  # characters of a name that are searched
_ITEMS_MAX = 50


class FindContacts(Arguments, frozen=True):
    """Which contacts; all filters have to fit."""

    query: Query | None = None
    label: LabelId | None = None
    limit: Limit = 20
    cursor: Cursor | None = None


class ContactItem(Answer, frozen=True):
    """A contact in a list."""

    id: str
    conversation: str
    name: Outside | None = None
    phone_ends: str | None = None
    labels: tuple[LabelName, ...] = ()
    opted_out: bool = False


class FoundContacts(Answer, frozen=True):
    """A page of contacts."""

    contacts: list[ContactItem]
    next: str | None = None


@tool("Find contacts", READING, example={"query": "Ana"}, costly="query")
async def find_contacts(given: FindContacts, call: Call) -> FoundContacts:
    """List contacts, the newest first. `query`: the beginning of a name, or a complete phone number. A number is shown
    by its last four digits."""
    service = ContactService(call.db, call.caller.ref, call.channel_id, call.now)
    filters = ContactFilter(read_id("lb", given.label) if given.label is not None else None, None)
    rows, following = await _find(given, filters, service)
    labels = await service.labels(rows)
    found = [
        ContactItem(
            id=ids.format_id("ct", row.id),
            conversation=ids.format_id("cv", row.id),
            name=outside(row.name),
            phone_ends=last_digits(row.phone),
            labels=label_names(labels[row.id]),
            opted_out=row.opted_out is not None,
        )
        for row in rows
    ]
    return FoundContacts(found, following)


async def _find(
    given: FindContacts, filters: ContactFilter, service: ContactService
) -> tuple[list[ContactRow], str | None]:
    if given.query is None:
        before = read_cursor("find_contacts", given.cursor, UUID)
        page = await list_contacts(service.db, service.channel_id, filters, before, given.limit)
        return page.contacts, show_cursor("find_contacts", page.following) if page.following else None
    text, after = given.query.strip(), read_cursor("find_contacts", given.cursor, SearchPosition)
    check_storable("query", text)
    if not 1 <= len(text) <= _NAME_MAX:
        raise invalid_field("query", f"takes 1 to {_NAME_MAX} characters")
    if NUMBER.fullmatch(text):  # only a complete number: its digits cannot be found one by one
        row = await service.at(only_digits(text))
        return ([row], None) if row is not None and await _labelled(row, filters, service) else ([], None)
    if after is not None and "\x00" in after.key:
        raise invalid_field("cursor", "must not contain the character NUL")
    matches = await search_contacts(service.db, service.channel_id, text, filters, after, given.limit)
    following = show_cursor("find_contacts", matches.following) if matches.following else None
    return [one.contact for one in matches.found], following


async def _labelled(row: ContactRow, filters: ContactFilter, service: ContactService) -> bool:
    if filters.label_id is None:
        return True
    return filters.label_id in [label.id for label in (await service.labels([row]))[row.id]]


class FindOrders(Arguments, frozen=True, rename={"from_": "from"}):
    """Which orders; all filters have to fit."""

    from_: Moment | None = None
    to: Moment | None = None
    tz: Zone | None = None
    status: Literal[STATUSES] | None = None  # type: ignore[valid-type]
    contact: Annotated[str, Meta(description="ct_…", max_length=64)] | None = None
    limit: Limit = 20
    cursor: Cursor | None = None


class OrderItem(Answer, frozen=True):
    """A product of an order."""

    product: Outside | None
    quantity: int
    price: str | None = None


class OrderView(Answer, frozen=True):
    """An order."""

    id: str
    message: str
    conversation: str
    person: PersonView
    status: str
    at: str
    items: list[OrderItem]
    note: Outside | None = None
    total: str | None = None
    currency: str | None = None

    @classmethod
    def of(cls, row: OrderRow) -> "OrderView":
        """Return an order with its first items."""
        return cls(
            id=ids.format_id("ord", row.id),
            message=ids.message_id(row.id),
            conversation=ids.format_id("cv", row.contact_id),
            person=PersonView.of(row.contact_id, row.address, row.name),
            status=row.status,
            at=times.format_time(row.created_at),
            items=[_item(item) for item in row.items[:_ITEMS_MAX]],
            note=outside(row.note),
            total=f"{row.total:f}" if row.total is not None else None,
            currency=row.currency,
        )


class FoundOrders(Answer, frozen=True):
    """A page of orders."""

    orders: list[OrderView]
    next: str | None = None


@tool("Find orders", READING, example={"from": "2026-11-01", "status": "new"})
async def find_orders(given: FindOrders, call: Call) -> FoundOrders:
    """List orders with their items, the newest first. Amounts are decimal numbers in strings."""
    before = read_cursor("find_orders", given.cursor, UUID)
    contact_id = read_id("ct", given.contact) if given.contact is not None else None
    filters = OrderFilter(read_span(given.from_, given.to, given.tz), given.status, contact_id)
    rows = await list_orders(call.db, call.channel_id, filters, before, given.limit)
    call.revealed.update(row.contact_id for row in rows)
    following = show_cursor("find_orders", rows[-1].id) if len(rows) == given.limit else None
    return FoundOrders([OrderView.of(row) for row in rows], following)


def _item(item: Any) -> OrderItem:
    price = item.get("price")
    return OrderItem(outside(str(item.get("retailer_id", ""))), int(item.get("quantity", 0)), price and str(price))
