"""The business profile of the channel, and the state of its number at the network."""

from gatepost.admin.channels import get_channel
from gatepost.api.context import Context, CurrentCaller
from gatepost.api.contract.channel import Health, Profile
from gatepost.api.openapi.error_codes import NETWORK
from gatepost.api.route import get, patch
from gatepost.services import profile as service
from gatepost.services.business import open_business
from gatepost.services.profile import ProfileChange


@get("/api/v1/channel/profile", scope="read", summary="Get the business profile", errors=NETWORK, only="official")
async def get_profile(gateway: Context, caller: CurrentCaller) -> Profile:
    """The profile, read from the network."""
    channel = await get_channel(gateway.db, caller.account_id, caller.channel_id)
    business = open_business(channel, gateway.business, "a business profile")
    return Profile.of(await service.read_profile(business))


@patch(
    "/api/v1/channel/profile",
    scope="manage",
    summary="Change the business profile",
    message="Profile changed",
    errors=NETWORK,
    example={"about": "Open until six"},
    only="official",
)
async def change_profile(body: ProfileChange, gateway: Context, caller: CurrentCaller) -> Profile:
    """Changes the given fields and keeps the others."""
    channel = await get_channel(gateway.db, caller.account_id, caller.channel_id)
    business = open_business(channel, gateway.business, "a business profile")
    return Profile.of(await service.change_profile(business, body))


@get("/api/v1/channel/health", scope="read", summary="Check the number's health", errors=NETWORK, only="official")
async def get_health(gateway: Context, caller: CurrentCaller) -> Health:
    """Asks the network for the number's quality, status and limits."""
    channel, now = await get_channel(gateway.db, caller.account_id, caller.channel_id), gateway.clock.now()
    business = open_business(channel, gateway.business, "a health report")
    return Health.of(await service.check_health(gateway.db, channel, business, now), now)
