"""Orders: list by date, status and person; get; change the status."""

from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta

from gatepost.api.context import ApiContext, Context, CurrentCaller
from gatepost.api.contract.orders import Order
from gatepost.api.paging import read_cursor, show_cursor
from gatepost.api.query import From, Paged, Phone, To, Zone
from gatepost.api.responses import Page
from gatepost.api.route import get, patch
from gatepost.model import ids
from gatepost.model.account import Caller
from gatepost.model.dates import read_span
from gatepost.model.order import STATUSES
from gatepost.model.phone import check_phone
from gatepost.services import orders as service
from gatepost.services.orders import OrderChange
from gatepost.store.contacts.read import find_people
from gatepost.store.orders import OrderFilter, list_orders

_PATH = "/api/v1/orders"
_ONE = _PATH + "/{order_id}"
Status = Annotated[Literal[STATUSES], Meta(description="Only items with this status.")]  # type: ignore[valid-type]


class OrderQuery(Paged, frozen=True, kw_only=True):
    """Which orders; all filters have to fit."""

    from_: From | None = None
    to: To | None = None
    tz: Zone | None = None
    status: Status | None = None
    phone: Phone | None = None


@get(
    _PATH,
    scope="read",
    summary="List orders",
    errors=("invalid_phone",),
    asks={"phone": "{{phone}}"},
    keeps={"order_id": "data[0].id"},
)
async def list_all(query: OrderQuery, gateway: Context, caller: CurrentCaller) -> Page[Order]:
    """Orders, the newest first, filtered by date, status and phone number."""
    before, filter_ = read_cursor(query.cursor, UUID), await _filter(query, gateway, caller)
    rows = await list_orders(gateway.db, caller.channel_id, filter_, before, query.limit)
    return Page([Order.of(row) for row in rows], show_cursor(rows[-1].id) if len(rows) == query.limit else None)


@get(_ONE, scope="read", summary="Get an order")
async def get_order(order_id: str, gateway: Context, caller: CurrentCaller) -> Order:
    """One order with its items."""
    return Order.of(await service.access_order(gateway.db, caller.channel_id, order_id))


@patch(
    _ONE,
    scope="manage",
    agents=True,
    summary="Change an order's status",
    message="Order changed",
    errors=("wrong_state",),
    example={"status": "confirmed"},
)
async def change_order(order_id: str, body: OrderChange, gateway: Context, caller: CurrentCaller) -> Order:
    """Sets the status of an order."""
    now = gateway.clock.now()
    return Order.of(await service.change_order(gateway.db, caller.ref, caller.channel_id, order_id, body, now))


async def _filter(query: OrderQuery, gateway: ApiContext, caller: Caller) -> OrderFilter:
    span = read_span(query.from_, query.to, query.tz)
    if query.phone is None:
        return OrderFilter(span, query.status)
    phone = check_phone(query.phone)
    async with gateway.db.connection() as conn:
        person = (await find_people(conn, caller.channel_id, [phone])).get(phone)
    return OrderFilter(span, query.status, person.id if person else ids.ZERO)  # nobody has the id zero
