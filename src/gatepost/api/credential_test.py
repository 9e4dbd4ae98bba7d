"""The test of a number's credentials, which asks the network and stores nothing."""

from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta

from gatepost.access.sliding_limit import MINUTE
from gatepost.admin.channels import CloudNumber
from gatepost.admin.credentials import check_credentials
from gatepost.api.context import ApiContext, Context, CurrentUser
from gatepost.api.contract.channel import CredentialTest
from gatepost.api.route import post
from gatepost.model.errors import LimitReached, LimitState
from gatepost.networks.base import CredentialReport
from gatepost.networks.kinds import CLOUD
from gatepost.services.network_errors import network_call

CREDENTIAL_TESTS = 20  # of one account in a minute
PhoneNumberId = Annotated[str, Meta(description="Official: the id of the number at the network.")]
WabaId = Annotated[str, Meta(description="Official: the id of the business account. Templates need it.")]
Token = Annotated[str, Meta(description="Official: the access token.")]
AppSecret = Annotated[str, Meta(description="Official: the secret that signs the callbacks of the network.")]


class Credentials(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The credentials of an official number."""

    phone_number_id: PhoneNumberId
    token: Token
    app_secret: AppSecret
    waba_id: WabaId | None = None


@post(
    "/api/v1/account/channels/test",
    access="session",
    role="owner",
    summary="Test the credentials of a number",
    message="Tested",
    errors=("network_unavailable", "rate_limited"),
    example={
        "phone_number_id": "100000000000001",
        "token": "EAAG…",
        "app_secret": "8d7f…",
        "waba_id": "200000000000001",
    },
)
async def test_account_channel(body: Credentials, gateway: Context, user: CurrentUser) -> CredentialTest:
    """Asks the network whether the credentials of an official number work, before they are stored. Stores nothing."""
    number = CloudNumber(body.phone_number_id, body.waba_id)
    return CredentialTest.of(await run_test(gateway, user.account_id, CLOUD.name, number, body.token, body.app_secret))


async def run_test(
    gateway: ApiContext, account_id: UUID, kind: str, number: CloudNumber, token: str, app_secret: str
) -> CredentialReport:
    """Test credentials. Each test calls the network several times, so that their number is limited."""
    wait = gateway.credential_tests.take(account_id)
    if wait:
        limit = gateway.credential_tests.limit
        raise LimitReached(
            f"Credentials were tested {limit} times in a minute. Wait as long as Retry-After says.",
            retry_after=wait,
            limit=LimitState("credential-test", limit, int(MINUTE), 0, int(wait) + 1),
        )
    with network_call():
        return await check_credentials(gateway.check_credentials, kind, number, token, app_secret)
