"""`gatepost sandbox clock`: the sandbox's own time."""

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from gatepost.cli.command import new_group
from gatepost.cli.output import Answer
from gatepost.cli.sandbox.door import Door, door_command, given

group = new_group("The sandbox's own time.")


@door_command(group, "show")
def show(door: Door) -> Answer:
    """Show the time and how many timers wait."""
    return _answer(door.get("clock"))


@door_command(group, "advance")
def advance(
    door: Door,
    duration: Annotated[str, typer.Argument(help="How far: 90s, 30m, 24h, 7d; 0 waits for what is on the wire.")],
) -> Answer:
    """Let time pass; answers when all that fell due has been posted."""
    from gatepost.cli.reading import read_duration

    return _answer(door.post("clock", {"advance": read_duration(duration, "duration").total_seconds()}))


@door_command(group, "freeze")
def freeze(door: Door) -> Answer:
    """Stop time: nothing happens until it is advanced."""
    return _answer(door.post("clock", {"frozen": True}))


@door_command(group, "resume")
def resume(
    door: Door, speed: Annotated[float | None, typer.Option(help="Sandbox seconds per real second.")] = None
) -> Answer:
    """Let time run again."""
    return _answer(door.post("clock", {"frozen": False, **given(speed=speed)}))


def _answer(face: dict[str, Any]) -> Answer:
    shown = datetime.fromtimestamp(face["now"], UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return Answer({"time": shown, **face})
