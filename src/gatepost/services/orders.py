"""Orders: read an order and change its status."""

from datetime import datetime
from uuid import UUID

import msgspec

from gatepost.model.event import ChannelRef
from gatepost.model.field_readers import read_choice
from gatepost.model.order import STATUSES
from gatepost.services.lookup import existing, read_id
from gatepost.store.orders import OrderRow, get_order, set_order_status
from gatepost.store.pool import Database


class OrderChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The new status of an order."""

    status: str


async def access_order(db: Database, channel_id: UUID, text: str) -> OrderRow:
    """Return the order with this id, if it belongs to the channel."""
    return existing("ord", await get_order(db, channel_id, read_id("ord", text)))


async def change_order(
    db: Database, channel: ChannelRef, channel_id: UUID, text: str, change: OrderChange, now: datetime
) -> OrderRow:
    """Change the status of an order."""
    status = read_choice("status", change.status, STATUSES)
    return existing("ord", await set_order_status(db, channel, channel_id, read_id("ord", text), status, now))
