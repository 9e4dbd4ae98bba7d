"""`gatepost webhook rotate-secret`, `test` and `verify`: the secrets of an endpoint, and testing them."""

import sys
from getpass import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gatepost.cli.command import CommandSession, command, with_options
from gatepost.cli.output import CommandResult, print_result
from gatepost.cli.webhooks import EndpointId, find_webhook

if TYPE_CHECKING:
    from gatepost.store.endpoints import Endpoint
    from gatepost.webhooks.endpoint_test import EndpointTest

_ANY = "The secret (whsec_…) or public key (whpk_…). May be repeated. - asks for it, or reads a line of standard input."
_VARIABLE = "GATEPOST_WEBHOOK_SECRET"  # unlike an option it is not seen in the list of processes


async def rotate_secret(
    session: CommandSession,
    webhook: EndpointId,
    overlap: Annotated[str, typer.Option(help="How long the old secrets sign too: 0, 30m, 24h, 7d.")] = "24h",
    signing: Annotated[
        str | None, typer.Option(help="Kind of the new one: v1 or v1a.", show_default="as it was")
    ] = None,
) -> CommandResult:
    """Create a new signing secret; for a while deliveries are signed with the old ones too."""
    from gatepost.admin import endpoints
    from gatepost.cli.arguments import read_duration
    from gatepost.cli.views import endpoint_view, secrets_view

    found, duration = await find_webhook(session, webhook), read_duration(overlap, "overlap")
    made = await endpoints.rotate_secret(
        session.db, session.vault, found.channel_id, found.id, overlap=duration, signing=signing, now=session.now
    )
    kept = endpoints.signing_secrets(session.vault, made.endpoint)
    return CommandResult({**endpoint_view(made.endpoint), **secrets_view(kept, session.now), "secret": made.secret})


async def seal_headers(session: CommandSession) -> CommandResult:
    """Encrypt headers of webhooks that an older version stored in plain text. Run it when every node is upgraded."""
    from gatepost.admin.headers import seal_old_headers

    return CommandResult({"sealed": await seal_old_headers(session.db, session.vault)})


async def try_(
    session: CommandSession,
    webhook: EndpointId,
    type_: Annotated[str | None, typer.Option("--type", help="Event type.", show_default="the first it gets")] = None,
) -> CommandResult:
    """Post a signed test event now, whatever the webhook's state, and show the response."""
    from gatepost.cli.views import endpoint_test_view

    return CommandResult(endpoint_test_view(await _try(session, await find_webhook(session, webhook), type_)))


async def _try(session: CommandSession, endpoint: "Endpoint", type_: str | None) -> "EndpointTest":
    from gatepost.admin import endpoints
    from gatepost.admin.signing import live_secrets
    from gatepost.model import ids
    from gatepost.model.event import ChannelRef
    from gatepost.model.signing import decode_secret
    from gatepost.store.channels import get_config
    from gatepost.webhooks.endpoint_test import choose_type, make_test_body, post_test
    from gatepost.webhooks.guard import Guard
    from gatepost.webhooks.http_post import Poster
    from gatepost.webhooks.resolver import Resolver

    config, now, limits = await get_config(session.db, endpoint.channel_id), session.now, session.settings.webhooks
    assert config is not None  # an endpoint goes with its channel
    channel = ChannelRef(ids.format_id("ch", config.id), config.kind, config.phone)
    live = live_secrets(endpoints.signing_secrets(session.vault, endpoint), now)
    keys = [decode_secret(one.secret) for one in live]
    body = make_test_body(choose_type(type_, endpoint.events), channel, endpoint.options, now)
    resolver = Resolver()
    guard = Guard(limits.allow, resolver)
    poster = Poster(guard, deadline=limits.timeout, connect_deadline=limits.connect_timeout)
    try:
        headers = endpoints.headers_of(session.vault, endpoint)
        return await post_test(poster, config.id, endpoint.url, headers, keys, body, now)
    finally:
        await poster.close()
        await resolver.close()


def verify(
    _: None,
    file: Annotated[str, typer.Argument(help="File with the body as it came; - for standard input.")] = "-",
    *,
    secret: Annotated[list[str], typer.Option(help=_ANY, envvar=_VARIABLE)],
    header: Annotated[list[str], typer.Option(help="A header as it came: 'Name: value'. May be repeated.")],
) -> CommandResult:
    """Verify a delivery; the exit code is 1 when it is not genuine. Needs no gateway."""
    from gatepost.cli.arguments import read_headers
    from gatepost.cli.views import verification_view
    from gatepost.clock import SystemClock
    from gatepost.webhooks.verification import VerificationKey
    from gatepost.webhooks.verification import verify as verify_delivery

    keys = [VerificationKey(_read_secret(_ask(file) if one == "-" else one)) for one in secret]
    body = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    return CommandResult(verification_view(verify_delivery(keys, read_headers(header), body, SystemClock().now())))


def _ask(file: str) -> str:
    """Read the secret from the terminal without echo, or from standard input."""
    from gatepost.model.errors import invalid_field

    if sys.stdin.isatty():
        return getpass("Secret: ")
    if file == "-":
        raise invalid_field("secret", f"standard input has the body already; name a file, or set {_VARIABLE}")
    return sys.stdin.readline().strip()


def _read_secret(written: str) -> Any:
    from gatepost.model.errors import invalid_field
    from gatepost.model.signing import decode_check

    try:
        return decode_check(written)
    except ValueError as error:
        raise invalid_field("secret", f"{str(error)[:1].lower()}{str(error)[1:].rstrip('.')}") from None


def _print_verification(_places: Any, arguments: dict[str, Any], as_json: bool) -> None:
    answer = verify(None, **arguments)
    print_result(answer, as_json=as_json)
    if not answer.data["valid"]:
        raise SystemExit(1)


def add_commands(group: typer.Typer) -> None:
    """Add the commands to those of webhooks."""
    command(group, "rotate-secret")(rotate_secret)
    command(group, "seal-headers")(seal_headers)
    command(group, "test")(try_)
    group.command("verify")(with_options(verify, {}, _print_verification, logs=False))
