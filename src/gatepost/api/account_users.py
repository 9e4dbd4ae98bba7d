"""The people of an account."""

from gatepost.admin import users as admin
from gatepost.api.context import Context, CurrentUser
from gatepost.api.contract.account import AccountUser
from gatepost.api.responses import Page
from gatepost.api.route import get

_PATH = "/api/v1/account/users"


@get(_PATH, access="session", summary="List the users of the account")
async def list_account_users(gateway: Context, user: CurrentUser) -> Page[AccountUser]:
    """All people of the account, the oldest first."""
    return Page([AccountUser.of(one) for one in await admin.list_users(gateway.db, user.account_id)])
