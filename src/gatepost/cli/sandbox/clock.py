"""`gatepost sandbox clock`: the clock of the sandbox."""

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from gatepost.cli.arguments import given, read_duration
from gatepost.cli.options import new_group
from gatepost.cli.output import CommandResult
from gatepost.cli.sandbox.control_client import ControlClient, control_command

group = new_group("The clock of the sandbox.")


@control_command(group, "show")
def show(control: ControlClient) -> CommandResult:
    """Show the time of the sandbox, and how many timers are pending."""
    return _result(control.get("clock"))


@control_command(group, "advance")
def advance(
    control: ControlClient,
    duration: Annotated[str, typer.Argument(help="By how much: 90s, 30m, 24h, 7d. 0 waits for requests in progress.")],
) -> CommandResult:
    """Advance the clock. Returns when everything that became due was sent."""
    return _result(control.post("clock", {"advance": read_duration(duration, "duration").total_seconds()}))


@control_command(group, "freeze")
def freeze(control: ControlClient) -> CommandResult:
    """Freeze the clock: nothing happens until it is advanced."""
    return _result(control.post("clock", {"frozen": True}))


@control_command(group, "resume")
def resume(
    control: ControlClient, speed: Annotated[float | None, typer.Option(help="Sandbox seconds per real second.")] = None
) -> CommandResult:
    """Resume the clock."""
    return _result(control.post("clock", {"frozen": False, **given(speed=speed)}))


def _result(state: dict[str, Any]) -> CommandResult:
    time = datetime.fromtimestamp(state["now"], UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return CommandResult({"time": time, **state})
