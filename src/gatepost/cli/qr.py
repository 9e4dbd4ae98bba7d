"""`gatepost qr`: the engines that link phones."""

from gatepost.api.contract.operations import InstalledEngine
from gatepost.cli.options import local_command, new_group
from gatepost.cli.output import CommandResult
from gatepost.networks.qr.phone.by_baileys import install as baileys

group = new_group()
_NEXT = 'Choose it with the setting qr.engine = "baileys" (GATEPOST_QR__ENGINE=baileys), then restart the gateway.'


@local_command(group, "install")
def install() -> CommandResult:
    """Install the engine baileys from npm, in the versions that this release was tested with."""
    installed = (baileys.home() / "node_modules").is_dir()
    folder = baileys.install()
    return CommandResult(InstalledEngine("baileys", str(folder), fetched=not installed), note=_NEXT)
