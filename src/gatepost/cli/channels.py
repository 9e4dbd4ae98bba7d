"""`gatepost channel`: the numbers of an account."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from gatepost.cli.command import CommandSession, command, new_group
from gatepost.cli.output import CommandResult, confirm

if TYPE_CHECKING:
    from uuid import UUID

    from gatepost.settings import Settings
    from gatepost.store.channels import ChannelConfig

group = new_group("Channels: numbers on a network.")

AccountId = Annotated[str, typer.Argument(metavar="ACCOUNT", help="Id of the account: acc_…")]
ChannelId = Annotated[str, typer.Argument(metavar="CHANNEL", help="Id of the channel: ch_…")]
Throughput = Annotated[float | None, typer.Option(help="Messages per second.")]
Tier = Annotated[int | None, typer.Option(help="Conversations to open in any 24 hours; 0: no limit.")]
PairSeconds = Annotated[float | None, typer.Option(help="Seconds between messages to one recipient...")]
PairBurst = Annotated[int | None, typer.Option(help="...after a burst of so many.")]
Window = Annotated[
    int | None,
    typer.Option(help="Official: 1 allows free text only for 24 hours after a person wrote; 0 always."),
]


@command(group, "create")
async def create(
    session: CommandSession,
    account: AccountId,
    *,
    kind: Annotated[str, typer.Option(help="official or qr.")],
    phone: Annotated[str, typer.Option(help="The number in digits, with its country code.")],
    name: Annotated[str | None, typer.Option(help="Name of the channel.", show_default="the number")] = None,
    phone_number_id: Annotated[str | None, typer.Option(help="Official: the number's id on the network.")] = None,
    waba_id: Annotated[str | None, typer.Option(help="Official: the business account's id.")] = None,
    token: Annotated[
        str | None, typer.Option(envvar="GATEPOST_CHANNEL_TOKEN", help="Official: the access token.")
    ] = None,
    app_secret: Annotated[
        str | None, typer.Option(envvar="GATEPOST_CHANNEL_APP_SECRET", help="Official: signs the network's callbacks.")
    ] = None,
    verify_token: Annotated[str | None, typer.Option(help="Official: generated when none is given.")] = None,
    base_url: Annotated[str | None, typer.Option(help="Official: another address of the network.")] = None,
    version: Annotated[str | None, typer.Option(help="Official: another version of the Graph API.")] = None,
    throughput: Throughput = None,
    tier: Tier = None,
    pair_seconds: PairSeconds = None,
    pair_burst: PairBurst = None,
    window: Window = None,
) -> CommandResult:
    """Create a channel: an official number, or one that a phone is linked to by QR code."""
    from gatepost.admin import channels
    from gatepost.cli.arguments import read_id
    from gatepost.model.errors import invalid_field
    from gatepost.networks.kinds import CLOUD, NETWORK_KINDS, QR

    account_id = read_id("acc", account)
    pair = {"pair_seconds": pair_seconds, "pair_burst": pair_burst}
    limits = _given({"throughput": throughput, "tier": tier, "window": window, **pair})
    official = {
        "phone_number_id": phone_number_id,
        "token": token,
        "app_secret": app_secret,
        "waba_id": waba_id,
        "verify_token": verify_token,
        "base_url": base_url,
        "version": version,
    }
    shared: dict[str, Any] = {"phone": phone, "name": name or phone, "now": session.now}
    if kind == CLOUD.name:
        return await _create_official(session, account_id, official, limits, shared)
    if kind != QR.name:
        raise invalid_field("kind", f"must be one of: {', '.join(NETWORK_KINDS)}")
    for field in _given(official):
        raise invalid_field(field, "belongs to official channels only")
    pace = session.settings.pace
    made = await channels.create_qr(
        session.db, account_id, limits={"throughput": pace.qr_throughput, **limits}, **shared
    )
    return _made(made, {})


@command(group, "list")
async def list_(
    session: CommandSession, account: Annotated[str | None, typer.Option(help="Only of this account: acc_…")] = None
) -> CommandResult:
    """List channels."""
    from gatepost.admin import accounts
    from gatepost.cli.arguments import read_id
    from gatepost.cli.views import channel_view
    from gatepost.store.channels import list_channels

    account_id = read_id("acc", account) if account else None
    if account_id:
        await accounts.get_account(session.db, account_id)
    views = [channel_view(channel) for channel in await list_channels(session.db, account_id)]
    return CommandResult(views, ("id", "account", "kind", "phone", "name", "connection"))


@command(group, "show")
async def show(session: CommandSession, channel: ChannelId) -> CommandResult:
    """Show a channel, without its secrets."""
    from gatepost.cli.views import channel_view

    return CommandResult(channel_view(await find_channel(session, channel)))


@command(group, "limits")
async def limits(
    session: CommandSession,
    channel: ChannelId,
    *,
    throughput: Throughput = None,
    tier: Tier = None,
    pair_seconds: PairSeconds = None,
    pair_burst: PairBurst = None,
    window: Window = None,
) -> CommandResult:
    """Set some of a number's limits, as the network raises them."""
    from gatepost.admin import channels
    from gatepost.cli.views import channel_view

    found = await find_channel(session, channel)
    pair = {"pair_seconds": pair_seconds, "pair_burst": pair_burst}
    given = _given({"throughput": throughput, "tier": tier, "window": window, **pair})
    return CommandResult(channel_view(await channels.change_limits(session.db, found.account_id, found.id, given)))


