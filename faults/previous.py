"""The program before the newest migration, taken from the history of the repository, and gateways that run it.

It runs with the dependencies of the current version: `PYTHONPATH` names the old source first.
"""

import asyncio
import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.faults.stage import Node
from tests.patience import PATIENCE
from tests.processes.running_processes import environment_of

ROOT = Path(__file__).parents[1]
_MIGRATIONS = Path("src/gatepost/store/migrations")
_STARTS_ON_NEWER = "0038_oldest_program.sql"  # programs with this migration start on a database of a newer version


class NoHistory(Exception):
    """The code before the newest migration is not to be had."""


def previous_revision(root: Path = ROOT) -> str:
    """Return the last revision before the newest migration was added."""
    newest = max(file.name for file in (root / _MIGRATIONS).glob("*.sql"))
    try:
        top = _git(root, "rev-parse", "--show-toplevel").strip()
    except OSError as error:
        raise NoHistory(f"git cannot be run: {error}") from None
    except subprocess.CalledProcessError:
        raise NoHistory("This is no git repository. Run it in a clone with its history.") from None
    if Path(top).resolve() != root.resolve():
        raise NoHistory(f"The repository is {top}, not {root}. Run it in a clone of Gatepost with its history.")
    adding = _git(root, "log", "--diff-filter=A", "--format=%H", "--", str(_MIGRATIONS / newest)).split()
    revision = f"{adding[-1]}^" if adding else "HEAD"  # not committed yet: everything that is committed is before it
    try:
        return _git(root, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").strip()
    except subprocess.CalledProcessError:
        raise NoHistory(
            f"The history of this clone begins after {newest} was added. Fetch all of it: git fetch --unshallow"
        ) from None


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class PreviousProgram:
    """The code of a revision in a folder of its own, and the gateways that run it."""

    def __init__(self, revision: str, folder: Path) -> None:
        self.revision = revision
        self._source = folder / "src"
        self._nodes: list[PreviousNode] = []
        archive = subprocess.run(
            ["git", "-C", str(ROOT), "archive", "--format=tar", revision, "src", "docs"],
            check=True,
            capture_output=True,
        )
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
            tar.extractall(folder, filter="data")

    @property
    def migrations(self) -> Path:
        return self._source / "gatepost" / "store" / "migrations"

    @property
    def starts_on_newer(self) -> bool:
        """Whether it starts on a database that a newer version has migrated."""
        return (self.migrations / _STARTS_ON_NEWER).exists()

    def launch(self, options: Mapping[str, Any], log: Path) -> "PreviousNode":
        """Start a gateway without waiting for it."""
        node = PreviousNode(self._source, options, log)
        self._nodes.append(node)
        return node

    async def close(self) -> None:
        """Kill every gateway that still runs."""
        for node in self._nodes:
            await node.kill()


class _Process:
    """A program with the names of `multiprocessing.Process`."""

    def __init__(self, command: list[str], log: Path, environment: Mapping[str, str]) -> None:
        with log.open("ab") as said:
            self._popen = subprocess.Popen(command, stdout=said, stderr=said, cwd=log.parent, env=environment)

    @property
    def pid(self) -> int:
        return self._popen.pid

    def is_alive(self) -> bool:
        return self._popen.poll() is None

    @property
    def exitcode(self) -> int | None:
        return self._popen.poll()


class PreviousNode(Node):
    """A gateway that runs the code of a folder, as a user starts it."""

    def __init__(self, source: Path, options: Mapping[str, Any], log: Path) -> None:
        settings = environment_of({**options, "server.user": "root"})
        environment = {**os.environ, "NO_COLOR": "1", "PYTHONPATH": str(source), **settings}
        command = [sys.executable, "-m", "gatepost.cli", "serve", "--processes", "1"]
        self._process = _Process(command, log, environment)
        self._log = log
        self.url = ""

    async def ready(self, seconds: float = PATIENCE) -> str:
        """Wait until it listens; return its address."""
        async with asyncio.timeout(seconds):
            while not (found := [line["url"] for line in self.log_lines() if line["event"] == "ready"]):
                assert self.alive, f"The gateway did not start: {self.log_lines()}"
                await asyncio.sleep(0.02)
        self.url = found[0]
        return self.url
