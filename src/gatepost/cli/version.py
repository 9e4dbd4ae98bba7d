"""`gatepost version`."""

from importlib.metadata import version as installed_version

import typer

from gatepost.cli.options import new_group

group = new_group()


@group.command("version")
def version() -> None:
    """Print the version."""
    typer.echo(f"gatepost {installed_version('gatepost')}")
