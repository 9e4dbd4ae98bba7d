"""What was found, as tables for a person and as JSON for a program: the same figures in both."""

import os
import platform
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from bench.accept import AcceptFindings, AcceptRow
from bench.life import CALLBACKS, WEBHOOKS, BareParts, LifeFindings
from bench.measure import Sample
from bench.memory import MemoryFindings
from bench.start import StartFindings

Cell = str | int | float | None


class Section(msgspec.Struct, frozen=True):
    """One table."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """Where it was measured; figures of another machine compare only by their ratios."""

    cores: int
    python: str
    system: str
    file_system: str
    fsync_ms: float
    others_share: float  # of the processors' time, used by programs that are no part of the bench


class Aim(msgspec.Struct, frozen=True):
    """What a figure should be. Missing it fails nothing: it is there to be seen."""

    name: str
    wanted: str
    found: float
    met: bool


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything of one run."""

    at: datetime
    machine: Machine
    accept: AcceptFindings | None = None
    life: LifeFindings | None = None
    memory: MemoryFindings | None = None
    start: StartFindings | None = None


def machine_name() -> tuple[int, str, str]:
    """Cores, Python and system."""
    return os.cpu_count() or 0, platform.python_version(), f"{platform.system()} {platform.machine()}"


# -- tables -----------------------------------------------------------------------------------------------------------


def sections(findings: Findings) -> list[Section]:
    """All tables for what was measured."""
    found: list[Section] = []
    if findings.accept:
        found += [_accept(findings.accept), _accept_floors(findings.accept)]
    if findings.life:
        found += [_life(findings.life), _parts(findings.life.parts)]
    if findings.memory:
        found.append(_memory(findings.memory))
    if findings.start:
        found.append(_start(findings.start))
    return [*found, _aims(aims(findings))]


def _ratio(one: float, other: float) -> float:
    return round(one / other, 2) if other else 0.0


def _cost(sample: Sample) -> float:
    """Microseconds of server and database for one request."""
    return sample.micros(sample.server + sample.postgres)


def _accept(found: AcceptFindings) -> Section:
    most = found.rows[-1]
    new = msgspec.structs.replace(most, accept=found.strangers)
    rows = [_accept_row(str(row.connections), row) for row in found.rows]
    rows.append(_accept_row(f"{most.connections}, all recipients new", new))
    columns = ["connections", "accepts/s", "p50 ms", "p99 ms", "of server+batch", "of bare server", "of bare batch"]
    columns += ["CPU × server+batch", "gateway µs", "PostgreSQL µs", "load µs"]
    return Section("Durable accepts (gateway with role api, one channel)", columns, rows)


def _accept_row(name: str, row: AcceptRow) -> list[Cell]:
    accept = row.accept
    return [
        name,
        round(accept.rate),
        round(accept.p50 * 1000, 2),
        round(accept.p99 * 1000, 2),
        _ratio(accept.rate, row.batch.rate),
        _ratio(accept.rate, row.server.rate),
        _ratio(accept.rate, row.direct.rate),
        _ratio(_cost(accept), _cost(row.batch)),
        round(accept.micros(accept.server)),
        round(accept.micros(accept.postgres)),
        round(accept.micros(accept.cpu)),
    ]


def _accept_floors(found: AcceptFindings) -> Section:
    rows: list[list[Cell]] = []
    for row in found.rows:
        n = row.connections
        rows.append(_floor_row(f"{n}: bare server (Litestar, no database)", row.server))
        rows.append(_floor_row(f"{n}: server+batch (Litestar, one plain row)", row.batch))
        rows.append(_floor_row(f"{n}: bare batch (the gateway's own commit, no server)", row.direct))
    rows.append(_floor_row(f"{found.rows[-1].connections}: server+batch without a framework", found.raw_batch))
    columns = ["floor", "per second", "p50 ms", "p99 ms", "server µs", "PostgreSQL µs", "driver µs"]
    return Section("Floors of accepting, measured beside it", columns, rows)


def _floor_row(name: str, sample: Sample) -> list[Cell]:
    timed = sample.p50 > 0
    return [
        name,
        round(sample.rate),
        round(sample.p50 * 1000, 2) if timed else None,
        round(sample.p99 * 1000, 2) if timed else None,
        round(sample.micros(sample.server)),
        round(sample.micros(sample.postgres)),
        round(sample.micros(sample.cpu)),
    ]


