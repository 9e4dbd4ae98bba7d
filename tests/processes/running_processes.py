"""`gatepost serve --processes N` as a user runs it: a supervisor and its processes."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import psutil

from tests.faults.stage import METRICS_TOKEN, Stage
from tests.patience import PATIENCE, patience


class RunningProcesses:
    """A supervisor, its processes, and its log."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path, stage: Stage) -> None:
        self.supervisor = process
        self._log = log
        self._stage = stage
        self.seen: set[psutil.Process] = set()

    def lines(self, event: str = "") -> list[dict[str, Any]]:
        """Return the lines of the log, all or those of one event."""
        found = [line for line in self._log.read_text().splitlines() if line.startswith("{")]
        decoded = [msgspec.json.decode(line) for line in found]
        return [line for line in decoded if line["event"] == event or not event]

    def children(self) -> list[psutil.Process]:
        """Return the running processes, by their number."""
        found = {}
        for child in psutil.Process(self.supervisor.pid).children():
            command = child.cmdline()
            if "gatepost.cli.serve_process" in command:
                found[int(command[-2])] = child
        self.seen.update(found.values())
        return [found[number] for number in sorted(found)]

    async def until_logged(self, event: str, count: int = 1) -> list[dict[str, Any]]:
        """Wait for a number of log lines."""
        async with patience(self._log.read_text):
            while len(lines := self.lines(event)) < count:
                assert self.supervisor.returncode is None, self._log.read_text()
                await asyncio.sleep(0.02)
        return lines

    async def metrics(self) -> dict[str, float]:
        """Return all metrics, read over a new connection."""
        headers = {"Connection": "close", "Authorization": f"Bearer {METRICS_TOKEN}"}
        answer = await self._stage.call("GET", "/metrics", key="", headers=headers)
        assert answer.status == 200, answer.body
        found = re.findall(r"^(\w+(?:\{.*\})?) (\S+)$", answer.body.decode(), re.MULTILINE)
        return {name: float(value) for name, value in found}

    async def ended(self) -> int:
        """Wait for the end of the supervisor; return its exit code."""
        return await asyncio.wait_for(self.supervisor.wait(), PATIENCE)

    async def until_children_ended(self) -> None:
        """Wait until no process that was seen runs."""
        async with patience(lambda: self.seen):
            while any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in self.seen):
                await asyncio.sleep(0.02)


def environment_of(options: Mapping[str, Any]) -> dict[str, str]:
    """Return settings as environment variables."""
    named = {f"GATEPOST_{name.upper().replace('.', '__')}": value for name, value in options.items()}
    return {name: msgspec.json.encode(value).decode() for name, value in named.items()}


async def start_processes(number: int, log: Path, options: Mapping[str, Any]) -> asyncio.subprocess.Process:
    """Start a gateway of several processes."""
    with log.open("ab") as said:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "gatepost.cli", "serve", "--processes", str(number)),
            stdout=said,
            stderr=said,
            env={**os.environ, "NO_COLOR": "1", **environment_of(options)},
        )


@asynccontextmanager
async def running_processes(stage: Stage, number: int = 2, **overrides: Any) -> AsyncIterator[RunningProcesses]:
    """Run a gateway of several processes for the clients and the network of a stage."""
    options = stage.options | {"server.user": "root"}
    options |= {name.replace("__", "."): value for name, value in overrides.items()}
    log = Path(stage.settings.data) / f"processes-{uuid4().hex}.log"
    process = await start_processes(number, log, options)
    running = RunningProcesses(process, log, stage)
    try:
        [ready] = await running.until_logged("ready")
        running.children()
        stage.url = ready["url"]
        if stage.channel:
            await stage.use_gateway(stage.url)
        yield running
    finally:
        if process.returncode is None:
            running.children()
            process.kill()
            await process.wait()
        for child in running.seen:
            if child.is_running():
                child.kill()
        print(log.read_text())  # shown if the test fails
