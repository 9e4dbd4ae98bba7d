"""All commands, put together."""

import typer

from gatepost.cli import (
    accounts,
    channels,
    deliveries,
    doctor,
    exporting,
    keys,
    links,
    plans,
    qr,
    sandbox,
    secret_key,
    sending,
    tail,
    up,
    users,
    webhook_signing,
    webhooks,
)
from gatepost.cli import serve as cli_serve
from gatepost.cli.command import new_group

app = new_group("A messaging gateway you run yourself.")
cli_serve.register(app)
app.add_typer(sandbox.group, name="sandbox")
up.register(app)
sending.register(app)
tail.register(app)
exporting.register(app)
doctor.register(app)
app.add_typer(accounts.group, name="account")
app.add_typer(users.group, name="user")
app.add_typer(plans.group, name="plan")
links.register(channels.group)
app.add_typer(channels.group, name="channel")
app.add_typer(keys.group, name="key")
app.add_typer(qr.group, name="qr")
app.add_typer(secret_key.group, name="secret-key")
webhook_signing.register(webhooks.group)
deliveries.register(webhooks.group)
app.add_typer(webhooks.group, name="webhook")


@app.command("version")
def version() -> None:
    """Show the version."""
    from importlib.metadata import version as installed

    typer.echo(f"gatepost {installed('gatepost')}")
