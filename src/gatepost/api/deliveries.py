"""The log of deliveries: find out why a webhook did not arrive, and have it delivered again."""

from typing import Any
from uuid import UUID

import msgspec
from litestar import Request, Response, get, post
from litestar.params import FromPath

from gatepost.api.context import Context, CurrentCaller
from gatepost.api.json_body import answer, read_body
from gatepost.api.paging import read_cursor, read_limit, show_cursor
from gatepost.model.errors import GatepostError, invalid_field
from gatepost.services import deliveries as desk
from gatepost.services.history_query import read_parameters

_PATH = "/api/v1/deliveries"
_ONE = _PATH + "/{delivery_id:str}"


class RetryRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The deliveries to be made again, by their ids; 100 at most."""

    ids: list[str]


_retry = msgspec.json.Decoder(RetryRequest)


@get(_PATH, opt={"scope": "read"}, summary="List deliveries")
async def list_deliveries(request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Deliveries to webhook endpoints, the newest event first; filters combine. A short page may have a next one."""
    given = read_parameters(request.query_params.multi_items(), (*desk.FILTERS, "limit", "cursor"))
    wanted, most = desk.read_filter(given), read_limit(given.get("limit"))
    before, now = read_cursor(given.get("cursor"), tuple[UUID, UUID]), gateway.clock.now()
    page = await desk.find_deliveries(gateway.db, caller.channel_id, wanted, before, most)
    following = show_cursor(page.reached) if page.reached else None
    return answer([desk.show_delivery(one, now) for one in page.found], paging=following)


@get(_ONE, opt={"scope": "read"}, summary="Get a delivery")
async def get_delivery(delivery_id: FromPath[str], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """One delivery with its attempts: what was sent, what was answered, how long it took, what was wrong."""
    found = await desk.access_delivery(gateway.db, caller.channel_id, delivery_id)
    return answer(await desk.show_with_attempts(gateway.db, caller.channel_id, found, gateway.clock.now()))


@post(_ONE + "/retry", opt={"scope": "manage"}, status_code=200, summary="Retry a delivery")
async def retry_delivery(delivery_id: FromPath[str], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Makes a delivery due now, whether it failed, waits or was delivered; its schedule begins anew."""
    now = gateway.clock.now()
    found = await desk.retry_one(gateway.db, caller.channel_id, delivery_id, now)
    return answer(desk.show_delivery(found, now), "The delivery is due now")


@post(_PATH + "/retry", opt={"scope": "manage"}, status_code=200, summary="Retry several deliveries")
async def retry_deliveries(request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Makes up to 100 deliveries due now, each with its own result."""
    wish, _ = await read_body(request, _retry)
    if not 1 <= len(wish.ids) <= desk.SELECTION_MAX:
        raise invalid_field("ids", f"must hold 1 to {desk.SELECTION_MAX} ids, but holds {len(wish.ids):,}")
    done = await desk.retry_many(gateway.db, caller.channel_id, wish.ids, gateway.clock.now())
    results = [_result(id_, done[id_]) for id_ in wish.ids]
    taken = sum(result["success"] for result in results)
    data = {"accepted": taken, "refused": len(results) - taken, "results": results}
    return answer(data, f"{taken:,} of {len(results):,} deliveries are due now")


def _result(id_: str, refusal: GatepostError | None) -> dict[str, Any]:
    if refusal is None:
        return {"id": id_, "success": True, "error": None}
    return {"id": id_, "success": False, "error": {"code": refusal.code, "message": refusal.message}}
