"""The tutorial works: all its commands and programs run, in order, against a real gateway with the sandbox."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import scratch_folder
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tutorial" / "small-shop.md"
READY = "Read its status"


def blocks(language: str, page: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.+?)^```$", page, re.MULTILINE | re.DOTALL)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def checkout() -> Iterator[Path]:
    """Return a folder that is like the repository after `make run`: the virtual environment is in `.venv`."""
    folder = scratch_folder()
    (folder / ".venv" / "bin").mkdir(parents=True)
    programs = Path(sys.executable).parent
    (folder / ".venv" / "bin" / "activate").write_text(f'PATH="{programs}:$PATH"\n')
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    return {name: value for name, value in kept.items() if not name.startswith("GATEPOST_")} | {"NO_COLOR": "1"}


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """Run what `make run` calls; return what it prints."""
    assert (
        "@$(BIN)/gatepost up --port $(PORT) --sandbox-port $(SANDBOX_PORT) --data $(DATA)"
        in (ROOT / "Makefile").read_text()
    )
    command = [sys.executable, "-m", "gatepost.cli", "up", "--port", "0", "--sandbox-port", "0", "--data", "./data"]
    program = subprocess.Popen(
        command, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert program.stdout is not None
        printed = ""
        while READY not in printed:
            line = program.stdout.readline()
            assert line, printed
            printed += line
        yield printed
    finally:
        program.send_signal(signal.SIGINT)
        program.communicate(timeout=PATIENCE)


@pytest.mark.timeout(400)
def test_every_step_works(checkout: Path) -> None:
    page = PAGE.read_text().replace("127.0.0.1:9000", f"127.0.0.1:{(port := free_port())}")
    page = page.replace('("127.0.0.1", 9000)', f'("127.0.0.1", {port})')
    assert "9000" not in page
    first, *steps = blocks("sh", page)
    assert first == "make run\n"
    for program in blocks("python", page):
        name = re.match(r"# (\w+\.py)\n", program)
        assert name is not None
        (checkout / name[1]).write_text(program)
    clean_up = "trap 'kill ${SHOP_PID:-} 2>/dev/null || true' EXIT\n"
    (checkout / "steps.sh").write_text(clean_up + "\n".join(steps))
    with running(checkout) as printed:
        done = subprocess.run(
            ["sh", "-eux", "steps.sh"],
            cwd=checkout,
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=3 * PATIENCE,
            check=False,
        )
    log = (checkout / "shop.log").read_text() if (checkout / "shop.log").exists() else ""
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}\n{log}"
    for line in ("Gatepost is running. Stop it with Ctrl-C.", "Gateway      http://127.0.0.1:", "Kept in      "):
        assert line in printed
        assert line in page
    assert "refused: " in log
