"""What assistants may do: the policy of each key, and the switch that stops all of them."""

from typing import Annotated

import msgspec
from msgspec import Meta

from gatepost.admin import mcp_policies as admin
from gatepost.admin.checks import read_id
from gatepost.api.account_channels import ONE, base_url, own_channel
from gatepost.api.asgi import Request
from gatepost.api.context import Context, CurrentUser
from gatepost.api.contract.mcp import McpAccess, McpPolicy
from gatepost.api.route import get, put
from gatepost.model.mcp_policy import Policy

_POLICY = ONE + "/keys/{key_id}/policy"
_ACCESS = "/api/v1/account/mcp"


class McpSwitch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether the assistants of the account are stopped."""

    stopped: Annotated[bool, Meta(description="true stops all of them; false lets them go on.")]


@get(_POLICY, access="session", summary="Get the policy of a key")
async def get_key_policy(channel_id: str, key_id: str, gateway: Context, user: CurrentUser) -> McpPolicy:
    """What an assistant with this key may do, also in plain sentences. Without a saved policy, the defaults."""
    channel = await own_channel(gateway, user, channel_id)
    return _shown(await admin.get_policy(gateway.db, channel.id, read_id("key", key_id)))


@put(
    _POLICY,
    access="session",
    role="owner",
    summary="Replace the policy of a key",
    message="Policy saved",
    errors=("wrong_state",),
    example={"mode": "send", "recipients": {"wrote_within_days": 7}, "sends_per_hour": 20, "link_hosts": []},
)
async def put_key_policy(channel_id: str, key_id: str, body: Policy, gateway: Context, user: CurrentUser) -> McpPolicy:
    """Replaces the policy of a key with the scope `mcp`. A field that is not given gets its default.

    It is in force within a second on every node.
    """
    channel, now = await own_channel(gateway, user, channel_id), gateway.clock.now()
    saved = await admin.save_policy(gateway.db, channel.id, read_id("key", key_id), body, now, actor=user.actor)
    return _shown(saved)


@get(_ACCESS, access="session", summary="Get the access of assistants")
async def get_mcp_access(request: Request, gateway: Context, user: CurrentUser) -> McpAccess:
    """The address of the MCP server, and whether the assistants of the account are stopped."""
    return McpAccess.of(await admin.get_stop(gateway.db, user.account_id), base_url(gateway, request))


@put(
    _ACCESS,
    access="session",
    role="owner",
    summary="Stop all assistants",
    message="Access of assistants changed",
    example={"stopped": True},
)
async def put_mcp_access(request: Request, body: McpSwitch, gateway: Context, user: CurrentUser) -> McpAccess:
    """Stops all assistants of the account, or lets them go on, within a second. Their keys and policies stay."""
    now, account_id = gateway.clock.now(), user.account_id
    stop = await admin.set_stop(gateway.db, account_id, now, stopped=body.stopped, actor=user.actor)
    return McpAccess.of(stop, base_url(gateway, request))


def _shown(found: admin.KeyPolicy) -> McpPolicy:
    return McpPolicy.of(found.stored, found.key, found.labels)
