"""`gatepost plan`: the plans of the settings."""

from gatepost.api.contract.account import Plan
from gatepost.cli.command import command, new_group
from gatepost.cli.output import CommandResult
from gatepost.settings import Settings

group = new_group()


@command(group, "list")
def list_(settings: Settings) -> CommandResult:
    """List the plans of the settings."""
    plans = [Plan.of(name, plan) for name, plan in settings.plans.items()]
    return CommandResult(plans, ("id", "title", "messages_per_month", "storage_bytes", "channels"))
