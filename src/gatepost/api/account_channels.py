"""The channels of the account of the person who is signed in."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gatepost.admin import channels as admin
from gatepost.admin.channels import CloudNumber
from gatepost.admin.checks import check_name, read_id
from gatepost.admin.credentials import check_usable
from gatepost.admin.limits import NAMES, check_limits
from gatepost.admin.vault import VaultError
from gatepost.api.admission import own_origin, read_headers
from gatepost.api.asgi import Request
from gatepost.api.channel import decode_headroom
from gatepost.api.context import ApiContext, Context, CurrentUser
from gatepost.api.contract.account import UNREAD_MAX, AccountChannel, ChannelOverview
from gatepost.api.contract.channel import ChannelLink
from gatepost.api.credential_test import AppSecret, Token, WabaId, run_test
from gatepost.api.responses import SECRET, Page, Reply
from gatepost.api.route import delete, get, patch
from gatepost.model import ids
from gatepost.model.session import SignedInUser
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.store.channels import ChannelChange, ChannelConfig, list_activity, list_channels
from gatepost.store.links import LinkRow, list_links

PATH = "/api/v1/account/channels"
ONE = PATH + "/{channel_id}"
_CREDENTIALS = ("token", "app_secret", "waba_id")


class ChannelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to change of a channel."""

    name: str | None = None
    limits: Annotated[dict[str, float], Meta(description=f"Some of {', '.join(NAMES)}.")] = {}
    token: Token | None = None
    app_secret: AppSecret | None = None
    waba_id: WabaId | None = None

    @property
    def credentials(self) -> dict[str, str]:
        """The credentials that are given."""
        return {name: value for name in _CREDENTIALS if (value := getattr(self, name)) is not None}


@get(PATH, access="session", summary="List the channels of the account")
async def list_account_channels(gateway: Context, user: CurrentUser) -> Page[ChannelOverview]:
    """All channels, the oldest first: their connection, quality, unread conversations, and what their limits leave."""
    rows = await list_channels(gateway.db, user.account_id)
    return Page(await _overviews(gateway, user, rows))


@get(ONE, access="session", summary="Get a channel of the account")
async def get_account_channel(
    channel_id: str, request: Request, gateway: Context, user: CurrentUser
) -> Reply[ChannelOverview]:
    """One channel. An owner also sees the callback URL and the verify token of an official number."""
    row = await own_channel(gateway, user, channel_id)
    more = callback_of(gateway, row, base_url(gateway, request)) if user.role == "owner" else {}
    (found,) = await _overviews(gateway, user, [row], **more)
    return Reply(found, headers=SECRET if more else {})


@patch(
    ONE,
    access="session",
    role="owner",
    summary="Change a channel of the account",
    message="Channel changed",
    errors=("network_unavailable", "rate_limited"),
    example={"name": "The bakery", "limits": {"throughput": 20}},
)
async def change_account_channel(
    channel_id: str, body: ChannelSettings, gateway: Context, user: CurrentUser
) -> AccountChannel:
    """Changes what is given, and keeps the rest. New credentials of an official number are tested first."""
    id_, limits = read_id("ch", channel_id), check_limits(body.limits)
    change = ChannelChange(name=None if body.name is None else check_name(body.name), limits=limits)
    if body.credentials:
        change = await _with_credentials(gateway, user, await own_channel(gateway, user, channel_id), body, change)
    now, actor = gateway.clock.now(), user.actor
    changed = await admin.change_channel(gateway.db, user.account_id, id_, change, actor=actor, now=now)
    return AccountChannel.of(changed)


async def _with_credentials(
    gateway: ApiContext, user: SignedInUser, row: ChannelConfig, body: ChannelSettings, change: ChannelChange
) -> ChannelChange:
    """Return the change with new credentials, if they work."""
    given = {name: value for name, value in body.credentials.items() if name != "waba_id"}
    secrets = admin.renew_secrets(gateway.vault, row, given)
    number = msgspec.convert(row.network | ({"waba_id": body.waba_id} if body.waba_id else {}), CloudNumber)
    check_usable(await run_test(gateway, user.account_id, row.kind, number, secrets.token, secrets.app_secret))
    new_network = admin.check_number(number) if body.waba_id else None
    sealed = admin.seal_secrets(gateway.vault, row.id, secrets) if given else None
    return msgspec.structs.replace(change, network=new_network, secrets=sealed)


@delete(ONE, access="session", role="owner", summary="Delete a channel of the account", message="Channel deleted")
async def delete_account_channel(channel_id: str, gateway: Context, user: CurrentUser) -> None:
    """Deletes a channel with its keys, webhooks, contacts and queued messages."""
    id_, now = read_id("ch", channel_id), gateway.clock.now()
    await admin.delete_channel(gateway.db, user.account_id, id_, actor=user.actor, now=now)


async def own_channel(gateway: ApiContext, user: SignedInUser, channel_id: str) -> ChannelConfig:
    """Return a channel of the user's account, or raise NotFound."""
    return await admin.get_channel(gateway.db, user.account_id, read_id("ch", channel_id))


def callback_of(gateway: ApiContext, row: ChannelConfig, base: str) -> dict[str, str]:
    """Return what the network's app has to know of an official channel."""
    try:
        kept = admin.open_channel_secrets(gateway.vault, row)
    except VaultError:  # the key is lost: the channel needs new credentials
        return {}
    if kept is None:
        return {}
    return {
        "callback_url": f"{base}/callbacks/cloud/{ids.format_id('ch', row.id)}",
        "verify_token": kept.verify_token,
    }


async def _overviews(
    gateway: ApiContext, user: SignedInUser, rows: list[ChannelConfig], **more: Any
) -> list[ChannelOverview]:
    """Return channels with their state, in a constant number of statements."""
    now, activity = gateway.clock.now(), await list_activity(gateway.db, user.account_id, UNREAD_MAX)
    links = await list_links(gateway.db, [row.id for row in rows if NETWORK_KINDS[row.kind].linked])
    found = []
    for row in rows:
        if row.id not in activity:  # deleted in the meantime
            continue
        link = links.get(row.id, LinkRow()) if NETWORK_KINDS[row.kind].linked else None
        state = ChannelOverview.state_of(
            row,
            gateway.limits(row, link, now),
            decode_headroom(activity[row.id].pace),
            ChannelLink.of(link, now) if link else None,
            activity[row.id],
        )
        found.append(ChannelOverview.of(row, **state, sandbox_url=_sandbox_of(gateway, row), **more))
    return found


def _sandbox_of(gateway: ApiContext, row: ChannelConfig) -> str | UnsetType:
    """Return the sandbox if it is the network of a channel. A channel can have an address of its own."""
    elsewhere = any(row.network.get(name) for name in ("base_url", "link_url"))
    return UNSET if elsewhere else gateway.sandbox_url or UNSET


def base_url(gateway: ApiContext, request: Request) -> str:
    """Return the public URL of the gateway; without one, the origin that the request was sent to."""
    return gateway.public_url or own_origin(gateway, request.scope, read_headers(request.scope))
