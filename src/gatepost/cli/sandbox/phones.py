"""`gatepost sandbox phone`: the phones of the sandbox's QR network."""

from typing import Annotated, Any

import typer

from gatepost.cli.arguments import given
from gatepost.cli.options import new_group
from gatepost.cli.output import CommandResult
from gatepost.cli.sandbox.control_client import ControlClient, control_command, segment
from gatepost.model.errors import Conflict

group = new_group("Phones of the QR network.")


@control_command(group, "list")
def list_(control: ControlClient) -> CommandResult:
    """List the phones with their sessions."""
    states = {one["session"]: one["state"] for one in control.get("sessions")}
    phones = [{**one, "state": [states.get(name) for name in one["sessions"]]} for one in control.get("phones")]
    return CommandResult(phones, ("phone", "name", "sessions", "state", "banned", "locked_until"))


@control_command(group, "scan")
def scan(
    control: ControlClient,
    phone: Annotated[str, typer.Argument(help="The phone's number, in digits.")],
    session: Annotated[
        str | None, typer.Option(help="Session whose code is scanned.", show_default="the one that shows a code")
    ] = None,
    code: Annotated[str | None, typer.Option(help="The code to scan, instead of --session.")] = None,
    fail: Annotated[bool, typer.Option("--fail", help="Stop before the link is complete.")] = False,
) -> CommandResult:
    """Scan a code with a phone, which links the session to it."""
    what = given(code=code, session=session) or {"session": _only_waiting(control)}
    return CommandResult(control.post(f"phones/{segment(phone)}/scan", {**what, "fail": fail}))


def _only_waiting(control: ControlClient) -> str:
    waiting: list[Any] = [one["session"] for one in control.get("sessions") if one["code"] is not None]
    if len(waiting) != 1:
        problem = f"{len(waiting)} sessions show a code: {', '.join(waiting)}" if waiting else "No session shows a code"
        raise Conflict(f"{problem}. Choose one with --session.")
    return str(waiting[0])
