"""Reports the tables: on the terminal, and as JSON."""

from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from bench.measurements import Findings, aims
from bench.tables import Cell, sections


def show(findings: Findings, console: Console) -> None:
    """Print all tables."""
    machine = findings.machine
    console.print(
        f"\n{machine.cores} cores, Python {machine.python}, {machine.system}, {machine.file_system}, "
        f"{machine.fsync_ms:.2f} ms to keep 8 KiB. Other programs used {machine.others_share:.0%} of the processors."
    )
    if machine.others_share > 0.1:
        console.print("[yellow]The machine was busy with other things: trust the ratios and the CPU, not the rates.")
    for section in sections(findings):
        table = Table(*section.columns, title=section.title, title_justify="left", min_width=len(section.title))
        for column in table.columns[1:]:
            column.justify = "right"
        for row in section.rows:
            table.add_row(*[_shown(cell) for cell in row])
        console.print(table)


def _shown(cell: Cell) -> str:
    if isinstance(cell, int):
        return f"{cell:,}"
    return "" if cell is None else str(cell)


def write(findings: Findings, path: Path) -> None:
    """Write the tables and the raw results as JSON."""
    tables = [
        {"title": section.title, "rows": [dict(zip(section.columns, row, strict=True)) for row in section.rows]}
        for section in sections(findings)
    ]
    kept: dict[str, Any] = {"tables": tables, "aims": aims(findings), "raw": findings}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=2) + b"\n")
