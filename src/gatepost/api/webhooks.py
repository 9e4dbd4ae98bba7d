"""Webhook endpoints: create, get, change, delete, and the log of attempts."""

from typing import Annotated, Any
from uuid import UUID

import msgspec
from litestar.params import FromPath
from msgspec import Meta

from gatepost.admin import endpoints as admin
from gatepost.api.context import ApiContext, Context, CurrentCaller
from gatepost.api.contract.webhooks import Attempt, NewWebhook, Signing, Webhook
from gatepost.api.idempotency import CreateOnce
from gatepost.api.paging import read_cursor, show_cursor
from gatepost.api.query import Paged
from gatepost.api.responses import Created, Page
from gatepost.api.route import delete, get, patch, post
from gatepost.model import ids
from gatepost.model.account import Caller
from gatepost.model.delivery import masked
from gatepost.model.endpoint import (
    ACTIVE,
    BATCH_MAX,
    BATCH_WAIT_MAX,
    DISABLED,
    RATE_MAX,
    VERSIONS,
    DeliveryOptions,
)
from gatepost.model.errors import NotFound, invalid_field
from gatepost.model.event import ALL_TYPES, OPERATIONAL, TYPES
from gatepost.store.deliveries.log import list_attempts
from gatepost.store.endpoints import Endpoint, list_endpoints
from gatepost.store.idempotency import IdempotentRequest
from gatepost.webhooks.guard import ForbiddenUrl, Guard, UnresolvedUrl

PATH = "/api/v1/webhooks"

# The bounds stand in the reference; `check_manner` holds to them, and says in words what is wrong.
Most = Annotated[int, Meta(extra_json_schema={"minimum": 1, "maximum": BATCH_MAX})]
Wait = Annotated[float, Meta(extra_json_schema={"minimum": 0, "maximum": BATCH_WAIT_MAX})]
Rate = Annotated[int, Meta(extra_json_schema={"minimum": 1, "maximum": RATE_MAX})]
Version = Annotated[int, Meta(extra_json_schema={"enum": list(VERSIONS)})]
Number = Annotated[int, Meta(ge=0, le=32_767)]  # of an attempt, as it is stored


class BatchOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Several events in one POST: at most so many, gathered for at most so many seconds."""

    most: Most = BATCH_MAX
    wait: Wait = BATCH_WAIT_MAX


class CreateEndpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A new endpoint. Without `events`, all six switches are on."""

    url: str
    events: dict[str, bool] | None = None
    headers: dict[str, str] | None = None
    operational: bool = False
    ordered: bool = False
    batch: BatchOptions | None = None
    rate_limit: Rate | None = None
    version: Version = VERSIONS[-1]
    signing: Signing = "v1"


class ChangeEndpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is left out stays as it is. A switch that is not named stays as it is."""

    url: str | None = None
    events: dict[str, bool] | None = None
    headers: dict[str, str] | None = None
    operational: bool | None = None
    ordered: bool | None = None
    batch: BatchOptions | msgspec.UnsetType | None = msgspec.UNSET
    rate_limit: Rate | msgspec.UnsetType | None = msgspec.UNSET
    version: Version | None = None
    active: bool | None = None


@post(
    PATH,
    scope="manage",
    summary="Create a webhook endpoint",
    message="Webhook created",
    errors=("forbidden_url", "wrong_state"),
    example={"url": "{{webhook_url}}", "events": {"order_notifications": False}, "headers": {"X-Shop": "7"}},
    keeps={"endpoint_id": "data.id"},
)
async def create_webhook(
    body: CreateEndpoint, once: CreateOnce, gateway: Context, caller: CurrentCaller
) -> Created[NewWebhook]:
    """Creates an endpoint. Its signing secret is shown in this answer only."""

    async def make(request: IdempotentRequest[admin.NewEndpoint]) -> admin.NewEndpoint:
        await _check_url(gateway.guard, body.url, caller)
        return await _create_endpoint(gateway, caller, body, request)

    return await once.create(make, lambda new: show_new(gateway, new), secret=True)


@get(PATH, scope="read", summary="List webhook endpoints")
async def list_webhooks(gateway: Context, caller: CurrentCaller) -> Page[Webhook]:
    """All endpoints of the channel."""
    rows = await list_endpoints(gateway.db, caller.channel_id)
    return Page([_webhook(gateway, row, caller) for row in rows])


@get(PATH + "/{endpoint_id:str}", scope="read", summary="Get a webhook endpoint")
async def get_webhook(endpoint_id: FromPath[str], gateway: Context, caller: CurrentCaller) -> Webhook:
    """One endpoint."""
    row = await admin.get_endpoint(gateway.db, caller.channel_id, read_endpoint_id(endpoint_id))
    return _webhook(gateway, row, caller)


@patch(
    PATH + "/{endpoint_id:str}",
    scope="manage",
    summary="Change a webhook endpoint",
    message="Webhook changed",
    errors=("forbidden_url",),
    example={"active": False},
)
async def change_webhook(
    endpoint_id: FromPath[str], body: ChangeEndpoint, gateway: Context, caller: CurrentCaller
) -> Webhook:
    """Changes address, switches, headers, or turns it on and off."""
    if body.url is not None:
        await _check_url(gateway.guard, body.url, caller)
    before = await admin.get_endpoint(gateway.db, caller.channel_id, read_endpoint_id(endpoint_id))
    return _webhook(gateway, await _change_endpoint(gateway, before, body), caller)


@delete(PATH + "/{endpoint_id:str}", scope="manage", summary="Delete a webhook endpoint", message="Webhook deleted")
async def delete_webhook(endpoint_id: FromPath[str], gateway: Context, caller: CurrentCaller) -> None:
    """Deletes an endpoint. What was delivered stays in the log."""
    await admin.delete_endpoint(gateway.db, caller.channel_id, read_endpoint_id(endpoint_id))


@get(PATH + "/{endpoint_id:str}/attempts", scope="read", summary="List delivery attempts")
async def list_webhook_attempts(
    endpoint_id: FromPath[str], query: Paged, gateway: Context, caller: CurrentCaller
) -> Page[Attempt]:
    """Every attempt with its request, its response and its latency, the newest event first."""
    endpoint = await admin.get_endpoint(gateway.db, caller.channel_id, read_endpoint_id(endpoint_id))
    before = read_cursor(query.cursor, tuple[UUID, Number])
    rows = await list_attempts(gateway.db, caller.channel_id, endpoint.id, before, query.limit)
    following = show_cursor((rows[-1].event_id, rows[-1].number)) if len(rows) == query.limit else None
    return Page([Attempt.of(row) for row in rows], following)


async def _create_endpoint(
    gateway: ApiContext, caller: Caller, request: CreateEndpoint, once: IdempotentRequest[admin.NewEndpoint]
) -> admin.NewEndpoint:
    return await admin.create_endpoint(
        gateway.db,
        gateway.vault,
        caller.channel_id,
        request.url,
        events=_switched(TYPES, request.events or {}, operational=request.operational),
        headers=request.headers,
        options=_options(DeliveryOptions(version=request.version), request),
        signing=request.signing,
        now=gateway.clock.now(),
        once=once,
    )


async def _change_endpoint(gateway: ApiContext, before: Endpoint, request: ChangeEndpoint) -> Endpoint:
    return await admin.change_endpoint(
        gateway.db,
        gateway.vault,
        before.channel_id,
        before.id,
        url=request.url,
        # What is not named is not written: another request may be changing it at the same time.
        events=None
        if request.events is None and request.operational is None
        else _switched(before.events, request.events or {}, operational=request.operational),
        headers=request.headers,
        options=None if (options := _options(before.options, request)) == before.options else options,
        state=None if request.active is None else (ACTIVE if request.active else DISABLED),
        now=gateway.clock.now(),
    )


def read_endpoint_id(text: str) -> UUID:
    """Return the id of an endpoint in a path."""
    endpoint_id = ids.parse_id("we", text)
    if endpoint_id is None:
        raise NotFound("There is no such webhook on this channel.")
    return endpoint_id


async def _check_url(guard: Guard, url: str, caller: Caller) -> None:
    """Refuses an address that would never be delivered to. A name that does not resolve today may tomorrow."""
    try:
        guard.check_shape(url)
        await guard.check(url, caller.channel_id)
    except ForbiddenUrl as error:
        raise invalid_field("url", error.reason, "forbidden_url") from None
    except UnresolvedUrl:
        return


def _options(before: DeliveryOptions, request: CreateEndpoint | ChangeEndpoint) -> DeliveryOptions:
    """How the endpoint is to get its deliveries after a change."""
    changes: dict[str, Any] = {}
    if request.ordered is not None:
        changes["ordered"] = request.ordered
    if request.version is not None:
        changes["version"] = request.version
    if request.rate_limit is not msgspec.UNSET:
        changes["rate"] = request.rate_limit
    if request.batch is None:
        changes |= {"batch": 1, "batch_wait": 0.0}
    elif request.batch is not msgspec.UNSET:
        changes |= {"batch": request.batch.most, "batch_wait": request.batch.wait}
    return msgspec.structs.replace(before, **changes)


def _switched(before: tuple[str, ...], switches: dict[str, bool], *, operational: bool | None) -> list[str]:
    """The switches that are on after a change."""
    unknown = sorted(switches.keys() - set(TYPES))
    if unknown:
        raise invalid_field(f"events.{unknown[0]}", f"is not an event type; there are: {', '.join(TYPES)}")
    if operational is not None:
        switches = {**switches, OPERATIONAL: operational}
    return [type_ for type_ in ALL_TYPES if switches.get(type_, type_ in before)]


def show_new(gateway: ApiContext, new: admin.NewEndpoint) -> NewWebhook:
    """Return an endpoint with the secret or public key that verifies its deliveries: it is shown only once."""
    row = new.endpoint
    secrets, headers = admin.signing_secrets(gateway.vault, row), admin.headers_of(gateway.vault, row)
    return NewWebhook.with_secret(row, secrets, headers, gateway.clock.now(), new.secret)


def _webhook(gateway: ApiContext, row: Endpoint, caller: Caller) -> Webhook:
    """Return an endpoint. A caller who may not change its headers sees them masked, as in the log."""
    masks = "manage" not in caller.principal.scopes
    headers = masked(row.headers) if masks else admin.headers_of(gateway.vault, row)
    return Webhook.of(row, admin.signing_secrets(gateway.vault, row), headers, gateway.clock.now())