def _life(found: LifeFindings) -> Section:
    lives, accept, floor = found.lives, found.lives.accept, found.parts.cpu_micros
    rows: list[list[Cell]] = [
        ["messages per second, first accept to last webhook", round(lives.messages / lives.seconds)],
        ["webhooks per message", round(lives.webhooks / lives.messages, 3)],
        ["accepts per second meanwhile (64 connections)", round(accept.rate)],
        ["accept p50 ms meanwhile", round(accept.p50 * 1000, 2)],
        ["accept p99 ms meanwhile", round(accept.p99 * 1000, 2)],
        ["gateway CPU µs per message", round(lives.micros(lives.gateway_cpu))],
        ["PostgreSQL CPU µs per message", round(lives.micros(lives.postgres_cpu))],
        ["together µs", round(lives.cpu_micros)],
        ["floor µs (sum of the bare parts)", round(floor)],
        ["together × floor", _ratio(lives.cpu_micros, floor)],
    ]
    title = f"The whole life of {lives.messages:,} messages (accept, send, three statuses, four webhooks)"
    return Section(title, ["figure", "value"], rows)


def _parts(found: BareParts) -> Section:
    request, callback, post, written = found.request, found.callback, found.post, found.rows
    parts: list[tuple[str, int, float]] = [
        ("bare request served (accept)", 1, request.micros(request.server)),
        ("bare request served (callback)", CALLBACKS, callback.micros(callback.server)),
        ("bare POST made (send, webhooks)", 1 + WEBHOOKS, post.micros(post.cpu)),
        ("bare rows written, client's side", 1, written.micros(written.cpu)),
        ("bare rows written, PostgreSQL", 1, written.micros(written.postgres)),
    ]
    rows: list[list[Cell]] = [[name, times, round(each), round(times * each)] for name, times, each in parts]
    return Section("Floor of the whole life", ["part", "times", "CPU µs each", "CPU µs per message"], rows)


def _memory(found: MemoryFindings) -> Section:
    rows: list[list[Cell]] = [
        ["gateway (RSS)", round(found.gateway_rest, 1), round(found.gateway_peak, 1)],
        ["PostgreSQL, all processes (PSS)", round(found.postgres_rest, 1), round(found.postgres_after, 1)],
    ]
    return Section("Memory", ["MiB", "at rest", "whole life: gateway's peak, PostgreSQL's end"], rows)


def _start(found: StartFindings) -> Section:
    rows: list[list[Cell]] = [
        ["first start (makes the database)", round(found.first, 2)],
        ["second start", round(found.second, 2)],
    ]
    return Section("From start to ready", ["start", "seconds"], rows)


# -- aims -------------------------------------------------------------------------------------------------------------


def aims(findings: Findings) -> list[Aim]:
    """The figures that we want, and how they came out."""
    found = []
    if findings.accept:
        row = findings.accept.rows[-1]
        share = row.accept.rate / row.batch.rate
        found.append(Aim("accepts/s at 64 connections", "> 3000", round(row.accept.rate), row.accept.rate > 3000))
        found.append(Aim("of server+batch at 64 connections", "≥ 0.5", round(share, 2), share >= 0.5))
    if findings.life:
        cost = findings.life.lives.cpu_micros
        found.append(Aim("CPU µs of a whole life, PostgreSQL included", "< 3500", round(cost), cost < 3500))
    if findings.memory:
        rest = findings.memory.gateway_rest
        found.append(Aim("gateway MiB at rest", "< 150", round(rest, 1), rest < 150))
    if findings.start:
        second = findings.start.second
        found.append(Aim("seconds from second start to ready", "≤ 4", round(second, 2), second <= 4))
    return found


def _aims(found: Sequence[Aim]) -> Section:
    rows = [[aim.name, aim.wanted, aim.found, "yes" if aim.met else "no"] for aim in found]
    return Section("Aims", ["figure", "wanted", "found", "met"], rows)


# -- out --------------------------------------------------------------------------------------------------------------


def show(findings: Findings, console: Console) -> None:
    """Prints all tables."""
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
    """Keeps the tables, and everything that they were made from."""
    tables = [
        {"title": section.title, "rows": [dict(zip(section.columns, row, strict=True)) for row in section.rows]}
        for section in sections(findings)
    ]
    kept: dict[str, Any] = {"tables": tables, "aims": aims(findings), "raw": findings}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=2) + b"\n")
