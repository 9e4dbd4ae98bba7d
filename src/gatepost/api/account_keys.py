"""The API keys of the channels of an account."""

from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import Meta

from gatepost.admin import keys as admin
from gatepost.admin.checks import read_id
from gatepost.api.account_channels import ONE, own_channel
from gatepost.api.context import Context, CurrentUser
from gatepost.api.contract.account import ApiKey, NewApiKey, RefusedRequest
from gatepost.api.idempotency import CreateOnce
from gatepost.api.paging import read_cursor, show_cursor
from gatepost.api.query import Paged
from gatepost.api.responses import Created, Page
from gatepost.api.route import delete, get, post
from gatepost.model.account import SCOPES
from gatepost.store.keys import list_keys
from gatepost.store.refused_requests import list_refused

_PATH = ONE + "/keys"
_ONE = _PATH + "/{key_id}"
_OVERLAP_MAX = int(admin.OVERLAP_MAX.total_seconds())
Expiry = Annotated[datetime, Meta(description="When the key expires; without it, never.")]


class KeyRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A new key."""

    name: str
    scopes: Annotated[tuple[str, ...], Meta(description=f"Some of {', '.join(SCOPES)}.")] = admin.DEFAULT_SCOPES
    expires_at: Expiry | None = None


class KeyRotation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long the old key stays valid beside the new one."""

    overlap: Annotated[int, Meta(description="Seconds.", ge=0, le=_OVERLAP_MAX)] = int(
        admin.DEFAULT_OVERLAP.total_seconds()
    )
    expires_at: Expiry | None = None


class RefusedQuery(Paged, frozen=True, kw_only=True):
    """Which refused requests."""

    key: Annotated[str, Meta(description="Only requests with this key.")] | None = None


@get(_PATH, access="session", summary="List the keys of a channel")
async def list_account_keys(channel_id: str, gateway: Context, user: CurrentUser) -> Page[ApiKey]:
    """All keys of the channel, the oldest first, including revoked and expired ones."""
    channel = await own_channel(gateway, user, channel_id)
    return Page([ApiKey.of(row) for row in await list_keys(gateway.db, channel.id)])


@get(_PATH + "/refused", access="session", summary="List refused requests")
async def list_refused_requests(
    channel_id: str, query: RefusedQuery, gateway: Context, user: CurrentUser
) -> Page[RefusedRequest]:
    """Requests with keys of the channel that got an error in the last day, the newest first, without their bodies.
    They appear here after at most 5 seconds."""
    channel = await own_channel(gateway, user, channel_id)
    key = await admin.get_key(gateway.db, channel.id, read_id("key", query.key)) if query.key is not None else None
    rows = await list_refused(
        gateway.db,
        channel.id,
        key_id=key.id if key else None,
        now=gateway.clock.now(),
        before=read_cursor(query.cursor, UUID),
        limit=query.limit,
    )
    following = show_cursor(rows[-1].id) if len(rows) == query.limit else None
    return Page([RefusedRequest.of(row) for row in rows], following)


@post(
    _PATH,
    access="session",
    role="owner",
    summary="Create a key",
    message="Key created",
    example={"name": "Online shop", "scopes": ["send", "read"]},
)
async def create_account_key(
    channel_id: str, body: KeyRequest, once: CreateOnce, gateway: Context, user: CurrentUser
) -> Created[NewApiKey]:
    """Creates a key of the channel. Only this response contains it."""
    channel, fields = await own_channel(gateway, user, channel_id), msgspec.structs.asdict(body)
    now, actor = gateway.clock.now(), user.actor
    return await once.create(
        lambda request: admin.create_key(gateway.db, channel.id, **fields, actor=actor, now=now, once=request),
        _shown_once,
        secret=True,
    )


@post(
    _ONE + "/rotate",
    access="session",
    role="owner",
    summary="Rotate a key",
    message="Key rotated",
    errors=("wrong_state",),
    body_required=False,
    example={"overlap": 86_400},
)
async def rotate_account_key(
    channel_id: str,
    key_id: str,
    body: KeyRotation,
    once: CreateOnce,
    gateway: Context,
    user: CurrentUser,
) -> Created[NewApiKey]:
    """Creates a key with the same name and scopes, shown only here. The old one expires after the overlap."""
    channel, id_ = await own_channel(gateway, user, channel_id), read_id("key", key_id)
    fields: dict[str, Any] = {
        "overlap": timedelta(seconds=body.overlap),
        "expires_at": body.expires_at,
        "actor": user.actor,
    }
    now = gateway.clock.now()
    return await once.create(
        lambda request: admin.rotate_key(gateway.db, channel.id, id_, **fields, now=now, once=request),
        _shown_once,
        secret=True,
    )


@delete(_ONE, access="session", role="owner", summary="Revoke a key", message="Key revoked")
async def revoke_account_key(channel_id: str, key_id: str, gateway: Context, user: CurrentUser) -> ApiKey:
    """Revokes a key: it stops working within a second. It stays in the list."""
    channel, now = await own_channel(gateway, user, channel_id), gateway.clock.now()
    return ApiKey.of(await admin.revoke_key(gateway.db, channel.id, read_id("key", key_id), now, actor=user.actor))


def _shown_once(new: admin.NewKey) -> NewApiKey:
    return NewApiKey.of(new.key, key=new.text)
