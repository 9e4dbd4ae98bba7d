"""The account of the person who is signed in: its channels."""

from gatepost.api.context import Context, CurrentUser
from gatepost.api.contract.account import AccountChannel
from gatepost.api.responses import Page
from gatepost.api.route import get
from gatepost.store.channels import list_channels


@get("/api/v1/account/channels", access="session", summary="List the channels of the account")
async def list_account_channels(gateway: Context, user: CurrentUser) -> Page[AccountChannel]:
    """All channels of the account, the oldest first. A session names one of them with `Gatepost-Channel`."""
    return Page([AccountChannel.of(row) for row in await list_channels(gateway.db, user.account_id)])
