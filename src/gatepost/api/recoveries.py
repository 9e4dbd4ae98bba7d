"""Recoveries: deliver everything that a webhook endpoint missed, and watch the progress."""

from uuid import UUID

from gatepost.admin.endpoints import get_endpoint
from gatepost.api.context import ApiContext, Context, CurrentCaller
from gatepost.api.contract.deliveries import Recovery
from gatepost.api.idempotency import CreateOnce
from gatepost.api.paging import read_cursor, show_cursor
from gatepost.api.query import Paged
from gatepost.api.responses import Created, Page
from gatepost.api.route import get, post
from gatepost.model import ids
from gatepost.model.account import Caller
from gatepost.model.errors import NotFound
from gatepost.services import recoveries as service
from gatepost.services.recoveries import RecoverRequest
from gatepost.store.deliveries.recover import list_recoveries
from gatepost.store.endpoints import Endpoint

_WEBHOOK = "/api/v1/webhooks/{endpoint_id}"


@post(
    _WEBHOOK + "/recover",
    scope="manage",
    summary="Recover missed events",
    message="Recovery begun",
    errors=("wrong_state",),
    example={"since": "2026-01-01"},
    keeps={"recovery_id": "data.id"},
)
async def recover_webhook(
    endpoint_id: str, body: RecoverRequest, once: CreateOnce, gateway: Context, caller: CurrentCaller
) -> Created[Recovery]:
    """Delivers, in the background, the events since a time that were not delivered."""
    endpoint, now = await _endpoint(gateway, caller, endpoint_id), gateway.clock.now()
    return await once.create(lambda request: service.recover(gateway.db, endpoint, body, request, now), Recovery.of)


@get(_WEBHOOK + "/recoveries", scope="read", summary="List recoveries")
async def list_all(endpoint_id: str, query: Paged, gateway: Context, caller: CurrentCaller) -> Page[Recovery]:
    """The recoveries of an endpoint, the newest first."""
    endpoint, before = await _endpoint(gateway, caller, endpoint_id), read_cursor(query.cursor, UUID)
    rows = await list_recoveries(gateway.db, caller.channel_id, endpoint.id, before, query.limit)
    return Page([Recovery.of(row) for row in rows], show_cursor(rows[-1].id) if len(rows) == query.limit else None)


@get(_WEBHOOK + "/recoveries/{recovery_id}", scope="read", summary="Get a recovery")
async def get_recovery(endpoint_id: str, recovery_id: str, gateway: Context, caller: CurrentCaller) -> Recovery:
    """The progress of a recovery."""
    endpoint = await _endpoint(gateway, caller, endpoint_id)
    return Recovery.of(await service.access_recovery(gateway.db, caller.channel_id, endpoint.id, recovery_id))


async def _endpoint(gateway: ApiContext, caller: Caller, text: str) -> Endpoint:
    endpoint_id = ids.parse_id("we", text)
    if endpoint_id is None:
        raise NotFound("There is no such webhook on this channel.")
    return await get_endpoint(gateway.db, caller.channel_id, endpoint_id)
