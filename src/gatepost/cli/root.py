"""The program with all its commands."""

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
cli_serve.add_commands(app)
app.add_typer(sandbox.group, name="sandbox")
up.add_commands(app)
sending.add_commands(app)
tail.add_commands(app)
exporting.add_commands(app)
doctor.add_commands(app)
app.add_typer(accounts.group, name="account")
app.add_typer(users.group, name="user")
app.add_typer(plans.group, name="plan")
links.add_commands(channels.group)
app.add_typer(channels.group, name="channel")
app.add_typer(keys.group, name="key")
app.add_typer(qr.group, name="qr")
app.add_typer(secret_key.group, name="secret-key")
webhook_signing.add_commands(webhooks.group)
deliveries.add_commands(webhooks.group)
app.add_typer(webhooks.group, name="webhook")


@app.command("version")
def version() -> None:
    """Show the version."""
    from importlib.metadata import version as installed

    typer.echo(f"gatepost {installed('gatepost')}")
