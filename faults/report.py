"""Shows the outcomes of scenarios as a table, and as JSON."""

from collections.abc import Sequence
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from faults.scenario import Outcome

# The kinds of problems with a column of their own.
COLUMNS = {
    "lost": "lost",
    "doubled": "doubled",
    "disordered": "out of order",
    "gaps": "gaps",
    "undelivered": "no webhook",
}
_SHOWN = 5  # problems of each kind


def show(outcomes: Sequence[Outcome], console: Console) -> None:
    """Print a row for each scenario, and then what failed."""
    table = Table("scenario", "result", "seconds", "faults", "accepted", "503, 409", *COLUMNS.values(), "sent twice")
    table.add_column("measured")
    for column in table.columns[2:-1]:
        column.justify = "right"
    for one in outcomes:
        counts = [str(len(one.problems.get(kind, []))) for kind in COLUMNS]
        table.add_row(
            one.scenario,
            "passed" if one.passed else "[red]FAILED",
            f"{one.seconds:.0f}",
            str(one.faults),
            str(one.accepted),
            str(one.refused),
            *counts,
            str(one.repeated),
            "\n".join(_lines(one)),
        )
    console.print(table)
    for one in outcomes:
        for kind, what in one.problems.items():
            console.print(f"{one.scenario} (--seed {one.seed}), {kind}: {len(what)}", style="red", markup=False)
            for line in what[:_SHOWN]:
                console.print(f"  {line}", markup=False)


def _lines(one: Outcome) -> list[str]:
    """Return what was measured, and the errors in the logs."""
    measured = [f"{name}: {value}" for name, value in one.figures.items()]
    return measured + [f"logged: {event} × {count}" for event, count in one.errors.items()]


def as_json(outcomes: Sequence[Outcome]) -> bytes:
    """Return the outcomes as JSON."""
    found: list[dict[str, Any]] = [{"passed": one.passed} | msgspec.structs.asdict(one) for one in outcomes]
    return msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n"
