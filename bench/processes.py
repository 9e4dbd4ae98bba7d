"""Starts, measures and always ends the child processes of a benchmark.

A child reports its results as lines of JSON: {"event": "begin"}, then {"event": "end", …results}.
It ends when its standard input closes, so that no child outlives a killed benchmark.
"""

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import psutil

ROOT = Path(__file__).resolve().parent.parent
_PATIENCE = 30.0


class BenchFailed(Exception):
    """A part of the benchmark failed, so that the results are invalid."""


class Child:
    """A child process of the benchmark."""

    def __init__(self, process: asyncio.subprocess.Process, name: str) -> None:
        self._process = process
        self.name = name
        self.process = psutil.Process(process.pid)

    async def receive(self, seconds: float = _PATIENCE) -> dict[str, Any]:
        """Return the next message of the child."""
        line = await self.receive_text(seconds)
        found: dict[str, Any] = msgspec.json.decode(line)
        return found

    async def receive_text(self, seconds: float = _PATIENCE) -> str:
        assert self._process.stdout is not None
        try:
            line = await asyncio.wait_for(self._process.stdout.readline(), seconds)
        except TimeoutError:
            raise BenchFailed(f"{self.name} said nothing for {seconds:g} s.") from None
        if not line:
            raise BenchFailed(f"{self.name} ended before its time.")
        return line.decode()


@asynccontextmanager
async def running(*arguments: str, environ: Mapping[str, str] | None = None) -> AsyncIterator[Child]:
    """Run a Python module as a child process, e.g. running("bench.load", "--seconds", "3")."""
    # A new session: Ctrl-C only reaches the benchmark, which ends its children in order.
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        *arguments,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, **(environ or {})},
        start_new_session=True,
    )
    try:
        yield Child(process, " ".join(arguments[:2]))
    finally:
        await end(process)


async def end(process: asyncio.subprocess.Process, patience: float = 15.0) -> None:
    """Terminate a process, and kill it after a timeout."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), patience)
    except (TimeoutError, asyncio.CancelledError):
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


# -- inside a child ---------------------------------------------------------------------------------------------------


def say(event: str, **found: Any) -> None:
    """Send a message to the benchmark."""
    sys.stdout.buffer.write(msgspec.json.encode({"event": event, **found}) + b"\n")
    sys.stdout.buffer.flush()


def end_with_parent() -> None:
    """End this process when the benchmark has ended, for whatever reason."""

    def wait() -> None:
        # Not sys.stdin: a thread that holds its lock makes the interpreter's shutdown fail.
        while os.read(0, 1024):
            pass
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()


# -- measuring --------------------------------------------------------------------------------------------------------


def cpu_of(process: psutil.Process) -> float:
    """Return the CPU seconds of a process, in all its threads."""
    times = process.cpu_times()
    return times.user + times.system


def cpu_of_family(root: psutil.Process) -> float:
    """Return the CPU seconds of a process and its children, including those that have ended."""
    times = root.cpu_times()
    total = times.user + times.system + getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
    for child in root.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            total += cpu_of(child)
    return float(total)


def resident(process: psutil.Process) -> int:
    """Return the resident memory of a process in bytes."""
    return int(process.memory_info().rss)


def shared_out(root: psutil.Process) -> int:
    """Return the memory of a process and its children in bytes, shared memory counted once (PSS); 0 if unknown."""
    total = 0
    for process in [root, *root.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            total += int(getattr(process.memory_full_info(), "pss", 0))
    return total
