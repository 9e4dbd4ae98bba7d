"""Webhook endpoints: create, get, change, delete, and the log of attempts."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta

from gatepost.admin import endpoints as admin
from gatepost.api.context import ApiContext, Context, CurrentCaller
from gatepost.api.contract.webhooks import (
    Attempt,
    ChangeEndpoint,
    CreateEndpoint,
    NewWebhook,
    Webhook,
    WebhookHour,
    events_after,
    options_after,
)
from gatepost.api.idempotency import CreateOnce
from gatepost.api.paging import read_cursor, show_cursor
from gatepost.api.query import Paged
from gatepost.api.responses import Created, Page
from gatepost.api.route import delete, get, patch, post
from gatepost.model import ids
from gatepost.model.account import Caller
from gatepost.model.delivery import masked
from gatepost.model.endpoint import ACTIVE, DEFAULT_OPTIONS, DISABLED
from gatepost.model.errors import NotFound, invalid_field
from gatepost.model.event import TYPES
from gatepost.store.deliveries.figures import read_hour_figures
from gatepost.store.deliveries.log import list_attempts
from gatepost.store.endpoints import Endpoint, list_endpoints
from gatepost.store.idempotency import IdempotentRequest
from gatepost.webhooks.guard import ForbiddenUrl, Guard, UnresolvedUrl

PATH = "/api/v1/webhooks"

Number = Annotated[int, Meta(ge=0, le=32_767)]  # of an attempt, as it is stored


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
    """Creates an endpoint. Only this response contains its signing secret."""

    async def make(request: IdempotentRequest[admin.NewEndpoint]) -> admin.NewEndpoint:
        await _check_url(gateway.guard, body.url, caller)
        return await _create_endpoint(gateway, caller, body, request)

    return await once.create(make, lambda new: show_new(gateway, new), secret=True)


@get(PATH, scope="read", summary="List webhook endpoints")
async def list_webhooks(gateway: Context, caller: CurrentCaller) -> Page[Webhook]:
    """All webhook endpoints of the channel."""
    rows = await list_endpoints(gateway.db, caller.channel_id)
    return Page([_webhook(gateway, row, caller) for row in rows])


@get(PATH + "/{endpoint_id}", scope="read", summary="Get a webhook endpoint")
async def get_webhook(endpoint_id: str, gateway: Context, caller: CurrentCaller) -> Webhook:
    """One endpoint."""
    row = await admin.get_endpoint(gateway.db, caller.channel_id, read_endpoint_id(endpoint_id))
    return _webhook(gateway, row, caller)


@patch(
    PATH + "/{endpoint_id}",
    scope="manage",
    summary="Change a webhook endpoint",
    message="Webhook changed",
    errors=("forbidden_url",),
    example={"active": False},
)
async def change_webhook(endpoint_id: str, body: ChangeEndpoint, gateway: Context, caller: CurrentCaller) -> Webhook:
    """Changes the URL, event types, headers or delivery options of an endpoint, or enables or disables it."""
    if body.url is not None:
        await _check_url(gateway.guard, body.url, caller)
    before = await admin.get_endpoint(gateway.db, caller.channel_id, read_endpoint_id(endpoint_id))
    return _webhook(gateway, await _change_endpoint(gateway, before, body), caller)


@delete(PATH + "/{endpoint_id}", scope="manage", summary="Delete a webhook endpoint", message="Webhook deleted")
async def delete_webhook(endpoint_id: str, gateway: Context, caller: CurrentCaller) -> None:
    """Deletes an endpoint. Its deliveries stay in the log."""
    await admin.delete_endpoint(gateway.db, caller.channel_id, read_endpoint_id(endpoint_id))


@get(PATH + "/{endpoint_id}/attempts", scope="read", summary="List delivery attempts")
async def list_webhook_attempts(
    endpoint_id: str, query: Paged, gateway: Context, caller: CurrentCaller
) -> Page[Attempt]:
    """Every attempt with its request, response and latency, the newest event first."""
    endpoint = await admin.get_endpoint(gateway.db, caller.channel_id, read_endpoint_id(endpoint_id))
    before = read_cursor(query.cursor, tuple[UUID, Number])
    rows = await list_attempts(gateway.db, caller.channel_id, endpoint.id, before, query.limit)
    following = show_cursor((rows[-1].event_id, rows[-1].number)) if len(rows) == query.limit else None
    return Page([Attempt.of(row) for row in rows], following)


@get(PATH + "/{endpoint_id}/figures", scope="read", summary="Get an endpoint's figures by hour")
async def list_webhook_figures(endpoint_id: str, gateway: Context, caller: CurrentCaller) -> Page[WebhookHour]:
    """Attempts and latencies of the last 24 hours, by the hour of the event, the oldest first."""
    endpoint = await admin.get_endpoint(gateway.db, caller.channel_id, read_endpoint_id(endpoint_id))
    rows = await read_hour_figures(gateway.db, caller.channel_id, endpoint.id, gateway.clock.now())
    return Page([WebhookHour.of(row) for row in rows])


async def _create_endpoint(
    gateway: ApiContext, caller: Caller, request: CreateEndpoint, once: IdempotentRequest[admin.NewEndpoint]
) -> admin.NewEndpoint:
    return await admin.create_endpoint(
        gateway.db,
        gateway.vault,
        caller.channel_id,
        request.url,
        events=events_after(TYPES, request),
        headers=request.headers,
        options=options_after(DEFAULT_OPTIONS, request),
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
        events=events_after(before.events, request),
        headers=request.headers,
        options=options_after(before.options, request),
        state=None if request.active is None else (ACTIVE if request.active else DISABLED),
        before=before,
        now=gateway.clock.now(),
    )


def read_endpoint_id(text: str) -> UUID:
    """Return the id of an endpoint in a path."""
    endpoint_id = ids.parse_id("we", text)
    if endpoint_id is None:
        raise NotFound("There is no such webhook on this channel.")
    return endpoint_id


async def _check_url(guard: Guard, url: str, caller: Caller) -> None:
    """Reject a URL that may not be called. A host name that does not resolve is accepted: it may be set up later."""
    try:
        guard.check_shape(url)
        await guard.check(url, caller.channel_id)
    except ForbiddenUrl as error:
        raise invalid_field("url", error.reason, "forbidden_url") from None
    except UnresolvedUrl:
        return


def show_new(gateway: ApiContext, new: admin.NewEndpoint) -> NewWebhook:
    """Return an endpoint with the secret or public key that verifies its deliveries: it is shown only once."""
    row = new.endpoint
    secrets, headers = admin.readable_secrets(gateway.vault, row), admin.readable_headers(gateway.vault, row)
    return NewWebhook.with_secret(row, secrets, headers, gateway.clock.now(), new.secret)


def _webhook(gateway: ApiContext, row: Endpoint, caller: Caller) -> Webhook:
    """Return an endpoint. A caller who may not change its headers sees them masked, as in the log."""
    masks = "manage" not in caller.principal.scopes
    headers = masked(row.headers) if masks else admin.readable_headers(gateway.vault, row)
    return Webhook.of(row, admin.readable_secrets(gateway.vault, row), headers, gateway.clock.now())
