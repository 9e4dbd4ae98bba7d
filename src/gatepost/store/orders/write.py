"""Orders: written with the message that brings them, under its id."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow, localcontext
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import event as events
from gatepost.model.order import LINES_MAX
from gatepost.store.channel_head import EventBuffer
from gatepost.store.contacts.rows import KnownContact
from gatepost.store.messages.amend import part
from gatepost.store.pool import Connection

_MOST, _LEAST = Decimal(10**15), Decimal("1e-9")  # of a price; beyond that it is a mistake or a prank
_EXACT = Context(prec=60, traps=[InvalidOperation, Inexact, Overflow])


async def write_order(
    conn: "Connection[Any]",
    channel_id: UUID,
    id_: UUID,
    content: str,
    contact: KnownContact,
    at: datetime,
    event_buffer: EventBuffer,
    now: datetime,
) -> None:
    """Notes an order, and tells of it."""
    order = part(msgspec.json.decode(content), "order")
    if not order:
        return
    listed = order.get("items")
    items = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    if len(items) > LINES_MAX:
        return
    total, currency = total_of(items)
    shown = {
        "status": "new",
        "catalog_id": _clean(order.get("catalog_id")),
        "note": _clean(order.get("text")),
        "items": items,
        "total": f"{total:f}" if total is not None else None,
        "currency": currency,
    }
    await conn.execute(
        """INSERT INTO orders (channel_id, id, contact_id, status, catalog_id, note, items, total, currency,
                               created_at, updated_at)
           VALUES ($1, $2, $3, 'new', $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING""",
        channel_id,
        id_,
        contact.id,
        shown["catalog_id"],
        shown["note"],
        msgspec.json.encode(items).decode(),
        total,
        currency,
        at,
        now,
    )
    contact_shown = events.contact_ref(contact.id, contact.phone, contact.called)
    event_buffer.add(events.ORDER, "created", events.order_data(id_, contact_shown, contact.id, shown, at), contact.id)


def total_of(items: Sequence[Mapping[str, Any]]) -> tuple[Decimal | None, str | None]:
    """The sum of an order in its currency; no sum where currencies differ or a price cannot be read."""
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
    if not price.is_finite() or not 0 <= price <= _MOST or price.quantize(_LEAST) != price:
        raise ValueError("not a price")
    if not isinstance(quantity, int) or isinstance(quantity, bool) or not 0 <= quantity <= 10**9:
        raise ValueError("not a quantity")
    return price * quantity


def _clean(value: object) -> str:
    """Text that PostgreSQL can keep."""
    return str(value or "").replace("\x00", "\ufffd")