@command(group, "network")
async def network(
    session: CommandSession,
    channel: ChannelId,
    *,
    phone_number_id: Annotated[str | None, typer.Option(help="The number's id on the network.")] = None,
    waba_id: Annotated[str | None, typer.Option(help="The business account's id; templates need it.")] = None,
    base_url: Annotated[str | None, typer.Option(help="Another address of the network.")] = None,
    version: Annotated[str | None, typer.Option(help="Another version of the Graph API.")] = None,
) -> CommandResult:
    """Set where an official number is on its network."""
    from gatepost.admin import channels
    from gatepost.cli.views import channel_view

    found = await find_channel(session, channel)
    place = {"base_url": base_url, "version": version}
    given = _given({"phone_number_id": phone_number_id, "waba_id": waba_id, **place})
    return CommandResult(channel_view(await channels.change_number(session.db, found.account_id, found.id, given)))


@command(group, "delete")
async def delete(
    session: CommandSession, channel: ChannelId, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False
) -> CommandResult:
    """Remove a channel with its keys, endpoints, contacts and waiting messages."""
    from gatepost.admin import channels
    from gatepost.cli.views import channel_view
    from gatepost.store.devices import forget_devices

    found = await find_channel(session, channel)
    if not yes:
        confirm(f"Remove the channel {found.name} with all that waits in it?")
    await channels.delete_channel(session.db, found.account_id, found.id)
    await forget_devices(session.db, session.settings.qr.device_store)
    return CommandResult({**channel_view(found), "deleted": True})


async def find_channel(session: CommandSession, channel: str) -> "ChannelConfig":
    """Return a channel of any account."""
    from gatepost.cli.arguments import read_id
    from gatepost.model.errors import NotFound
    from gatepost.store.channels import get_config

    found = await get_config(session.db, read_id("ch", channel))
    if found is None:
        raise NotFound(f"There is no channel {channel}.")
    return found


async def _create_official(
    session: CommandSession, account_id: "UUID", options: dict[str, Any], limits: dict[str, Any], shared: dict[str, Any]
) -> CommandResult:
    from gatepost.admin import channels
    from gatepost.admin.channels import CloudNumber
    from gatepost.model import ids
    from gatepost.model.errors import invalid_field

    for field in ("phone_number_id", "token", "app_secret"):
        if options[field] is None:
            raise invalid_field(field, f"is needed for an official channel; give it with --{field.replace('_', '-')}")
    number = CloudNumber(options["phone_number_id"], options["waba_id"], options["base_url"], options["version"])
    kept = {name: options[name] for name in ("token", "app_secret", "verify_token")}
    made = await channels.create_official(
        session.db, session.vault, account_id, number=number, limits=limits, **kept, **shared
    )
    secrets = channels.open_channel_secrets(session.vault, made)
    url = f"{gateway_url(session.settings)}/callbacks/cloud/{ids.format_id('ch', made.id)}"
    return _made(made, {"callback_url": url, "verify_token": secrets.verify_token if secrets else None})


def gateway_url(settings: "Settings") -> str:
    """Return the public URL of the gateway: from the settings, else that of the gateway running here."""
    from gatepost.running_address import noted_address

    return settings.server.public_url.rstrip("/") or noted_address(settings.data_folder) or settings.public_url


def official_limits(settings: "Settings") -> dict[str, float]:
    """Return what the settings say about a new official number."""
    pace = settings.pace
    return {
        "throughput": pace.throughput,
        "tier": pace.tier,
        "pair_seconds": pace.pair_seconds,
        "pair_burst": pace.pair_burst,
    }


def _made(channel: "ChannelConfig", more: dict[str, Any]) -> CommandResult:
    from gatepost.cli.views import channel_view

    view = {**channel_view(channel), **more}
    note = f"Next: gatepost key create {view['id']} NAME"
    if more:
        note = f"Enter the callback URL and the verify token in the network's app settings.\n{note}"
    return CommandResult(view, note=note)


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
