"""`gatepost qr`: the engines that link phones."""

from typing import Annotated

import typer

from gatepost.cli.command import new_group
from gatepost.cli.output import CommandResult, failing, print_result

group = new_group("Engines that link phones.")
_NEXT = 'Choose it with the setting qr.engine = "baileys" (GATEPOST_QR__ENGINE=baileys), then restart the gateway.'


@group.command("install")
def install(as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False) -> None:
    """Install the engine baileys from npm, in the versions that this release was tested with."""
    from gatepost.networks.qr.phone.by_baileys.install import home, install

    with failing(as_json=as_json, logs=False):
        there = (home() / "node_modules").is_dir()
        folder = install()
        found = {"engine": "baileys", "folder": str(folder), "fetched": not there}
        print_result(CommandResult(found, note=_NEXT), as_json=as_json)
