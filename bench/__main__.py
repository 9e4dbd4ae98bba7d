"""The benchmarks: `python -m bench [PART]`, where PART is one of `PARTS`, or `all`."""

import argparse
import asyncio
import contextlib
import platform
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path

import psutil
from rich.console import Console

from bench.accept import ShowProgress, measure_accept
from bench.cells import measure_cells
from bench.channels import measure_channels
from bench.compiled import compiled_modules
from bench.dashboard import measure_dashboard
from bench.data_folder import data_folder, file_system, fsync_seconds
from bench.history import MANY, measure_history
from bench.hostile import measure_hostile
from bench.life import measure_life
from bench.life_channels import measure_life_channels
from bench.mcp import measure_mcp
from bench.measurements import Findings, Machine
from bench.owners import measure_owners
from bench.pages import measure_pages
from bench.processes import ROOT, BenchFailed, cpu_of_family
from bench.report import show, write
from bench.screen import measure_screen
from bench.several import measure_several
from bench.start import measure_start
from bench.throughput import measure_throughput
from bench.webhooks import measure_webhooks

PARTS = (
    "accept",
    "cells",
    "channels",
    "dashboard",
    "history",
    "hostile",
    "life",
    "lives",
    "mcp",
    "memory",
    "owners",
    "pages",
    "processes",
    "screen",
    "start",
    "throughput",
    "webhooks",
)


class Busy:
    """Measures how much CPU time other programs use."""

    def __init__(self) -> None:
        self._ours = psutil.Process()
        self._before = self._read()

    def _read(self) -> tuple[float, float, float]:
        times = psutil.cpu_times()
        idle = times.idle + getattr(times, "iowait", 0.0)
        total = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
        return total, total - idle, cpu_of_family(self._ours)

    def others_share(self) -> float:
        """Return the share of CPU time of other programs. Call this after all children have ended."""
        total, busy, ours = (now - before for now, before in zip(self._read(), self._before, strict=True))
        return max(0.0, busy - ours) / total if total else 0.0


async def measure(options: argparse.Namespace, progress: ShowProgress) -> Findings:
    """Run the requested measurements one after the other."""
    wanted = PARTS if options.part == "all" else (options.part,)
    busy, begun = Busy(), datetime.now(UTC)
    accept = cells = channels = dashboard = history = hostile = life = mcp = memory = None
    life_channels = owners = pages = screen = several = start = throughput = webhooks = None
    with data_folder() as folder:
        kind, fsync = file_system(folder), fsync_seconds(folder)
        if "accept" in wanted:
            accept = await measure_accept(options.seconds, progress)
        if "channels" in wanted:
            channels = await measure_channels(options.seconds, progress)
        if "start" in wanted:
            start = await measure_start(folder, progress)
        if "life" in wanted or "memory" in wanted:
            life, memory = await measure_life(
                folder, options.messages, options.seconds, progress, floors="life" in wanted
            )
    if "cells" in wanted:
        with data_folder() as folder:
            cells = await measure_cells(folder, options.seconds, progress)
    if "life" in wanted or "lives" in wanted:
        with data_folder() as folder:
            life_channels = await measure_life_channels(folder, options.messages, progress)
    if "throughput" in wanted:
        with data_folder() as folder:
            throughput = await measure_throughput(folder, options.hold, progress)
    if "history" in wanted:
        with data_folder() as folder:
            history = await measure_history(folder, options.past, options.seconds, progress)
    if "dashboard" in wanted:
        with data_folder() as folder:
            dashboard = await measure_dashboard(folder, progress)
    if "pages" in wanted:
        with data_folder() as folder:
            pages = await measure_pages(folder, progress)
    if "screen" in wanted:
        with data_folder() as folder:
            screen = await measure_screen(folder, progress)
    if "hostile" in wanted:
        with data_folder() as folder:
            hostile = await measure_hostile(folder, progress)
    if "mcp" in wanted:
        with data_folder() as folder:
            mcp = await measure_mcp(folder, options.seconds, progress)
    if "owners" in wanted:
        owners = await measure_owners(progress)
    if "processes" in wanted:
        several = await measure_several(options.seconds, progress)
    if "webhooks" in wanted:
        webhooks = await measure_webhooks(options.seconds, progress)
    machine = Machine(
        cores=psutil.cpu_count() or 0,
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        file_system=kind,
        fsync_ms=fsync * 1000,
        others_share=busy.others_share(),
    )
    return Findings(
        at=begun,
        machine=machine,
        accept=accept,
        cells=cells,
        channels=channels,
        dashboard=dashboard,
        history=history,
        hostile=hostile,
        life=life,
        life_channels=life_channels,
        mcp=mcp,
        memory=memory,
        owners=owners,
        pages=pages,
        screen=screen,
        several=several,
        start=start,
        throughput=throughput,
        webhooks=webhooks,
    )


async def run(options: argparse.Namespace, console: Console) -> None:
    """Measure, print and write the results. Ctrl-C and SIGTERM stop this process and its children."""
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    findings = await measure(options, lambda words: console.print(f"[dim]· {words}"))
    show(findings, console)
    path = options.json or ROOT / "bench" / "results" / f"{findings.at:%Y%m%d-%H%M%S}.json"
    write(findings, path)
    console.print(f"Written to {path}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("part", nargs="?", choices=(*PARTS, "all"), default="all")
    parser.add_argument("--seconds", type=float, default=3.0, help="length of each measurement under load")
    parser.add_argument("--messages", type=int, default=5000, help="messages that live a whole life")
    parser.add_argument("--hold", type=float, default=60.0, help="seconds that a number is held at its throughput")
    parser.add_argument("--past", type=int, default=MANY, help="messages of the channel that is looked back on")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    # A pipe has no width, and a wrapped table is unreadable.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 170)
    options = parser.parse_args()
    try:
        with compiled_modules():
            asyncio.run(run(options, console))
    except BenchFailed as error:
        console.print(str(error), style="red", markup=False)
        return 1
    except (KeyboardInterrupt, asyncio.CancelledError):
        with contextlib.suppress(OSError):
            console.print("Stopped; everything that was started has ended.")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
