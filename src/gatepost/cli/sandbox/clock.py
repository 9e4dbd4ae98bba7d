"""`gatepost sandbox clock`: the sandbox's own time."""

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from gatepost.cli.command import new_group
from gatepost.cli.output import CommandResult
from gatepost.cli.sandbox.control_client import ControlClient, control_command, given

group = new_group("The sandbox's own time.")


@control_command(group, "show")
def show(control: ControlClient) -> CommandResult:
    """Show the time and the number of pending timers."""
    return _answer(control.get("clock"))


@control_command(group, "advance")
def advance(
    control: ControlClient,
    duration: Annotated[str, typer.Argument(help="How far: 90s, 30m, 24h, 7d; 0 waits for what is on the wire.")],
) -> CommandResult:
    """Advance the time; returns when everything that fell due has been posted."""
    from gatepost.cli.arguments import read_duration

    return _answer(control.post("clock", {"advance": read_duration(duration, "duration").total_seconds()}))


@control_command(group, "freeze")
def freeze(control: ControlClient) -> CommandResult:
    """Freeze the clock: nothing happens until it is advanced."""
    return _answer(control.post("clock", {"frozen": True}))


@control_command(group, "resume")
def resume(
    control: ControlClient, speed: Annotated[float | None, typer.Option(help="Sandbox seconds per real second.")] = None
) -> CommandResult:
    """Resume the clock."""
    return _answer(control.post("clock", {"frozen": False, **given(speed=speed)}))


def _answer(state: dict[str, Any]) -> CommandResult:
    shown = datetime.fromtimestamp(state["now"], UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return CommandResult({"time": shown, **state})
