"""Creates channels of the account. The credentials of an official number are tested before they are stored."""

from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta

from gatepost.admin import channels as admin
from gatepost.admin.accounts import get_account
from gatepost.admin.channels import ChannelRequest, CloudNumber
from gatepost.admin.credentials import check_usable
from gatepost.admin.limits import NAMES
from gatepost.api.account_channels import PATH, base_url, callback_of
from gatepost.api.asgi import Request
from gatepost.api.context import ApiContext, Context, CurrentUser
from gatepost.api.contract.account import AccountChannel
from gatepost.api.credential_test import AppSecret, PhoneNumberId, Token, WabaId, run_test
from gatepost.api.idempotency import CreateOnce
from gatepost.api.responses import Created
from gatepost.api.route import post
from gatepost.model.account import plan_of
from gatepost.model.errors import invalid_field
from gatepost.model.session import SignedInUser
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.store.channels import ChannelConfig
from gatepost.store.idempotency import IdempotentRequest

Kind = Annotated[str, Meta(extra_json_schema={"enum": list(NETWORK_KINDS)})]


class NewChannel(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A new channel: an official number with its credentials, or a phone that is linked by QR code."""

    kind: Kind
    name: str
    phone: Annotated[str, Meta(description="QR: the number of the phone, in digits.")] | None = None
    phone_number_id: PhoneNumberId | None = None
    waba_id: WabaId | None = None
    token: Token | None = None
    app_secret: AppSecret | None = None
    limits: Annotated[dict[str, float], Meta(description=f"Some of {', '.join(NAMES)}.")] = {}

    def part(self, *names: str) -> dict[str, str]:
        """Return those of the fields that are given."""
        return {name: value for name in names if (value := getattr(self, name)) is not None}


@post(
    PATH,
    access="session",
    role="owner",
    summary="Create a channel",
    message="Channel created",
    errors=("channel_limit_reached", "invalid_phone", "network_unavailable", "rate_limited"),
    example={"kind": "qr", "name": "The bakery", "phone": "15550001111"},
)
async def create_account_channel(
    body: NewChannel, once: CreateOnce, request: Request, gateway: Context, user: CurrentUser
) -> Created[AccountChannel]:
    """Creates a channel. The credentials of an official number are tested first, and are never returned."""
    base = base_url(gateway, request)
    return await once.create(
        lambda again: _create(gateway, user, body, again),
        lambda row: AccountChannel.of(row, **callback_of(gateway, row, base)),
        secret=True,
    )


async def _create(
    gateway: ApiContext, user: SignedInUser, body: NewChannel, once: IdempotentRequest[ChannelConfig]
) -> ChannelConfig:
    address, secrets = body.part("phone_number_id", "waba_id"), body.part("token", "app_secret")
    admin.check_credentials_given(body.kind, [*address, *secrets])
    account = await get_account(gateway.db, user.account_id)
    request = ChannelRequest(
        kind=body.kind,
        name=body.name,
        phone=await _find_phone(gateway, user.account_id, body),
        address=address,
        secrets=secrets,
        limits=body.limits,
    )
    how = {"actor": user.actor, "now": gateway.clock.now(), "once": once}
    return await admin.create_channel(
        gateway.db,
        gateway.vault,
        account.id,
        request,
        channels_max=plan_of(gateway.plans, account.plan).channels,
        **how,
    )


async def _find_phone(gateway: ApiContext, account_id: UUID, body: NewChannel) -> str:
    """Return the number: as the network knows it, or else as it is given."""
    if not NETWORK_KINDS[body.kind].credentials:
        if body.phone is None:
            raise invalid_field("phone", "is needed for a QR channel: the number of the phone, in digits")
        return body.phone
    if body.phone is not None:
        raise invalid_field("phone", "belongs to QR channels only: the network knows the number of an official one")
    number = CloudNumber(**body.part("phone_number_id", "waba_id"))
    report = await run_test(gateway, account_id, body.kind, number, body.token or "", body.app_secret or "")
    check_usable(report)
    if report.phone is None:
        raise invalid_field("phone_number_id", "is known to the network, but it does not say which number it is")
    return report.phone
