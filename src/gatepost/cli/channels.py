"""`gatepost channel`: the numbers of an account."""

from typing import Annotated

import msgspec
import typer

from gatepost.admin import channels as admin
from gatepost.admin.channels import ChannelRequest, CloudNumber
from gatepost.admin.credentials import check_credentials, check_usable
from gatepost.api.contract.account import AccountChannel
from gatepost.cli.arguments import given
from gatepost.cli.command import CommandSession, command, new_group
from gatepost.cli.options import Yes
from gatepost.cli.output import CommandResult, confirm
from gatepost.cli.records import AccountArgument, AccountOption, ChannelArgument
from gatepost.model import ids
from gatepost.model.errors import invalid_field
from gatepost.network_factory import NetworkFactory
from gatepost.networks.cloud.secrets import ChannelSecrets
from gatepost.running_address import noted_address
from gatepost.services.network_errors import network_call
from gatepost.settings import Settings
from gatepost.store.channels import ChannelConfig, list_channels
from gatepost.store.devices import forget_devices
from gatepost.webhooks.guard import Guard

group = new_group()

PhoneNumberId = Annotated[str | None, typer.Option(help="Official: id of the number at the network.")]
WabaId = Annotated[str | None, typer.Option(help="Official: id of the business account. Templates need it.")]
BaseUrl = Annotated[str | None, typer.Option(help="Official: URL of the network, if not that of the settings.")]
Version = Annotated[str | None, typer.Option(help="Official: version of the Graph API, if not that of the settings.")]
Token = Annotated[str | None, typer.Option(envvar="GATEPOST_CHANNEL_TOKEN", help="Official: the access token.")]
AppSecret = Annotated[
    str | None,
    typer.Option(
        envvar="GATEPOST_CHANNEL_APP_SECRET", help="Official: secret that signs the callbacks of the network."
    ),
]
Throughput = Annotated[float | None, typer.Option(help="Messages per second.")]
Tier = Annotated[int | None, typer.Option(help="Conversations that may be opened within 24 hours; 0 is no limit.")]
PairSeconds = Annotated[float | None, typer.Option(help="Seconds between two messages to the same recipient.")]
PairBurst = Annotated[
    int | None, typer.Option(help="Messages to the same recipient that --pair-seconds does not delay.")
]
Window = Annotated[
    int | None,
    typer.Option(help="Official: 1 allows free text only within 24 hours of the person's last message; 0 always."),
]


@command(group, "create")
async def create(
    session: CommandSession,
    account: AccountArgument,
    *,
    kind: Annotated[str, typer.Option(help="official or qr.")],
    phone: Annotated[str, typer.Option(help="The number in digits, with its country code.")],
    name: Annotated[str | None, typer.Option(help="Name of the channel.", show_default="the number")] = None,
    phone_number_id: PhoneNumberId = None,
    waba_id: WabaId = None,
    token: Token = None,
    app_secret: AppSecret = None,
    verify_token: Annotated[
        str | None, typer.Option(help="Official: token that verifies the callback URL.", show_default="generated")
    ] = None,
    base_url: BaseUrl = None,
    version: Version = None,
    throughput: Throughput = None,
    tier: Tier = None,
    pair_seconds: PairSeconds = None,
    pair_burst: PairBurst = None,
    window: Window = None,
) -> CommandResult:
    """Create a channel: an official number, or one that is linked to a phone by QR code."""
    limits = given(throughput=throughput, tier=tier, pair_seconds=pair_seconds, pair_burst=pair_burst, window=window)
    number = given(phone_number_id=phone_number_id, waba_id=waba_id, base_url=base_url, version=version)
    secrets = given(token=token, app_secret=app_secret, verify_token=verify_token)
    request = ChannelRequest(kind=kind, name=name or phone, phone=phone, address=number, secrets=secrets, limits=limits)
    return _created(
        session, await admin.create_channel(session.db, session.vault, account.id, request, now=session.now)
    )


@command(group, "list")
async def list_(session: CommandSession, account: AccountOption = None) -> CommandResult:
    """List the channels of all accounts, or of one."""
    columns = ("id", "account", "kind", "phone", "name", "connection")
    if account is None:
        return await session.list_all(list_channels, AccountChannel.of, columns)
    return CommandResult([AccountChannel.of(row) for row in await list_channels(session.db, account.id)], columns)


