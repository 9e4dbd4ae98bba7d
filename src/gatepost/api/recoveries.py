"""Recoveries: have everything that a webhook endpoint missed delivered after all, and watch how far that is."""

from typing import Any
from uuid import UUID

import msgspec
from litestar import Request, Response, get, post
from litestar.params import FromPath

from gatepost.admin.endpoints import get_endpoint
from gatepost.api.context import ApiContext, Context, CurrentCaller
from gatepost.api.idempotency import create_once
from gatepost.api.json_body import answer, envelope, read_body
from gatepost.api.paging import check_query, read_cursor, read_limit, show_cursor
from gatepost.model import ids
from gatepost.model.account import Caller
from gatepost.model.errors import NotFound
from gatepost.services import recoveries as desk
from gatepost.store.deliveries.recover import RecoveryRow, list_recoveries
from gatepost.store.endpoints import Endpoint
from gatepost.store.idempotency import IdempotentRequest

_HOOK = "/api/v1/webhooks/{endpoint_id:str}"
_recover = msgspec.json.Decoder(desk.RecoverRequest)


@post(_HOOK + "/recover", opt={"scope": "manage"}, status_code=201, summary="Recover what a webhook missed")
async def recover_webhook(
    endpoint_id: FromPath[str], request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller
) -> Response[bytes]:
    """Delivers every event since a moment that never arrived. It goes on by itself; the answer's id shows how far."""
    endpoint = await _endpoint(gateway, caller, endpoint_id)
    wish, body = await read_body(request, _recover)

    async def make(once: IdempotentRequest[RecoveryRow]) -> RecoveryRow:
        return await desk.recover(gateway.db, endpoint, wish, once, gateway.clock.now())

    return await create_once(request, gateway, caller, body, make, _made)


@get(_HOOK + "/recoveries", opt={"scope": "read"}, summary="List recoveries")
async def list_all(
    endpoint_id: FromPath[str], request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller
) -> Response[bytes]:
    """The recoveries of an endpoint, the newest first."""
    endpoint = await _endpoint(gateway, caller, endpoint_id)
    query = check_query(request.query_params, "limit", "cursor")
    limit, before = read_limit(query.get("limit")), read_cursor(query.get("cursor"), UUID)
    found = await list_recoveries(gateway.db, caller.channel_id, endpoint.id, before, limit)
    more = show_cursor(found[-1].id) if len(found) == limit else None
    return answer([desk.show_recovery(one) for one in found], paging=more)


@get(_HOOK + "/recoveries/{recovery_id:str}", opt={"scope": "read"}, summary="Get a recovery")
async def get_recovery(
    endpoint_id: FromPath[str], recovery_id: FromPath[str], gateway: Context, caller: CurrentCaller
) -> Response[bytes]:
    """How far a recovery is."""
    endpoint = await _endpoint(gateway, caller, endpoint_id)
    found = await desk.access_recovery(gateway.db, caller.channel_id, endpoint.id, recovery_id)
    return answer(desk.show_recovery(found))


async def _endpoint(gateway: ApiContext, caller: Caller, text: str) -> Endpoint:
    endpoint_id = ids.read("we", text)
    if endpoint_id is None:
        raise NotFound("There is no such webhook on this channel.")
    return await get_endpoint(gateway.db, caller.channel_id, endpoint_id)


def _made(recovery: RecoveryRow) -> bytes:
    return envelope(desk.show_recovery(recovery), "Recovery begun")
