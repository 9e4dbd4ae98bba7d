"""`gatepost webhook`: where a channel's events go."""

from typing import TYPE_CHECKING, Annotated

import typer

from gatepost.cli.channels import find_channel
from gatepost.cli.command import Session, command, new_group
from gatepost.cli.output import Answer

if TYPE_CHECKING:
    from gatepost.store.endpoints import Endpoint

group = new_group("Webhooks: where a channel's events go.")

ChannelId = Annotated[str, typer.Argument(metavar="CHANNEL", help="Id of the channel: ch_…")]
EndpointId = Annotated[str, typer.Argument(metavar="WEBHOOK", help="Id of the webhook: we_…")]
Events = Annotated[str | None, typer.Option(help="Event types with commas.", show_default="all")]
Header = Annotated[list[str] | None, typer.Option(help="A header to send along: 'Name: value'. May be repeated.")]


@command(group, "create")
async def create(
    session: Session,
    channel: ChannelId,
    url: Annotated[str, typer.Argument(help="Address that events are posted to.")],
    events: Events = None,
    header: Header = None,
) -> Answer:
    """Make a webhook that gets events from now on."""
    from gatepost.admin import endpoints
    from gatepost.cli.reading import read_headers, read_words
    from gatepost.cli.views import endpoint_view
    from gatepost.model.event import TYPES

    found = await find_channel(session, channel)
    _check_allowed(session, url)
    made = await endpoints.create_endpoint(
        session.db,
        session.vault,
        found.id,
        url,
        events=TYPES if events is None else read_words(events),
        headers=read_headers(header or []),
        now=session.now,
    )
    view = {**endpoint_view(made.endpoint), "secret": made.secret}
    return Answer(view, note="The secret verifies the signature of each delivery.")


@command(group, "list")
async def list_(session: Session, channel: ChannelId) -> Answer:
    """List the webhooks of a channel."""
    from gatepost.admin import endpoints
    from gatepost.cli.views import endpoint_view

    found = await find_channel(session, channel)
    views = [endpoint_view(endpoint) for endpoint in await endpoints.list_endpoints(session.db, found.id)]
    return Answer(views, ("id", "url", "state", "reason", "events"))


@command(group, "show")
async def show(
    session: Session,
    webhook: EndpointId,
    secret: Annotated[bool, typer.Option("--secret", help="Show the signing secret too.")] = False,
) -> Answer:
    """Show a webhook."""
    from gatepost.admin import endpoints
    from gatepost.cli.views import endpoint_view

    found = await _find(session, webhook)
    view = endpoint_view(found)
    if secret:
        view["secret"] = endpoints.signing_secrets(session.vault, found)[0].secret
    return Answer(view)


@command(group, "change")
async def change(
    session: Session,
    webhook: EndpointId,
    *,
    url: Annotated[str | None, typer.Option(help="Another address.")] = None,
    events: Annotated[str | None, typer.Option(help="Event types with commas; all others are off.")] = None,
    header: Header = None,
    no_headers: Annotated[bool, typer.Option("--no-headers", help="Send no headers along.")] = False,
    state: Annotated[str | None, typer.Option(help="active or disabled.")] = None,
) -> Answer:
    """Change a webhook; what is not given stays."""
    from gatepost.admin import endpoints
    from gatepost.cli.reading import read_headers, read_words
    from gatepost.cli.views import endpoint_view

    found = await _find(session, webhook)
    if url is not None:
        _check_allowed(session, url)
    changed = await endpoints.change_endpoint(
        session.db,
        found.channel_id,
        found.id,
        url=url,
        events=None if events is None else read_words(events),
        headers=read_headers(header or []) if header or no_headers else None,
        state=state,
        now=session.now,
    )
    return Answer(endpoint_view(changed))


@command(group, "rotate-secret")
async def rotate_secret(
    session: Session,
    webhook: EndpointId,
    overlap: Annotated[str, typer.Option(help="How long the old secret signs too: 0, 30m, 24h, 7d.")] = "24h",
) -> Answer:
    """Make a new signing secret; for a while deliveries carry both signatures."""
    from gatepost.admin import endpoints
    from gatepost.cli.reading import read_duration
    from gatepost.cli.views import endpoint_view

    found, stretch = await _find(session, webhook), read_duration(overlap, "overlap")
    made = await endpoints.rotate_secret(
        session.db, session.vault, found.channel_id, found.id, overlap=stretch, now=session.now
    )
    return Answer({**endpoint_view(made.endpoint), "secret": made.secret})


@command(group, "delete")
async def delete(session: Session, webhook: EndpointId) -> Answer:
    """Remove a webhook; what was delivered stays in the log."""
    from gatepost.admin import endpoints
    from gatepost.cli.views import endpoint_view

    found = await _find(session, webhook)
    await endpoints.delete_endpoint(session.db, found.channel_id, found.id)
    return Answer({**endpoint_view(found), "deleted": True})


@command(group, "attempts")
async def attempts(
    session: Session,
    webhook: EndpointId,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")] = 20,
) -> Answer:
    """List the latest tries to deliver, the newest event first."""
    from gatepost.cli.views import attempt_view
    from gatepost.store.attempts import list_attempts

    found = await _find(session, webhook)
    views = [attempt_view(one) for one in await list_attempts(session.db, found.channel_id, found.id, None, limit)]
    return Answer(views, ("event", "number", "at", "status", "latency_ms", "error"))


def _check_allowed(session: Session, url: str) -> None:
    """Refuses at once what would be refused at every delivery."""
    from gatepost.model.errors import invalid_field
    from gatepost.webhooks.guard import Guard, UrlRefused

    try:
        Guard(session.settings.webhooks.allow).check_shape(url)
    except UrlRefused as refusal:
        raise invalid_field("url", refusal.reason, "forbidden_url") from None


async def _find(session: Session, webhook: str) -> "Endpoint":
    """A webhook of whatever channel: the operator may reach all."""
    from gatepost.cli.reading import read_id
    from gatepost.model.errors import NotFound
    from gatepost.store.endpoints import find_endpoint

    found = await find_endpoint(session.db, read_id("we", webhook))
    if found is None:
        raise NotFound(f"There is no webhook endpoint {webhook}.")
    return found