@command(group, "show")
async def show(session: CommandSession, channel: ChannelArgument) -> CommandResult:
    """Show a channel, without its secrets."""
    return CommandResult(AccountChannel.of(channel))


@command(group, "limits")
async def limits(
    session: CommandSession,
    channel: ChannelArgument,
    *,
    throughput: Throughput = None,
    tier: Tier = None,
    pair_seconds: PairSeconds = None,
    pair_burst: PairBurst = None,
    window: Window = None,
) -> CommandResult:
    """Change limits of a number. Omitted ones keep their value."""
    changes = given(throughput=throughput, tier=tier, pair_seconds=pair_seconds, pair_burst=pair_burst, window=window)
    changed = await admin.change_limits(session.db, channel.account_id, channel.id, changes, now=session.now)
    return CommandResult(AccountChannel.of(changed))


@command(group, "network")
async def network(
    session: CommandSession,
    channel: ChannelArgument,
    *,
    phone_number_id: PhoneNumberId = None,
    waba_id: WabaId = None,
    base_url: BaseUrl = None,
    version: Version = None,
) -> CommandResult:
    """Change ids and address of an official number at its network. Omitted ones keep their value."""
    changes = given(phone_number_id=phone_number_id, waba_id=waba_id, base_url=base_url, version=version)
    changed = await admin.change_number(session.db, channel.account_id, channel.id, changes, now=session.now)
    return CommandResult(AccountChannel.of(changed))


@command(group, "token")
async def token(
    session: CommandSession,
    channel: ChannelArgument,
    *,
    token: Token = None,
    app_secret: AppSecret = None,
    no_test: Annotated[bool, typer.Option("--no-test", help="Do not test them at the network first.")] = False,
) -> CommandResult:
    """Replace the token or the app secret of an official number, after a test. Queued messages are then sent."""
    changes = given(token=token, app_secret=app_secret)
    if not changes:
        raise invalid_field("token", "is missing; give a new token, a new app secret, or both")
    secrets = admin.renew_secrets(session.vault, channel, changes)
    if not no_test:
        await _test_secrets(session, channel, secrets)
    changed = await admin.change_secrets(
        session.db, session.vault, channel.account_id, channel.id, secrets, now=session.now
    )
    return CommandResult(AccountChannel.of(changed))


async def _test_secrets(session: CommandSession, channel: ChannelConfig, secrets: ChannelSecrets) -> None:
    """Reject credentials that do not work at the network."""
    networks = NetworkFactory(session.settings, session.vault, "", Guard())
    number = msgspec.convert(channel.network, CloudNumber)
    try:
        with network_call():
            report = await check_credentials(
                networks.check_credentials, channel.kind, number, secrets.token, secrets.app_secret
            )
    finally:
        await networks.close()
    check_usable(report)


@command(group, "delete")
async def delete(session: CommandSession, channel: ChannelArgument, yes: Yes = False) -> CommandResult:
    """Delete a channel with its keys, webhooks, contacts and queued messages."""
    if not yes:
        confirm(f"Delete the channel {channel.name} with its keys, webhooks, contacts and queued messages?")
    await admin.delete_channel(session.db, channel.account_id, channel.id, now=session.now)
    await forget_devices(session.db, session.settings.qr.device_store)
    return CommandResult(AccountChannel.of(channel, deleted=True))


def gateway_url(settings: Settings) -> str:
    """Return the public URL of the gateway: from the settings, otherwise that of the gateway running here."""
    return settings.server.public_url.rstrip("/") or noted_address(settings.data_folder) or settings.public_url


def _created(session: CommandSession, channel: ChannelConfig) -> CommandResult:
    note = f"Next: gatepost key create {ids.format_id('ch', channel.id)} NAME"
    secrets = admin.open_channel_secrets(session.vault, channel) if channel.secrets else None
    if secrets is None:
        return CommandResult(AccountChannel.of(channel), note=note)
    url = f"{gateway_url(session.settings)}/callbacks/cloud/{ids.format_id('ch', channel.id)}"
    view = AccountChannel.of(channel, callback_url=url, verify_token=secrets.verify_token)
    return CommandResult(
        view, note=f"Enter the callback URL and the verify token in the network's app settings.\n{note}"
    )
