"""`gatepost webhook`: the webhook endpoints of a channel."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

import msgspec
import typer

from gatepost.admin import demo
from gatepost.admin import endpoints as admin
from gatepost.admin.signing import SigningSecret
from gatepost.admin.vault import VaultError
from gatepost.api.contract.operations import ChannelWebhook, EndpointAttempt
from gatepost.cli.arguments import given, read_headers, read_list
from gatepost.cli.command import CommandSession, command, new_group
from gatepost.cli.output import CommandResult
from gatepost.cli.records import ChannelArgument, WebhookArgument
from gatepost.model.endpoint import BATCH_WAIT_MAX, DEFAULT_OPTIONS, DeliveryOptions
from gatepost.model.errors import invalid_field
from gatepost.model.event import TYPES
from gatepost.settings import Settings
from gatepost.store.deliveries.log import list_attempts
from gatepost.store.endpoints import Endpoint, list_endpoints
from gatepost.store.partitions import make_partitions
from gatepost.webhooks.guard import Guard, UrlRefused

group = new_group()

Batch = Annotated[int | None, typer.Option(help="Maximum number of events in one delivery, 1 to 100; 1: no batches.")]
BatchWait = Annotated[float | None, typer.Option(help="Seconds for which events are gathered into a batch, 0 to 1.")]
RateLimit = Annotated[int | None, typer.Option(help="Maximum number of deliveries per second, 1 to 1000; 0: no limit.")]
Payload = Annotated[int | None, typer.Option("--payload-version", help="Version of the payload.")]
Header = Annotated[list[str] | None, typer.Option(help="Header of each delivery: 'Name: value'. May be repeated.")]
_ORDERED = "Deliver the events of a conversation one after the other."


@command(group, "create")
async def create(
    session: CommandSession,
    channel: ChannelArgument,
    url: Annotated[str, typer.Argument(help="URL that events are posted to.")],
    events: Annotated[
        str | None, typer.Option(help="Event types, separated by commas.", show_default="all but system_notification")
    ] = None,
    header: Header = None,
    *,
    ordered: Annotated[bool, typer.Option("--ordered", help=_ORDERED)] = False,
    batch: Batch = None,
    batch_wait: BatchWait = None,
    rate_limit: RateLimit = None,
    payload: Payload = None,
    signing: Annotated[str, typer.Option(help="v1 (shared secret) or v1a (public key).")] = "v1",
) -> CommandResult:
    """Create a webhook. It gets events from now on."""
    _check_allowed(session, url)
    new = await admin.create_endpoint(
        session.db,
        session.vault,
        channel.id,
        url,
        events=TYPES if events is None else read_list(events),
        headers=read_headers(header or []),
        options=_options(DEFAULT_OPTIONS, ordered, batch, batch_wait, rate_limit, payload),
        signing=signing,
        now=session.now,
    )
    note = "Verify the signature of each delivery with the secret."
    return CommandResult(webhook_view(session, new.endpoint, secret=new.secret), note=note)


@command(group, "list")
async def list_(session: CommandSession, channel: ChannelArgument) -> CommandResult:
    """List the webhooks of a channel."""
    rows = await list_endpoints(session.db, channel.id)
    columns = ("id", "url", "state", "reason", ("events", _enabled_events))
    return CommandResult([webhook_view(session, row) for row in rows], columns)


@command(group, "show")
async def show(
    session: CommandSession,
    webhook: WebhookArgument,
    secret: Annotated[bool, typer.Option("--secret", help="Show the signing secret too.")] = False,
) -> CommandResult:
    """Show a webhook."""
    more = {"secret": admin.signing_secrets(session.vault, webhook)[0].shown} if secret else {}
    return CommandResult(webhook_view(session, webhook, **more))


@command(group, "change")
async def change(
    session: CommandSession,
    webhook: WebhookArgument,
    *,
    url: Annotated[str | None, typer.Option(help="URL that events are posted to.")] = None,
    events: Annotated[
        str | None, typer.Option(help="Event types, separated by commas. All others are switched off.")
    ] = None,
    header: Header = None,
    no_headers: Annotated[bool, typer.Option("--no-headers", help="Remove all headers.")] = False,
    state: Annotated[str | None, typer.Option(help="active or disabled.")] = None,
    ordered: Annotated[bool | None, typer.Option(help=_ORDERED)] = None,
    batch: Batch = None,
    batch_wait: BatchWait = None,
    rate_limit: RateLimit = None,
    payload: Payload = None,
) -> CommandResult:
    """Change a webhook. Omitted options keep their value; the given headers replace all headers."""
    if url is not None:
        _check_allowed(session, url)
    if state is not None:  # the change emits an event, and no gateway may have run today
        await make_partitions(session.db, session.now, session.settings.retention.partition_days)
    changed = await admin.change_endpoint(
        session.db,
        session.vault,
        webhook.channel_id,
        webhook.id,
        url=url,
        events=None if events is None else read_list(events),
        headers=read_headers(header or []) if header or no_headers else None,
        options=_options(webhook.options, ordered, batch, batch_wait, rate_limit, payload),
        state=state,
        before=webhook,
        now=session.now,
    )
    return CommandResult(webhook_view(session, changed))


@command(group, "delete")
async def delete(session: CommandSession, webhook: WebhookArgument) -> CommandResult:
    """Delete a webhook. The log of its deliveries is kept."""
    await admin.delete_endpoint(session.db, webhook.channel_id, webhook.id)
    return CommandResult(webhook_view(session, webhook, deleted=True))


@command(group, "attempts")
async def attempts(
    session: CommandSession,
    webhook: WebhookArgument,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of attempts.")] = 20,
) -> CommandResult:
    """List the latest delivery attempts, newest event first."""
    rows = await list_attempts(session.db, webhook.channel_id, webhook.id, None, limit)
    columns = ("event", "number", "at", "status", "latency_ms", "error")
    return CommandResult([EndpointAttempt.with_url(row) for row in rows], columns)


def webhook_view(session: CommandSession, row: Endpoint, **more: Any) -> ChannelWebhook:
    """Return a webhook; one whose secrets cannot be decrypted is shown without them."""
    secrets: Sequence[SigningSecret] = ()
    with suppress(VaultError):
        secrets = admin.signing_secrets(session.vault, row)
    return ChannelWebhook.with_channel(row, secrets, session.now, **more)


def _enabled_events(webhook: dict[str, Any]) -> list[str]:
    return [type_ for type_, on in webhook["events"].items() if on]


def _options(
    before: DeliveryOptions,
    ordered: bool | None,
    batch: int | None,
    batch_wait: float | None,
    rate_limit: int | None,
    payload: int | None,
) -> DeliveryOptions:
    """Return the delivery options after a change. A batch is gathered for one second by default."""
    if batch is not None and batch_wait is None:
        batch_wait = 0.0 if batch == 1 else before.batch_wait or BATCH_WAIT_MAX
    changes = given(ordered=ordered, batch=batch, batch_wait=batch_wait, version=payload)
    if rate_limit is not None:
        changes["rate"] = rate_limit or None
    return msgspec.structs.replace(before, **changes)


def allowed_hosts(settings: Settings) -> list[str]:
    """Return what webhooks may reach that is not public: in a folder of `gatepost up` this machine, as it allows."""
    local = demo.LOOPBACK if demo.read_quickstart(settings.data_folder) else ()
    return [*settings.webhooks.allow, *local]


def _check_allowed(session: CommandSession, url: str) -> None:
    """Reject a URL that every delivery would reject."""
    try:
        Guard(allowed_hosts(session.settings)).check_shape(url)
    except UrlRefused as error:
        raise invalid_field("url", error.reason, "forbidden_url") from None
