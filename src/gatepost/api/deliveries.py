"""The log of deliveries: find out why a webhook did not arrive, and deliver it again."""

from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta

from gatepost.api.context import Context, CurrentCaller
from gatepost.api.contract.deliveries import Delivery, Retried, Retry, WholeDelivery
from gatepost.api.openapi.route_docs import WaitUntil
from gatepost.api.paging import read_cursor, show_cursor
from gatepost.api.query import From, Paged, To, Zone
from gatepost.api.responses import Page, Reply
from gatepost.api.route import get, post
from gatepost.model.errors import GatepostError, invalid_field
from gatepost.services import deliveries as service

_PATH = "/api/v1/deliveries"
_ONE = _PATH + "/{delivery_id}"
_LOGGED = WaitUntil("/api/v1/deliveries?endpoint={{endpoint_id}}", "data.length > 0")
_SETTLED = WaitUntil("/api/v1/deliveries/{{delivery_id}}", 'data.status !== "pending"')


class DeliveryQuery(Paged, frozen=True, kw_only=True):
    """Which deliveries; all filters have to fit."""

    endpoint: Annotated[str, Meta(description="The id of a webhook endpoint: only deliveries to it.")] | None = None
    status: (
        Annotated[str, Meta(description="Only items with this status, or with one of several, separated by commas.")]
        | None
    ) = None
    type: (
        Annotated[str, Meta(description="Only deliveries of this event type, or of several, separated by commas.")]
        | None
    ) = None
    http: (
        Annotated[
            str,
            Meta(
                description="Only deliveries whose newest attempt has an HTTP status of this class, or of one of "
                "several, separated by commas: `2xx`, `3xx`, `4xx`, `5xx`; `none`: no response."
            ),
        ]
        | None
    ) = None
    message: Annotated[str, Meta(description="The id of a message: only deliveries of its events.")] | None = None
    from_: From | None = None
    to: To | None = None
    tz: Zone | None = None


class RetryRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The ids of the deliveries to retry, at most 100."""

    ids: list[str]


@get(
    _PATH,
    scope="read",
    summary="List deliveries",
    keeps={"delivery_id": "data[0].id"},
    asks={"endpoint": "{{endpoint_id}}"},
    after=_LOGGED,
    folder="webhooks",
)
async def list_deliveries(query: DeliveryQuery, gateway: Context, caller: CurrentCaller) -> Page[Delivery]:
    """Deliveries to webhook endpoints, the newest event first. A page that is not full may have a next one."""
    filter_, before = service.read_filter(query.given()), read_cursor(query.cursor, tuple[UUID, UUID])
    if query.message is not None:
        filter_ = await service.of_message(gateway.db, caller.channel_id, filter_, query.message)
    page = await service.find_deliveries(gateway.db, caller.channel_id, filter_, before, query.limit)
    now = gateway.clock.now()
    return Page([Delivery.of(row, now) for row in page.found], show_cursor(page.reached) if page.reached else None)


@get(_ONE, scope="read", summary="Get a delivery", folder="webhooks")
async def get_delivery(delivery_id: str, gateway: Context, caller: CurrentCaller) -> WholeDelivery:
    """One delivery with its attempts: request, response, latency and error of each."""
    row = await service.access_delivery(gateway.db, caller.channel_id, delivery_id)
    attempts, bodies = await service.attempts_of(gateway.db, caller.channel_id, row)
    return WholeDelivery.with_attempts(row, attempts, bodies, gateway.clock.now())


@post(
    _ONE + "/retry",
    scope="manage",
    summary="Retry a delivery",
    message="The delivery is due now",
    errors=("wrong_state",),
    after=_SETTLED,
    folder="webhooks",
)
async def retry_delivery(delivery_id: str, gateway: Context, caller: CurrentCaller) -> Delivery:
    """Retries a delivery now, whatever its status, and restarts its retry schedule."""
    now = gateway.clock.now()
    return Delivery.of(await service.retry_one(gateway.db, caller.channel_id, delivery_id, now), now)


@post(
    _PATH + "/retry",
    scope="manage",
    summary="Retry several deliveries",
    message="1 of 1 deliveries are due now",
    example={"ids": ["{{delivery_id}}"]},
    folder="webhooks",
)
async def retry_deliveries(body: RetryRequest, gateway: Context, caller: CurrentCaller) -> Reply[Retried]:
    """Retries up to 100 deliveries now, each with its own result."""
    if not 1 <= len(body.ids) <= service.SELECTION_MAX:
        raise invalid_field("ids", f"must hold 1 to {service.SELECTION_MAX} ids, but holds {len(body.ids):,}")
    errors = await service.retry_many(gateway.db, caller.channel_id, body.ids, gateway.clock.now())
    results = [_result(id_, errors[id_]) for id_ in body.ids]
    accepted = sum(result.success for result in results)
    retried = Retried(accepted, len(results) - accepted, results)
    return Reply(retried, f"{accepted:,} of {len(results):,} deliveries are due now")


def _result(id_: str, error: GatepostError | None) -> Retry:
    return Retry(id_, error is None, {"code": error.code, "message": error.message} if error else None)
