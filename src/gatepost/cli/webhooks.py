"""`gatepost webhook`: the webhook endpoints of a channel."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from gatepost.cli.channels import find_channel
from gatepost.cli.command import CommandSession, command, new_group
from gatepost.cli.output import CommandResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatepost.model.endpoint import DeliveryOptions
    from gatepost.store.endpoints import Endpoint

group = new_group("Webhooks: where a channel's events go.")

ChannelId = Annotated[str, typer.Argument(metavar="CHANNEL", help="Id of the channel: ch_…")]
EndpointId = Annotated[str, typer.Argument(metavar="WEBHOOK", help="Id of the webhook: we_…")]
Events = Annotated[str | None, typer.Option(help="Event types, separated by commas.", show_default="all")]
Batch = Annotated[int | None, typer.Option(help="Most events in one delivery, up to 100; 1: no batches.")]
BatchWait = Annotated[float | None, typer.Option(help="Seconds that a batch gathers, up to 1.")]
RateLimit = Annotated[int | None, typer.Option(help="Most deliveries a second, up to 1000; 0: no limit.")]
Payload = Annotated[int | None, typer.Option("--payload-version", help="Version of the payload.")]
Header = Annotated[list[str] | None, typer.Option(help="A header to send along: 'Name: value'. May be repeated.")]


@command(group, "create")
async def create(
    session: CommandSession,
    channel: ChannelId,
    url: Annotated[str, typer.Argument(help="Address that events are posted to.")],
    events: Events = None,
    header: Header = None,
    *,
    operational: Annotated[
        bool, typer.Option("--operational", help="Also tell how the channel's webhooks fare.")
    ] = False,
    ordered: Annotated[bool, typer.Option("--ordered", help="One event after the other in each conversation.")] = False,
    batch: Batch = None,
    batch_wait: BatchWait = None,
    rate_limit: RateLimit = None,
    payload: Payload = None,
    signing: Annotated[str, typer.Option(help="v1 (shared secret) or v1a (public key).")] = "v1",
) -> CommandResult:
    """Create a webhook that receives events from now on."""
    from gatepost.admin import endpoints
    from gatepost.cli.arguments import read_headers, read_list
    from gatepost.cli.views import endpoint_view, secrets_view
    from gatepost.model.endpoint import DEFAULT_OPTIONS
    from gatepost.model.event import OPERATIONAL, TYPES

    found = await find_channel(session, channel)
    _check_allowed(session, url)
    made = await endpoints.create_endpoint(
        session.db,
        session.vault,
        found.id,
        url,
        events=(*(TYPES if events is None else read_list(events)), *((OPERATIONAL,) if operational else ())),
        headers=read_headers(header or []),
        options=_options(DEFAULT_OPTIONS, ordered, batch, batch_wait, rate_limit, payload),
        signing=signing,
        now=session.now,
    )
    kept = endpoints.signing_secrets(session.vault, made.endpoint)
    view = {**endpoint_view(made.endpoint), **secrets_view(kept, session.now), "secret": made.secret}
    return CommandResult(view, note="The secret verifies the signature of each delivery.")


@command(group, "list")
async def list_(session: CommandSession, channel: ChannelId) -> CommandResult:
    """List the webhooks of a channel."""
    from gatepost.cli.views import endpoint_view
    from gatepost.store import endpoints

    found = await find_channel(session, channel)
    views = [endpoint_view(endpoint) for endpoint in await endpoints.list_endpoints(session.db, found.id)]
    return CommandResult(views, ("id", "url", "state", "reason", "events"))


@command(group, "show")
async def show(
    session: CommandSession,
    webhook: EndpointId,
    secret: Annotated[bool, typer.Option("--secret", help="Show the signing secret too.")] = False,
) -> CommandResult:
    """Show a webhook."""
    from gatepost.admin import endpoints
    from gatepost.cli.views import endpoint_view, secrets_view

    found = await find_webhook(session, webhook)
    kept = endpoints.signing_secrets(session.vault, found)
    view = {**endpoint_view(found), **secrets_view(kept, session.now)}
    return CommandResult({**view, "secret": kept[0].shown} if secret else view)


@command(group, "change")
async def change(
    session: CommandSession,
    webhook: EndpointId,
    *,
    url: Annotated[str | None, typer.Option(help="Another address.")] = None,
    events: Annotated[str | None, typer.Option(help="Event types, separated by commas; all others are off.")] = None,
    header: Header = None,
    no_headers: Annotated[bool, typer.Option("--no-headers", help="Send no headers along.")] = False,
    state: Annotated[str | None, typer.Option(help="active or disabled.")] = None,
    operational: Annotated[bool | None, typer.Option(help="Tell how the channel's webhooks fare.")] = None,
    ordered: Annotated[bool | None, typer.Option(help="One event after the other in each conversation.")] = None,
    batch: Batch = None,
    batch_wait: BatchWait = None,
    rate_limit: RateLimit = None,
    payload: Payload = None,
) -> CommandResult:
    """Change a webhook; omitted options keep their value."""
    from gatepost.admin import endpoints
    from gatepost.cli.arguments import read_headers
    from gatepost.cli.views import endpoint_view
    from gatepost.store.partitions import make_partitions

    found = await find_webhook(session, webhook)
    if url is not None:
        _check_allowed(session, url)
    if state is not None:  # an event will tell of it, and no gateway need have run today
        await make_partitions(session.db, session.now, session.settings.retention.partition_days)
    changed = await endpoints.change_endpoint(
        session.db,
        session.vault,
        found.channel_id,
        found.id,
        url=url,
        events=_switches(found.events, events, operational),
        headers=read_headers(header or []) if header or no_headers else None,
        options=_options(found.options, ordered, batch, batch_wait, rate_limit, payload),
        state=state,
        now=session.now,
    )
    return CommandResult(endpoint_view(changed))


@command(group, "delete")
async def delete(session: CommandSession, webhook: EndpointId) -> CommandResult:
    """Delete a webhook; its log is kept."""
    from gatepost.admin import endpoints
    from gatepost.cli.views import endpoint_view

    found = await find_webhook(session, webhook)
    await endpoints.delete_endpoint(session.db, found.channel_id, found.id)
    return CommandResult({**endpoint_view(found), "deleted": True})


@command(group, "attempts")
async def attempts(
    session: CommandSession,
    webhook: EndpointId,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")] = 20,
) -> CommandResult:
    """List the latest delivery attempts, newest event first."""
    from gatepost.cli.views import attempt_view
    from gatepost.store.deliveries.log import list_attempts

    found = await find_webhook(session, webhook)
    views = [attempt_view(one) for one in await list_attempts(session.db, found.channel_id, found.id, None, limit)]
    return CommandResult(views, ("event", "number", "at", "status", "latency_ms", "error"))


def _switches(before: "Sequence[str]", events: str | None, operational: bool | None) -> "Sequence[str] | None":
    """Return the switches that are to be on; None: as they are."""
    from gatepost.cli.arguments import read_list
    from gatepost.model.event import OPERATIONAL

    if events is None and operational is None:
        return None
    on = set(before if events is None else read_list(events)) - {OPERATIONAL}
    wanted = OPERATIONAL in before if operational is None else operational
    return (*on, *((OPERATIONAL,) if wanted else ()))


def _options(
    before: "DeliveryOptions",
    ordered: bool | None,
    batch: int | None,
    batch_wait: float | None,
    rate_limit: int | None,
    payload: int | None,
) -> "DeliveryOptions":
    """Return the delivery options; omitted ones keep their value. A batch waits for one second by default."""
    import msgspec

    from gatepost.model.endpoint import BATCH_WAIT_MAX

    if batch is not None and batch_wait is None:
        batch_wait = 0.0 if batch == 1 else before.batch_wait or BATCH_WAIT_MAX
    given = {"ordered": ordered, "batch": batch, "batch_wait": batch_wait, "version": payload}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if rate_limit is not None:
        changes["rate"] = rate_limit or None
    return msgspec.structs.replace(before, **changes)


def _check_allowed(session: CommandSession, url: str) -> None:
    """Reject a URL that every delivery would reject."""
    from gatepost.model.errors import invalid_field
    from gatepost.webhooks.guard import Guard, UrlRefused

    try:
        Guard(session.settings.webhooks.allow).check_shape(url)
    except UrlRefused as refusal:
        raise invalid_field("url", refusal.reason, "forbidden_url") from None


async def find_webhook(session: CommandSession, webhook: str) -> "Endpoint":
    """Return a webhook of whatever channel: the operator may reach all."""
    from gatepost.cli.arguments import read_id
    from gatepost.model.errors import NotFound
    from gatepost.store.endpoints import find_endpoint

    found = await find_endpoint(session.db, read_id("we", webhook))
    if found is None:
        raise NotFound(f"There is no webhook endpoint {webhook}.")
    return found
