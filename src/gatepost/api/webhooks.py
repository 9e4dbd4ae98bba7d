"""Webhook endpoints: make, look, change, delete, and the log of attempts."""

from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from litestar import Request, Response, delete, get, patch, post
from litestar.params import FromPath
from msgspec import Meta

from gatepost.admin import endpoints as admin
from gatepost.admin.signing import live_secrets
from gatepost.api.context import ApiContext, Context, CurrentCaller
from gatepost.api.contract.deliveries import GivenAnswer, SentRequest
from gatepost.api.idempotency import create_once
from gatepost.api.json_body import answer, envelope, read_body
from gatepost.api.paging import check_query, read_cursor, read_limit, show_cursor
from gatepost.model import ids, times
from gatepost.model.account import Caller
from gatepost.model.delivery import STATUSES, explain, masked
from gatepost.model.endpoint import (
    ACTIVE,
    BATCH_MAX,
    BATCH_WAIT_MAX,
    DISABLED,
    PAUSED,
    RATE_MAX,
    VERSIONS,
    DeliveryOptions,
)
from gatepost.model.errors import NotFound, invalid_field
from gatepost.model.event import ALL_TYPES, OPERATIONAL, TYPES
from gatepost.model.signing import public_key
from gatepost.store.deliveries.log import LoggedAttempt, list_attempts
from gatepost.store.endpoints import Endpoint, list_endpoints
from gatepost.store.idempotency import IdempotentRequest
from gatepost.webhooks.guard import ForbiddenUrl, Guard, UnresolvedUrl

PATH = "/api/v1/webhooks"

# The bounds stand in the reference; `check_manner` holds to them, and says in words what is wrong.
Most = Annotated[int, Meta(extra_json_schema={"minimum": 1, "maximum": BATCH_MAX})]
Wait = Annotated[float, Meta(extra_json_schema={"minimum": 0, "maximum": BATCH_WAIT_MAX})]
Rate = Annotated[int, Meta(extra_json_schema={"minimum": 1, "maximum": RATE_MAX})]
Version = Annotated[int, Meta(extra_json_schema={"enum": list(VERSIONS)})]
Signing = Literal["v1", "v1a"]
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


_create = msgspec.json.Decoder(CreateEndpoint)
_change = msgspec.json.Decoder(ChangeEndpoint)


