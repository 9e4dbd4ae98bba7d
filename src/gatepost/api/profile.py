"""How the channel's business shows itself on the network, and how its number stands there."""

from typing import Any

import msgspec
from litestar import Request, Response, get, patch

from gatepost.admin.channels import get_channel
from gatepost.api.context import Context, CurrentCaller
from gatepost.api.json_body import answer, read_body
from gatepost.services import profile as desk
from gatepost.services.business import open_business

_change = msgspec.json.Decoder(desk.ProfileChange)


@get("/api/v1/channel/profile", opt={"scope": "read"}, summary="Get the business profile")
async def get_profile(gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """The profile as the network has it."""
    channel = await get_channel(gateway.db, caller.account_id, caller.channel_id)
    business = open_business(channel, gateway.business, "a business profile")
    return answer(await desk.show_profile(business))


@patch("/api/v1/channel/profile", opt={"scope": "manage"}, summary="Change the business profile")
async def change_profile(request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Changes what is given and leaves the rest."""
    change, _ = await read_body(request, _change)
    channel = await get_channel(gateway.db, caller.account_id, caller.channel_id)
    business = open_business(channel, gateway.business, "a business profile")
    return answer(await desk.change_profile(business, change), "Profile changed")


@get("/api/v1/channel/health", opt={"scope": "read"}, summary="Check the number's health")
async def get_health(gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Asks the network for the number's quality, status and limits."""
    channel = await get_channel(gateway.db, caller.account_id, caller.channel_id)
    business = open_business(channel, gateway.business, "a health report")
    return answer(await desk.check_health(gateway.db, channel, business, gateway.clock.now()))
