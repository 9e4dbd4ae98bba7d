"""`gatepost sandbox fault`: fault injection."""

from typing import Annotated

import typer

from gatepost.cli.command import new_group
from gatepost.cli.output import CommandResult
from gatepost.cli.sandbox.control_client import ControlClient, control_command, given, segment

group = new_group("What goes wrong on purpose.")
_SHOWN = ("id", "fault", "code", "phone_number_id", "to", "nth", "every", "probability", "times", "seen", "struck")
Fault = Annotated[
    str,
    typer.Argument(
        metavar="FAULT",
        help="Of sends: refuse, http_error, drop, accept_drop, accept_hang, fail, hold. "
        "Of callbacks: suppress, drop_echo, delay, duplicate, reorder.",
    ),
]


@control_command(group, "add")
def add(
    control: ControlClient,
    fault: Fault,
    *,
    number: Annotated[str | None, typer.Option(help="Only this number id, or QR phone.")] = None,
    to: Annotated[str | None, typer.Option(help="Only these people; * and ? as in file names.")] = None,
    code: Annotated[int | None, typer.Option(help="Of refuse and fail: the network's code.")] = None,
    status: Annotated[int | None, typer.Option(help="The HTTP status.")] = None,
    details: Annotated[str | None, typer.Option(help="What the error says.")] = None,
    seconds: Annotated[float | None, typer.Option(help="How long it takes, on the sandbox clock.")] = None,
    nth: Annotated[int | None, typer.Option(help="Only the nth match.")] = None,
    every: Annotated[int | None, typer.Option(help="Each nth match.")] = None,
    times: Annotated[int | None, typer.Option(help="How often at most.")] = None,
    probability: Annotated[float | None, typer.Option(help="Probability, from 0 to 1.")] = None,
    label: Annotated[list[str] | None, typer.Option(help="Only these callbacks: sent, delivered, message...")] = None,
    type_: Annotated[list[str] | None, typer.Option("--type", help="Only sends of these types.")] = None,
    link: Annotated[str | None, typer.Option(help="Only sends with a link like this; * and ?.")] = None,
    copies: Annotated[int | None, typer.Option(help="Of duplicate: how many in all.")] = None,
    hold: Annotated[int | None, typer.Option(help="Of reorder: how many are held.")] = None,
    drop: Annotated[bool | None, typer.Option("--drop", help="Of hold: drop the template in the end.")] = None,
) -> CommandResult:
    """Add a fault rule; an omitted option matches everything."""
    strikes = given(phone_number_id=number, to=to, labels=label, types=type_, link=link)
    often = given(nth=nth, every=every, times=times, probability=probability)
    how = given(code=code, status=status, details=details, seconds=seconds, copies=copies, hold=hold, drop=drop)
    return CommandResult(control.post("faults", {"fault": fault, **strikes, **often, **how}))


@control_command(group, "list")
def list_(control: ControlClient) -> CommandResult:
    """List the active rules, with how often each matched and applied."""
    rules = control.get("faults")
    rows = [{**rule, "code": rule["code"] and str(rule["code"])} for rule in rules]  # a code is no amount
    return CommandResult(rules, _SHOWN, empty="There are no fault rules.", rows=rows)


@control_command(group, "remove")
def remove(
    control: ControlClient,
    rule: Annotated[str | None, typer.Argument(metavar="[RULE]", help="Id of the rule.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="Remove all rules.")] = False,
) -> CommandResult:
    """Remove a rule, or all of them."""
    from gatepost.model.errors import invalid_field

    if (rule is None) == (not all_):
        raise invalid_field("rule", "give the id of one rule, or --all")
    if rule is None:
        return CommandResult(control.delete("faults"))
    control.delete(f"faults/{segment(rule)}")
    return CommandResult({"id": rule, "removed": True})