@post(PATH, opt={"scope": "manage"}, status_code=201, summary="Create a webhook endpoint")
async def create_webhook(request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Makes an endpoint. Its signing secret is shown in this answer only."""
    wishes, body = await read_body(request, _create)

    async def make(once: IdempotentRequest[admin.NewEndpoint]) -> admin.NewEndpoint:
        await _check_url(gateway.guard, wishes.url, caller)
        return await _create_endpoint(gateway, caller, wishes, once)

    def show(new: admin.NewEndpoint) -> bytes:
        return envelope(show_new(gateway, new), "Webhook created")

    return await create_once(request, gateway, caller, body, make, show, secret=True)


@get(PATH, opt={"scope": "read"}, summary="List webhook endpoints")
async def list_webhooks(gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """All endpoints of the channel."""
    found = await list_endpoints(gateway.db, caller.channel_id)
    return answer([_show_to(gateway, caller, endpoint) for endpoint in found], paging=None)


@get(PATH + "/{endpoint_id:str}", opt={"scope": "read"}, summary="Get a webhook endpoint")
async def get_webhook(endpoint_id: FromPath[str], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """One endpoint."""
    endpoint = await admin.get_endpoint(gateway.db, caller.channel_id, read_endpoint_id(endpoint_id))
    return answer(_show_to(gateway, caller, endpoint))


@patch(PATH + "/{endpoint_id:str}", opt={"scope": "manage"}, summary="Change a webhook endpoint")
async def change_webhook(
    endpoint_id: FromPath[str], request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller
) -> Response[bytes]:
    """Changes address, switches, headers, or turns it on and off."""
    body, _ = await read_body(request, _change)
    if body.url is not None:
        await _check_url(gateway.guard, body.url, caller)
    before = await admin.get_endpoint(gateway.db, caller.channel_id, read_endpoint_id(endpoint_id))
    changed = await _change_endpoint(gateway, before, body)
    return answer(_show(gateway, changed), "Webhook changed")


@delete(PATH + "/{endpoint_id:str}", opt={"scope": "manage"}, status_code=200, summary="Delete a webhook endpoint")
async def delete_webhook(endpoint_id: FromPath[str], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Deletes an endpoint. What was delivered stays in the log."""
    await admin.delete_endpoint(gateway.db, caller.channel_id, read_endpoint_id(endpoint_id))
    return answer(None, "Webhook deleted")


@get(PATH + "/{endpoint_id:str}/attempts", opt={"scope": "read"}, summary="List delivery attempts")
async def list_webhook_attempts(
    endpoint_id: FromPath[str], request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller
) -> Response[bytes]:
    """Every attempt with its request, its answer and its latency, the newest event first."""
    endpoint = await admin.get_endpoint(gateway.db, caller.channel_id, read_endpoint_id(endpoint_id))
    query = check_query(request.query_params, "limit", "cursor")
    limit, before = read_limit(query.get("limit")), read_cursor(query.get("cursor"), tuple[UUID, Number])
    found = await list_attempts(gateway.db, caller.channel_id, endpoint.id, before, limit)
    more = show_cursor((found[-1].event_id, found[-1].number)) if len(found) == limit else None
    return answer([_show_attempt(attempt) for attempt in found], paging=more)


async def _create_endpoint(
    gateway: ApiContext, caller: Caller, wishes: CreateEndpoint, once: IdempotentRequest[admin.NewEndpoint]
) -> admin.NewEndpoint:
    return await admin.create_endpoint(
        gateway.db,
        gateway.vault,
        caller.channel_id,
        wishes.url,
        events=_switched(TYPES, wishes.events or {}, operational=wishes.operational),
        headers=wishes.headers,
        options=_options(DeliveryOptions(version=wishes.version), wishes),
        signing=wishes.signing,
        now=gateway.clock.now(),
        once=once,
    )


async def _change_endpoint(gateway: ApiContext, before: Endpoint, wishes: ChangeEndpoint) -> Endpoint:
    return await admin.change_endpoint(
        gateway.db,
        gateway.vault,
        before.channel_id,
        before.id,
        url=wishes.url,
        # What is not named is not written either: somebody else may be changing it at the same moment.
        events=None
        if wishes.events is None and wishes.operational is None
        else _switched(before.events, wishes.events or {}, operational=wishes.operational),
        headers=wishes.headers,
        options=None if (options := _options(before.options, wishes)) == before.options else options,
        state=None if wishes.active is None else (ACTIVE if wishes.active else DISABLED),
        now=gateway.clock.now(),
    )


def read_endpoint_id(text: str) -> UUID:
    """The id of an endpoint, as it stands in an address."""
    endpoint_id = ids.read("we", text)
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


def _options(before: DeliveryOptions, wishes: CreateEndpoint | ChangeEndpoint) -> DeliveryOptions:
    """How the endpoint is to get its deliveries after a change."""
    changes: dict[str, Any] = {}
    if wishes.ordered is not None:
        changes["ordered"] = wishes.ordered
    if wishes.version is not None:
        changes["version"] = wishes.version
    if wishes.rate_limit is not msgspec.UNSET:
        changes["rate"] = wishes.rate_limit
    if wishes.batch is None:
        changes |= {"batch": 1, "batch_wait": 0.0}
    elif wishes.batch is not msgspec.UNSET:
        changes |= {"batch": wishes.batch.most, "batch_wait": wishes.batch.wait}
    return msgspec.structs.replace(before, **changes)


def _switched(before: tuple[str, ...], switches: dict[str, bool], *, operational: bool | None) -> list[str]:
    """The switches that are on after a change."""
    unknown = sorted(switches.keys() - set(TYPES))
    if unknown:
        raise invalid_field(f"events.{unknown[0]}", f"is not an event type; there are: {', '.join(TYPES)}")
    if operational is not None:
        switches = {**switches, OPERATIONAL: operational}
    return [type_ for type_ in ALL_TYPES if switches.get(type_, type_ in before)]


def show_new(gateway: ApiContext, new: admin.NewEndpoint) -> dict[str, Any]:
    """An endpoint with what verifies its deliveries, a secret or a public key: to be shown once."""
    return _show(gateway, new.endpoint) | {"secret": new.secret}


def _show_secrets(gateway: ApiContext, endpoint: Endpoint) -> dict[str, Any]:
    """How deliveries are signed, and until when by which; never with what."""
    kept = admin.signing_secrets(gateway.vault, endpoint)
    live = [
        {"signing": one.signing, "public_key": public_key(one.secret), "until": times.show_maybe(one.until)}
        for one in live_secrets(kept, gateway.clock.now())
    ]
    return {"signing": kept[0].signing, "public_key": public_key(kept[0].secret), "secrets": live}


def _show_to(gateway: ApiContext, caller: Caller, endpoint: Endpoint) -> dict[str, Any]:
    """An endpoint for somebody: who may not change its headers sees of them what the log shows."""
    return _show(gateway, endpoint, secret="manage" not in caller.principal.scopes)


def _show(gateway: ApiContext, endpoint: Endpoint, *, secret: bool = False) -> dict[str, Any]:
    headers = masked(endpoint.headers) if secret else admin.headers_of(gateway.vault, endpoint)
    options, health = endpoint.options, endpoint.health
    return {
        "id": ids.show("we", endpoint.id),
        "url": endpoint.url,
        "events": {type_: type_ in endpoint.events for type_ in TYPES},
        "operational": OPERATIONAL in endpoint.events,
        "headers": headers,
        "ordered": options.ordered,
        "batch": {"most": options.batch, "wait": round(options.batch_wait, 3)} if options.batch > 1 else None,
        "rate_limit": options.rate,
        "version": options.version,
        **_show_secrets(gateway, endpoint),
        "active": endpoint.state != DISABLED,
        "state": endpoint.state,
        "reason": endpoint.reason,
        "failing_since": times.show_maybe(health.failing_since),
        "failures": health.failures,
        "succeeded_at": times.show_maybe(health.succeeded_at),
        "next_probe_at": times.show_maybe(health.probe_at) if endpoint.state == PAUSED else None,
        "created_at": times.show(endpoint.created_at),
        "updated_at": times.show(endpoint.updated_at),
    }


def _show_attempt(attempt: LoggedAttempt) -> dict[str, Any]:
    return {
        "event": ids.show("evt", attempt.event_id),
        "number": attempt.number,
        "at": times.show(attempt.at),
        "latency_ms": round(attempt.latency_ms, 1),
        "status": attempt.status,
        "error": explain(attempt.status, attempt.error),
        "delivery": {"state": STATUSES[attempt.state], "next_at": times.show_maybe(attempt.next_at)},
        "request": SentRequest.of(attempt.url, attempt.request_headers, attempt.request_body),
        "answer": GivenAnswer.of(attempt.answer_headers, attempt.answer_body),
    }
