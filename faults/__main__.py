"""Fault scenarios under load: `python -m faults [--only NAME] [--seed N] [--minutes M] [--json]`.

A seed repeats the faults, their times and their victims. What happens at the same moment in other processes is never
the same twice.
"""

import argparse
import asyncio
import contextlib
import logging
import signal
import sys
from random import SystemRandom

import structlog
import uvloop
from rich.console import Console

from faults import cells, database, outside, processes, upgrade
from faults.previous import NoHistory, previous_revision
from faults.report import as_json, show
from faults.scenario import Outcome, Scenario, run_scenario
from gatepost.serving import raise_file_limit
from tests.conftest import CAN_MOUNT

SCENARIOS: dict[str, Scenario] = {
    one.name: one for part in (processes, database, cells, outside, upgrade) for one in part.SCENARIOS
}


async def run(options: argparse.Namespace, console: Console) -> list[Outcome]:
    """Run the requested scenarios one after the other. Ctrl-C and SIGTERM end them and their processes."""
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    outcomes: list[Outcome] = []
    for name in options.only or SCENARIOS:
        scenario = SCENARIOS[name]
        if scenario.disk and not CAN_MOUNT:
            console.print(f"[yellow]· {name} is left out: this user may not mount a file system")
            continue
        if scenario.previous and (why := find_no_history()):
            if options.only:
                raise SystemExit(f"{name} needs the code before the newest migration. {why}")
            console.print(f"[yellow]· {name} is left out: it needs the code before the newest migration. {why}")
            continue
        console.print(f"[dim]· {name} (seed {options.seed}): {scenario.invariant}")
        seconds = options.minutes * 60 if options.minutes else None
        outcomes.append(await run_scenario(scenario, options.seed, seconds, options.rate))
    return outcomes


def find_no_history() -> str:
    """Return why there is no code of the version before, if so."""
    try:
        previous_revision()
    except NoHistory as error:
        return str(error)
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__)
    parser.add_argument("--only", action="append", choices=sorted(SCENARIOS), help="a scenario; may be repeated")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(1_000_000), help="repeats the faults")
    parser.add_argument("--minutes", type=float, default=0.0, help="length of each scenario instead of its own")
    parser.add_argument("--rate", type=float, default=30.0, help="messages per second")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    raise_file_limit()  # each gateway that was started keeps some files open
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR)
    )  # of the parts in this process
    # A pipe has no width, and a wrapped table is unreadable.
    console = Console(stderr=options.json, highlight=False, width=None if sys.stdout.isatty() else 190)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            outcomes = runner.run(run(options, console))
    except (KeyboardInterrupt, asyncio.CancelledError):
        with contextlib.suppress(OSError):
            console.print("Stopped; everything that was started has ended.")
        return 130
    if options.json:
        sys.stdout.buffer.write(as_json(outcomes))
    else:
        show(outcomes, console)
    return 0 if all(one.passed for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
