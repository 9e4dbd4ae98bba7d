"""Orders: list by date, status and person; look; and move on."""

from typing import Any
from uuid import UUID

import msgspec
from litestar import Request, Response, get, patch
from litestar.datastructures import MultiDict
from litestar.params import FromPath

from gatepost.api.context import ApiContext, Context, CurrentCaller
from gatepost.api.json_body import answer, read_body
from gatepost.api.paging import check_query, read_cursor, read_limit, show_cursor
from gatepost.model import ids
from gatepost.model.account import Caller
from gatepost.model.dates import read_span
from gatepost.model.event import ChannelRef
from gatepost.model.field_readers import read_choice
from gatepost.model.order import STATUSES
from gatepost.model.phone import check_phone
from gatepost.services import orders as desk
from gatepost.store.contacts.read import find_people
from gatepost.store.orders import OrderFilter, list_orders

_PATH = "/api/v1/orders"
_ONE = _PATH + "/{order_id:str}"
_change = msgspec.json.Decoder(desk.OrderChange)


@get(_PATH, opt={"scope": "read"}, summary="List orders")
async def list_all(request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Orders, the newest first; by date, status and number."""
    query = check_query(request.query_params, "from", "to", "tz", "status", "phone", "limit", "cursor")
    limit, before = read_limit(query.get("limit")), read_cursor(query.get("cursor"), UUID)
    wanted = await _filter(query, gateway, caller)
    found = await list_orders(gateway.db, caller.channel_id, wanted, before, limit)
    more = show_cursor(found[-1].id) if len(found) == limit else None
    return answer([desk.show_order(order) for order in found], paging=more)


@get(_ONE, opt={"scope": "read"}, summary="Get an order")
async def get_order(order_id: FromPath[str], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """One order with its items."""
    return answer(desk.show_order(await desk.access_order(gateway.db, caller.channel_id, order_id)))


@patch(_ONE, opt={"scope": "manage"}, summary="Move an order on")
async def change_order(
    order_id: FromPath[str], request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller
) -> Response[bytes]:
    """Sets how far an order has come."""
    change, _ = await read_body(request, _change)
    channel = ChannelRef(ids.show("ch", caller.channel_id), caller.kind, caller.phone)
    now = gateway.clock.now()
    order = await desk.change_order(gateway.db, channel, caller.channel_id, order_id, change, now)
    return answer(desk.show_order(order), "Order changed")


async def _filter(query: MultiDict[Any], gateway: ApiContext, caller: Caller) -> OrderFilter:
    span, status = read_span(query.get("from"), query.get("to"), query.get("tz")), query.get("status")
    wanted = None if status is None else read_choice("status", status, STATUSES)
    if "phone" not in query:
        return OrderFilter(span, wanted)
    phone = check_phone(query["phone"])
    async with gateway.db.connection() as conn:
        person = (await find_people(conn, caller.channel_id, [phone])).get(phone)
    return OrderFilter(span, wanted, person.id if person else ids.ZERO)  # nobody has ordered under zero
