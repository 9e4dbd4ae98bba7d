"""`gatepost plan`: the plans of the settings."""

from typing import TYPE_CHECKING

from gatepost.cli.command import new_group, settings_command
from gatepost.cli.output import CommandResult

if TYPE_CHECKING:
    from gatepost.settings import Settings

group = new_group("Plans: what an account may send in a month.")


@group.callback()
def about() -> None:
    """Plans: what an account may send in a month."""


@settings_command(group, "list")
def list_(settings: "Settings") -> CommandResult:
    """List the plans."""
    from gatepost.cli.views import plan_views

    return CommandResult(plan_views(settings.plans), ("id", "title", "messages_per_month", "storage_bytes"))
