"""Orders: written with the message that brings them, under its id; read and worked off by people."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow, localcontext
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from gatepost.model import ids, times
from gatepost.model.dates import IdRange
from gatepost.model.event import ChannelRef
from gatepost.model.event.orders import OrderCreated, OrderUpdated
from gatepost.model.event.parts import EventContact, EventConversation
from gatepost.model.order import LINES_MAX, check_move
from gatepost.store.channel_head import ChannelTransaction, channel_transaction
from gatepost.store.contacts.rows import KnownContact
from gatepost.store.messages.amend import json_object
from gatepost.store.pool import Database, Queryable
from gatepost.store.statement import json_text, statement


class OrderRow(msgspec.Struct, frozen=True):
    """An order with its contact. Without one, its message's number is shown."""

    id: UUID
    contact_id: UUID
    address: str
    name: str | None
    status: str
    catalog_id: str
    note: str
    items: list[Any]
    total: Decimal | None
    currency: str | None
    created_at: datetime
    updated_at: datetime


class OrderFilter(msgspec.Struct, frozen=True):
    """Which orders; None matches all."""

    span: IdRange = IdRange()
    status: str | None = None
    contact_id: UUID | None = None


_COLUMNS = (
    "o.id, o.contact_id, o.status, o.catalog_id, o.note, o.items, o.total, o.currency, o.created_at, o.updated_at"
)
_WHOSE = """LEFT JOIN LATERAL (
                SELECT phone, coalesce(given_name, name) AS name FROM contacts
                WHERE channel_id = :channel_id AND id = o.contact_id LIMIT 1) c ON true
            LEFT JOIN LATERAL (
                SELECT phone FROM messages
                WHERE channel_id = :channel_id AND id = o.id AND c.phone IS NULL LIMIT 1) m ON true"""
_SELECT = f"SELECT {_COLUMNS}, coalesce(c.phone, m.phone) AS address, c.name FROM orders o {_WHOSE}"


async def list_orders(
    db: Database, channel_id: UUID, filters: OrderFilter, before: UUID | None, limit: int
) -> list[OrderRow]:
    """Return a page of orders, the newest first."""
    given = {"status": filters.status, "contact_id": filters.contact_id}
    conditions = {column: value for column, value in given.items() if value is not None}
    rows = await db.fetch(
        f"""{_SELECT} WHERE o.channel_id = :channel_id AND o.id >= :start AND o.id < :end
            {" ".join(f"AND o.{column} = :{column}" for column in conditions)} ORDER BY o.id DESC LIMIT :limit""",
        channel_id=channel_id,
        start=filters.span.start,
        end=min(before or filters.span.end, filters.span.end),
        limit=limit,
        **conditions,
    )
    return [_order(row) for row in rows]


async def get_order(conn: Queryable, channel_id: UUID, order_id: UUID) -> OrderRow | None:
    """Return an order of a channel."""
    row = await conn.fetchrow(
        *statement(f"{_SELECT} WHERE o.channel_id = :channel_id AND o.id = :id", channel_id=channel_id, id=order_id)
    )
    return _order(row) if row else None


async def set_order_status(
    db: Database, channel: ChannelRef, channel_id: UUID, order_id: UUID, status: str, now: datetime
) -> OrderRow | None:
    """Set an order's status, and emit an event if it changes. Return None if there is no such order."""
    async with channel_transaction(db, channel, channel_id, now) as change:
        before = await get_order(change.conn, channel_id, order_id)
        if before is None or before.status == status:
            return before
        check_move(before.status, status)
        await change.conn.execute(
            "UPDATE orders SET status = $3, updated_at = $4 WHERE channel_id = $1 AND id = $2",
            channel_id,
            order_id,
            status,
            now,
        )
        after = msgspec.structs.replace(before, status=status, updated_at=now)
        change.event_buffer.add(_event(OrderUpdated, after, previous=before.status), after.contact_id)
    return after


_Event = TypeVar("_Event", OrderCreated, OrderUpdated)


def _event(event: type[_Event], order: OrderRow, **change: Any) -> _Event:
    """Return the data of an event about an order, with the fields of `change`."""
    return event(
        id=ids.format_id("ord", order.id),
        message=ids.message_id(order.id),
        contact=EventContact.ref(order.contact_id, order.address, order.name),
        conversation=EventConversation.ref(order.contact_id),
        status=order.status,
        catalog_id=order.catalog_id,
        note=order.note,
        items=order.items,
        total=f"{order.total:f}" if order.total is not None else None,
        currency=order.currency,
        created_at=times.format_time(order.created_at),
        **change,
    )


def _order(row: Any) -> OrderRow:
    fields = dict(row)
    return OrderRow(**fields | {"items": msgspec.json.decode(fields["items"]), "address": fields["address"] or ""})


_MAX, _LEAST = Decimal(10**15), Decimal("1e-9")  # bounds of a valid price
_EXACT = Context(prec=60, traps=[InvalidOperation, Inexact, Overflow])


async def write_order(
    transaction: ChannelTransaction, id_: UUID, content: str, contact: KnownContact, at: datetime
) -> None:
    """Insert an order, and emit an event."""
    order = json_object(msgspec.json.decode(content), "order")
    if not order:
        return
    listed = order.get("items")
    items = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    if len(items) > LINES_MAX:
        return
    total, currency = total_of(items)
    catalog_id, note = _clean(order.get("catalog_id")), _clean(order.get("text"))
    person = (contact.id, contact.phone, contact.display_name)
    row = OrderRow(id_, *person, "new", catalog_id, note, items, total, currency, at, transaction.now)
    await transaction.conn.execute(
        """INSERT INTO orders (channel_id, id, contact_id, status, catalog_id, note, items, total, currency,
                               created_at, updated_at)
           VALUES ($1, $2, $3, 'new', $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING""",
        transaction.channel_id,
        id_,
        contact.id,
        catalog_id,
        note,
        json_text(items),
        total,
        currency,
        at,
        transaction.now,
    )
    transaction.event_buffer.add(_event(OrderCreated, row), contact.id)


def total_of(items: Sequence[Mapping[str, Any]]) -> tuple[Decimal | None, str | None]:
    """Return an order's total and currency; no total if currencies differ or a price is invalid."""
    currencies = {_clean(item.get("currency")) for item in items}
    if len(currencies) != 1:
        return None, None
    currency = currencies.pop() or None
    try:
        with localcontext(_EXACT):
            return sum((_amount(item) for item in items), Decimal(0)), currency
    except (ArithmeticError, ValueError):
        return None, currency


def _amount(item: Mapping[str, Any]) -> Decimal:
    price, quantity = Decimal(str(item.get("price"))), item.get("quantity")
    if not price.is_finite() or not 0 <= price <= _MAX or price.quantize(_LEAST) != price:
        raise ValueError("not a price")
    if not isinstance(quantity, int) or isinstance(quantity, bool) or not 0 <= quantity <= 10**9:
        raise ValueError("not a quantity")
    return price * quantity


def _clean(value: object) -> str:
    """Return text that PostgreSQL can store."""
    return str(value or "").replace("\x00", "\ufffd")
