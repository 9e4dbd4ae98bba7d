"""The channels of the account of the person who is signed in."""

from typing import Annotated, Any

import msgspec
from litestar import Request
from litestar.params import FromPath
from msgspec import Meta

from gatepost.admin import channels as admin
from gatepost.admin.checks import check_name, read_id
from gatepost.admin.limits import NAMES, check_limits
from gatepost.api.admission import own_origin, read_headers
from gatepost.api.channel import decode_headroom
from gatepost.api.context import ApiContext, Context, CurrentUser
from gatepost.api.contract.account import UNREAD_MAX, AccountChannel, ChannelOverview
from gatepost.api.contract.channel import ChannelLink
from gatepost.api.responses import SECRET, Page, Reply
from gatepost.api.route import delete, get, patch
from gatepost.model import ids
from gatepost.model.session import SignedInUser
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.store.channels import ChannelChange, ChannelConfig, list_activity, list_channels
from gatepost.store.links import LinkRow, list_links

PATH = "/api/v1/account/channels"
ONE = PATH + "/{channel_id:str}"


class ChannelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to change of a channel."""

    name: str | None = None
    limits: Annotated[dict[str, float], Meta(description=f"Some of {', '.join(NAMES)}.")] = {}

    def change(self) -> ChannelChange:
        """Return the checked change."""
        name = None if self.name is None else check_name(self.name)
        return ChannelChange(name=name, limits=check_limits(self.limits))


@get(PATH, access="session", summary="List the channels of the account")
async def list_account_channels(gateway: Context, user: CurrentUser) -> Page[ChannelOverview]:
    """All channels, the oldest first: their connection, quality, unread conversations, and what their limits leave."""
    rows = await list_channels(gateway.db, user.account_id)
    return Page(await _overviews(gateway, user, rows))


@get(ONE, access="session", summary="Get a channel of the account")
async def get_account_channel(
    channel_id: FromPath[str], request: Request[Any, Any, Any], gateway: Context, user: CurrentUser
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
    example={"name": "The bakery", "limits": {"throughput": 20}},
)
async def change_account_channel(
    channel_id: FromPath[str], body: ChannelSettings, gateway: Context, user: CurrentUser
) -> AccountChannel:
    """Changes the name, or some limits and keeps the others."""
    change, now = body.change(), gateway.clock.now()
    id_ = read_id("ch", channel_id)
    return AccountChannel.of(
        await admin.change_channel(gateway.db, user.account_id, id_, change, actor=user.actor, now=now)
    )


@delete(ONE, access="session", role="owner", summary="Delete a channel of the account", message="Channel deleted")
async def delete_account_channel(channel_id: FromPath[str], gateway: Context, user: CurrentUser) -> None:
    """Deletes a channel with its keys, webhooks, contacts and queued messages."""
    id_, now = read_id("ch", channel_id), gateway.clock.now()
    await admin.delete_channel(gateway.db, user.account_id, id_, actor=user.actor, now=now)


async def own_channel(gateway: ApiContext, user: SignedInUser, channel_id: str) -> ChannelConfig:
    """Return a channel of the user's account, or raise NotFound."""
    return await admin.get_channel(gateway.db, user.account_id, read_id("ch", channel_id))


def callback_of(gateway: ApiContext, row: ChannelConfig, base: str) -> dict[str, str]:
    """Return what the network's app has to know of an official channel."""
    kept = admin.open_channel_secrets(gateway.vault, row)
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
            activity[row.id].unread,
        )
        found.append(ChannelOverview.of(row, **state, **more))
    return found


def base_url(gateway: ApiContext, request: Request[Any, Any, Any]) -> str:
    """Return the public URL of the gateway; without one, the origin that the request was sent to."""
    return gateway.public_url or own_origin(gateway, request.scope, read_headers(request.scope))
