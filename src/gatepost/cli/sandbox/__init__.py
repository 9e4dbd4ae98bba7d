"""`gatepost sandbox`: run the simulated network, or control a running one."""

from gatepost.cli.options import new_group
from gatepost.cli.sandbox import clock, faults, ledger, numbers, people, phones, serving

group = new_group(no_args_is_help=False, invoke_without_command=True)
group.callback()(serving.sandbox)
group.add_typer(numbers.group, name="number")
group.add_typer(phones.group, name="phone")
group.add_typer(people.group, name="person")
group.add_typer(people.writing)
group.add_typer(faults.group, name="fault")
group.add_typer(clock.group, name="clock")
group.add_typer(ledger.group)

__all__ = ["group"]
