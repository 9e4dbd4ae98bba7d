"""The command line against a real database, as a person or a script would use it."""

import json
import shutil
import signal
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer import testing
from typer.main import get_command

from gatepost.cli.root import COMMANDS, app, load_command
from tests.conftest import scratch_folder
from tests.patience import PATIENCE

Run = Callable[..., "Ran"]
# All commands are made once: the library makes them for each run, which takes longer than most commands do.
setattr(testing, "_get_command", cache(get_command))  # noqa: B010
# Their modules are imported now: during a test that would block the event loop of its gateway, which logs that.
for _name in COMMANDS:
    load_command(_name)


# For a gateway in the process of a command: its log of a busy machine would be in the command's output.
NO_WATCHDOG: dict[str, Any] = {"watchdog__stall": PATIENCE}


class Ran(msgspec.Struct, frozen=True):
    """What a command left behind."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """The answer of a command that went well."""
        assert self.code == 0, self.err
        assert self.err == ""
        return json.loads(self.out)

    def error(self) -> Any:
        """The error of a command that did not, in JSON."""
        assert (self.code, self.out) == (1, ""), self.out
        return json.loads(self.err)["error"]


def invoke(*arguments: str) -> Ran:
    """Runs one command in this process."""
    result = testing.CliRunner().invoke(app, list(arguments), catch_exceptions=False, env={"NO_COLOR": "1"})
    return Ran(result.exit_code, result.stdout, result.stderr)


def obey_ctrl_c() -> None:
    """As at a terminal: in the background of a script the signal is ignored, in all children too."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def data() -> Iterator[Path]:
    """Give the path of a data folder that the embedded server's user can enter."""
    folder = scratch_folder()
    yield folder / "data"
    shutil.rmtree(folder)


@pytest.fixture
def run(database_url: str, tmp_path: Path) -> Run:
    """Give a way to run commands against a fresh database."""

    def one(*arguments: str) -> Ran:
        return invoke(*arguments, "--database-url", database_url, "--data", str(tmp_path))

    return one


@pytest.fixture
def account(run: Run) -> str:
    """Give the id of an account."""
    return str(run("account", "create", "Shop", "--json").json()["id"])


@pytest.fixture
def channel(run: Run, account: str) -> str:
    """Give the id of a QR channel."""
    made = run("channel", "create", account, "--kind", "qr", "--phone", "15550001111", "--json").json()
    return str(made["id"])
