"""`gatepost sandbox`: run the simulated network, or control a running one."""

import typer

from gatepost.cli.sandbox import clock, faults, ledger, numbers, people, phones, serving

group = typer.Typer(
    help="The simulated network: run it, or control a running one.",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
group.callback()(serving.sandbox)
group.add_typer(numbers.group, name="number")
group.add_typer(phones.group, name="phone")
group.add_typer(people.group, name="person")
people.add_commands(group)
group.add_typer(faults.group, name="fault")
group.add_typer(clock.group, name="clock")
ledger.add_commands(group)

__all__ = ["group"]
