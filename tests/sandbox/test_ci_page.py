"""The page about CI keeps its word: all its examples run, in order, against a real sandbox on a free port."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import scratch_folder
from tests.patience import PATIENCE

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "how-to" / "test-in-ci.md").read_text()


SECOND = PAGE.index("## Test code written for Gatepost")
HALVES = {"cloud": PAGE[:SECOND], "gatepost": PAGE[SECOND:]}


def blocks(kind: str, page: str = PAGE) -> list[str]:
    return re.findall(rf"^```{kind}\n(.+?)^```$", page, re.MULTILINE | re.DOTALL)


def environment() -> dict[str, str]:
    """As in a job: our programs on the path, and no proxy between them and loopback."""
    kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    kept = {name: value for name, value in kept.items() if not name.startswith("GATEPOST_")}
    return kept | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "NO_COLOR": "1"}


@pytest.fixture
def workplace() -> Iterator[Path]:
    """Where a job runs: the embedded database's user can get through it, which pytest's own folders do not allow."""
    folder = scratch_folder()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("half", HALVES)
def test_every_example_runs(workplace: Path, half: str) -> None:
    for program in blocks("python", HALVES[half]):
        name = re.match(r"# (\w+\.py)\n", program)
        assert name is not None
        (workplace / name[1]).write_text(program)
    script = workplace / "job.sh"
    # For a job that fails half-way. After a good one they are gone already, and that must not become its outcome.
    pids = "${RECEIVER_PID:-} ${SANDBOX_PID:-} ${HOOK_PID:-} ${GATEPOST_PID:-}"
    clean_up = f"trap 'kill {pids} 2>/dev/null || true' EXIT\n"
    script.write_text(clean_up + "\n".join(blocks("sh", HALVES[half])))
    done = subprocess.run(
        ["sh", "-eux", str(script)],
        cwd=workplace,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE,  # some twenty programs start one after the other
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    assert half == "gatepost" or "3 passed" in done.stdout


def test_the_job_starts_the_sandbox_as_the_page_does() -> None:
    [job] = blocks("yaml")
    start = blocks("sh")[0]
    for line in start.splitlines():
        if "PID" not in line and "healthz" not in line:
            assert line in job
