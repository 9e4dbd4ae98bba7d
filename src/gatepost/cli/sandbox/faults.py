"""`gatepost sandbox fault`: fault injection."""

from typing import Annotated

import typer

from gatepost.cli.arguments import given
from gatepost.cli.options import new_group
from gatepost.cli.output import CommandResult
from gatepost.cli.sandbox.control_client import ControlClient, control_command, segment
from gatepost.model.errors import invalid_field

group = new_group("Fault rules: errors that the sandbox makes on purpose.")
_COLUMNS = ("id", "fault", "code", "phone_number_id", "to", "nth", "every", "probability", "times", "seen", "struck")
Fault = Annotated[
    str,
    typer.Argument(
        metavar="FAULT",
        help="For sends: refuse, http_error, drop, accept_drop, accept_hang, fail, hold. "
        "For callbacks: suppress, drop_echo, delay, duplicate, reorder.",
    ),
]


@control_command(group, "add")
def add(
    control: ControlClient,
    fault: Fault,
    *,
    number: Annotated[str | None, typer.Option(help="Only for this number id or QR phone.")] = None,
    to: Annotated[str | None, typer.Option(help="Only for these people; * and ? match as in file names.")] = None,
    code: Annotated[int | None, typer.Option(help="refuse, fail: error code of the network.")] = None,
    status: Annotated[int | None, typer.Option(help="HTTP status of the response.")] = None,
    details: Annotated[str | None, typer.Option(help="Details of the error.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Duration, on the sandbox's clock.")] = None,
    nth: Annotated[int | None, typer.Option(help="Apply to the nth match only.")] = None,
    every: Annotated[int | None, typer.Option(help="Apply to every nth match.")] = None,
    times: Annotated[int | None, typer.Option(help="Apply at most so many times.")] = None,
    probability: Annotated[float | None, typer.Option(help="Apply with this probability, 0 to 1.")] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="Only callbacks of this kind: sent, delivered, message, … May be repeated.")
    ] = None,
    type_: Annotated[list[str] | None, typer.Option("--type", help="Only sends of this type. May be repeated.")] = None,
    link: Annotated[str | None, typer.Option(help="Only sends with this link; * and ? match as in file names.")] = None,
    copies: Annotated[int | None, typer.Option(help="duplicate: number of copies in total.")] = None,
    hold: Annotated[int | None, typer.Option(help="reorder: number of callbacks that are held back.")] = None,
    drop: Annotated[bool | None, typer.Option("--drop", help="hold: drop the template in the end.")] = None,
) -> CommandResult:
    """Add a fault rule. Without filters it applies to every send or callback."""
    strikes = given(phone_number_id=number, to=to, labels=label, types=type_, link=link)
    often = given(nth=nth, every=every, times=times, probability=probability)
    how = given(code=code, status=status, details=details, seconds=seconds, copies=copies, hold=hold, drop=drop)
    return CommandResult(control.post("faults", {"fault": fault, **strikes, **often, **how}))


@control_command(group, "list")
def list_(control: ControlClient) -> CommandResult:
    """List the fault rules, with how often each matched and was applied."""
    return CommandResult(control.get("faults"), _COLUMNS, empty="There are no fault rules.")


@control_command(group, "remove")
def remove(
    control: ControlClient,
    rule: Annotated[str | None, typer.Argument(metavar="[RULE]", help="Id of the rule.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="Remove all rules.")] = False,
) -> CommandResult:
    """Remove a fault rule, or all."""
    if (rule is None) == (not all_):
        raise invalid_field("rule", "give the id of one rule, or --all")
    if rule is None:
        return CommandResult(control.delete("faults"))
    control.delete(f"faults/{segment(rule)}")
    return CommandResult({"id": rule, "removed": True})
