"""Usage: the month against the plan, what every limit leaves, and messages per day and type."""

from datetime import datetime
from typing import Any

import msgspec
from litestar import Response, get

from gatepost.admin.accounts import get_account
from gatepost.admin.channels import get_channel
from gatepost.api.channel import throughput_shown, tier_shown
from gatepost.api.context import ApiContext, Context, CurrentCaller
from gatepost.api.json_body import answer
from gatepost.model import times
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.services import usage as desk
from gatepost.store.accounts import Account
from gatepost.store.channels import ChannelConfig, get_pace
from gatepost.store.links import get_link
from gatepost.store.media.storage import stored_bytes
from gatepost.store.quota import used_in_month


@get("/api/v1/usage", opt={"scope": "read"}, summary="Get usage")
async def show_usage(gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """The account's plan and access, the limits of the number and of this API, and the last 30 days."""
    now = gateway.clock.now()
    account = await get_account(gateway.db, caller.account_id)
    channel = await get_channel(gateway.db, caller.account_id, caller.channel_id)
    shown = {
        **await _plan(gateway, account, now),
        **desk.show_access(account, now),
        **await _limits(gateway, channel),
        "api": {"rate": gateway.rate, "burst": gateway.burst},
        "days": await desk.daily_usage(gateway.db, channel.id, now),
    }
    return answer(shown)


async def _plan(gateway: ApiContext, account: Account, now: datetime) -> dict[str, Any]:
    """Messages of the month and bytes of files, against the plan."""
    used = await used_in_month(gateway.db, account.id, times.month_of(now))
    stored = await stored_bytes(gateway.db, account.id)
    return {
        "plan": desk.show_plan(account, gateway.plans, used, now),
        "storage": desk.show_storage(account, gateway.plans, stored),
    }


async def _limits(gateway: ApiContext, channel: ChannelConfig) -> dict[str, Any]:
    """Tier and throughput as GET /channel shows them."""
    row = await get_link(gateway.db, channel.id) if NETWORK_KINDS[channel.kind].linked else None
    pace = msgspec.json.decode(await get_pace(gateway.db, channel.id))
    limits = gateway.limits(channel, row, gateway.clock.now())
    return {"tier": tier_shown(pace, limits), "throughput": throughput_shown(pace, limits)}
