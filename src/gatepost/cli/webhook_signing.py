"""`gatepost webhook rotate-secret`, `test` and `verify`: the secrets of an endpoint, and testing them."""

import sys
from getpass import getpass
from pathlib import Path
from typing import Annotated, Any

import typer

from gatepost.admin import endpoints as admin
from gatepost.admin.headers import seal_old_headers
from gatepost.admin.signing import live_secrets
from gatepost.api.contract.operations import SealedHeaders, TestedEndpoint, VerifiedDelivery
from gatepost.cli.arguments import read_duration, read_headers
from gatepost.cli.command import CommandSession, command
from gatepost.cli.options import local_command
from gatepost.cli.output import CommandResult
from gatepost.cli.records import WebhookArgument
from gatepost.cli.webhooks import allowed_hosts, group, webhook_view
from gatepost.clock import SystemClock
from gatepost.model.errors import invalid_field
from gatepost.model.signing import decode_check, decode_secret
from gatepost.store.channels import get_config
from gatepost.store.endpoints import Endpoint
from gatepost.webhooks.endpoint_test import EndpointTest, choose_type, make_test_body, post_test
from gatepost.webhooks.guard import Guard
from gatepost.webhooks.http_post import Poster
from gatepost.webhooks.resolver import Resolver
from gatepost.webhooks.verification import VerificationKey
from gatepost.webhooks.verification import verify as verify_delivery

_ANY = "The secret (whsec_…) or public key (whpk_…). May be repeated. - asks for it, or reads it from standard input."
_VARIABLE = "GATEPOST_WEBHOOK_SECRET"  # unlike an option, it is not in the list of processes


_COLUMNS = (
    "delivered",
    "at",
    "status",
    "latency_ms",
    "error",
    "url",
    "headers",
    "body",
    "answer_headers",
    "answer_body",
)


@command(group, "rotate-secret")
async def rotate_secret(
    session: CommandSession,
    webhook: WebhookArgument,
    overlap: Annotated[str, typer.Option(help="How long the old secrets sign too: 0, 30m, 24h, 7d.")] = "24h",
    signing: Annotated[
        str | None,
        typer.Option(help="v1 (shared secret) or v1a (public key).", show_default="that of the old secret"),
    ] = None,
) -> CommandResult:
    """Create a new signing secret. The old ones also sign until the overlap is over."""
    duration = read_duration(overlap, "overlap")
    new = await admin.rotate_secret(
        session.db, session.vault, webhook.channel_id, webhook.id, overlap=duration, signing=signing, now=session.now
    )
    return CommandResult(webhook_view(session, new.endpoint, secret=new.secret))


@command(group, "seal-headers")
async def seal_headers(session: CommandSession) -> CommandResult:
    """Encrypt headers that an older version stored in plain text. Run it when all nodes are upgraded."""
    databases = session.all_databases().values()
    return CommandResult(SealedHeaders(sum([await seal_old_headers(db, session.vault) for db in databases])))


@command(group, "test")
async def try_(
    session: CommandSession,
    webhook: WebhookArgument,
    type_: Annotated[
        str | None, typer.Option("--type", help="Event type.", show_default="the first that the webhook gets")
    ] = None,
) -> CommandResult:
    """Send a signed test event now, whatever the webhook's state, and show the response.

    The exit code is 1 if the endpoint did not accept it.
    """
    tested = TestedEndpoint.with_parts(await _try(session, webhook, type_))
    return CommandResult(tested, _COLUMNS, failed=not tested.delivered)


async def _try(session: CommandSession, endpoint: Endpoint, type_: str | None) -> EndpointTest:
    config, now, limits = await get_config(session.db, endpoint.channel_id), session.now, session.settings.webhooks
    assert config is not None  # an endpoint is deleted with its channel
    live = live_secrets(admin.signing_secrets(session.vault, endpoint), now)
    keys = [decode_secret(one.secret) for one in live]
    body = make_test_body(choose_type(type_, endpoint.events), config.ref, endpoint.options, now)
    resolver = Resolver()
    guard = Guard(allowed_hosts(session.settings), resolver)
    poster = Poster(guard, deadline=limits.timeout, connect_deadline=limits.connect_timeout)
    try:
        headers = admin.headers_of(session.vault, endpoint)
        return await post_test(poster, config.id, endpoint.url, headers, keys, body, now)
    finally:
        await poster.close()
        await resolver.close()


@local_command(group, "verify")
def verify(
    file: Annotated[str, typer.Argument(help="File with the body as it was received; - for standard input.")] = "-",
    *,
    secret: Annotated[list[str], typer.Option(help=_ANY, envvar=_VARIABLE)],
    header: Annotated[list[str], typer.Option(help="A header as it was received: 'Name: value'. May be repeated.")],
) -> CommandResult:
    """Verify a delivery. The exit code is 1 if it is not genuine. Needs no gateway."""
    keys = [VerificationKey(_read_secret(_ask(file) if one == "-" else one)) for one in secret]
    body = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    result = verify_delivery(keys, read_headers(header), body, SystemClock().now())
    return CommandResult(VerifiedDelivery.of(result), failed=not result.valid)


def _ask(file: str) -> str:
    """Read the secret from the terminal without echo, or from standard input."""
    if sys.stdin.isatty():
        return getpass("Secret: ")
    if file == "-":
        raise invalid_field(
            "secret", f"cannot be read from standard input, which has the body; name a file, or set {_VARIABLE}"
        )
    return sys.stdin.readline().strip()


def _read_secret(written: str) -> Any:
    try:
        return decode_check(written)
    except ValueError as error:
        raise invalid_field("secret", f"{str(error)[:1].lower()}{str(error)[1:].rstrip('.')}") from None
