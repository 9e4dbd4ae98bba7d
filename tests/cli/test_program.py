"""The program as a process: how it starts, what it says when it cannot."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gatepost.cli.http_call import call
from tests.cli.conftest import Run, invoke
from tests.patience import PATIENCE

HEAVY = ("asyncpg", "litestar", "cryptography", "argon2", "structlog", "uvicorn", "rich.table")
UNNEEDED = ("litestar", "pydantic", "starlette", "mcp", "yaml", "markdown_it")


def gatepost(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "gatepost.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_the_program_starts_light() -> None:
    code = f"import sys, gatepost.cli.root; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert done.stdout.strip() == "[]"


def test_a_gateway_loads_only_what_it_needs() -> None:
    """Each of these costs time at every start, and memory; a request that needs it loads it."""
    code = f"import sys, gatepost.serving; print([name for name in {UNNEEDED} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("given", [None, "2"])
def test_the_http_client_begins_without_huge_pages(given: str | None) -> None:
    """The allocator of the client does not take them if this variable is 0; somebody may want them."""
    name = "MIMALLOC_ARENA_EAGER_COMMIT"
    code = f"""
import atexit, os, sys
from gatepost.cli import main
atexit.register(lambda: print(os.environ[{name!r}], "pyreqwest" in sys.modules))
sys.argv[1:] = ["version"]
main()
"""
    environ = {key: value for key, value in os.environ.items() if key != name} | ({name: given} if given else {})
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=True, env=environ
    )
    assert ran.stdout.splitlines()[-1] == f"{given or 0} False"  # the client is imported after it


def test_help_names_every_command() -> None:
    seen = gatepost("--help")
    assert seen.returncode == 0
    assert seen.stdout.startswith("Usage: gatepost [OPTIONS] COMMAND")
    for name in (
        "serve",
        "sandbox",
        "migrate",
        "up",
        "version",
        "account",
        "user",
        "plan",
        "channel",
        "key",
        "webhook",
    ):
        assert f"  {name} " in seen.stdout


def test_a_command_that_there_is_not() -> None:
    assert invoke("nonsense").code == 2


def test_the_version() -> None:
    assert invoke("version").out.startswith("gatepost 0.")
    assert invoke("--version") == invoke("version")


def test_bytes_that_are_not_utf8_are_rejected(run: Run) -> None:
    for arguments in (("account", "create", "\udcff"), ("cell", "add", "\udcff")):  # as Python reads such bytes
        error = run(*arguments, "--json").error()
        assert (error["code"], error["message"]) == ("invalid_field", "name: is not text in UTF-8")


def test_migrate_prints_the_version(run: Run) -> None:
    state = run("migrate", "--json").json()
    assert state["version"] >= 1
    assert state["pending"] == []


@pytest.mark.parametrize("command", [("serve",), ("up",), ("sandbox",), ("up", "--sandbox-port")])
def test_a_taken_port_is_one_clear_line(command: tuple[str, ...], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        arguments = [*command, port, "--port", "0"] if len(command) > 1 else [*command, "--port", port]
        if command[0] != "sandbox":
            arguments += ["--data", str(tmp_path)]
        ran = invoke(*arguments)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"Error: Cannot listen on 127.0.0.1:{port}: Address already in use.")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_reader_who_has_seen_enough_is_no_error(form: tuple[str, ...]) -> None:
    program = subprocess.Popen(
        [sys.executable, "-m", "gatepost.cli", "plan", "list", *form],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    assert program.stderr is not None
    program.stdout.close()  # long before the program has anything to say
    with program.stderr:
        assert program.stderr.read() == ""
    assert program.wait(30) == 1


def test_closed_standard_files_are_no_error(tmp_path: Path) -> None:
    """A child, such as the program that holds the links, does not start if it gets a closed one."""
    found = tmp_path / "found"
    child = f"import os; open({str(found)!r}, 'w').write(str([os.fstat(number).st_rdev for number in range(3)]))"
    code = f"""
import atexit, subprocess, sys
from gatepost.cli import main
atexit.register(subprocess.run, [sys.executable, "-c", {child!r}])
sys.argv[1:] = ["plan", "list"]
main()
"""
    closing = ["sh", "-c", 'exec "$0" -c "$1" <&- >&- 2>&-', sys.executable, code]
    assert subprocess.run(closing, timeout=PATIENCE, check=False).returncode == 0
    assert found.read_text() == str([os.stat(os.devnull).st_rdev] * 3)


def test_a_terminal_that_cannot_show_a_character_shows_the_rest() -> None:
    """A new key is shown once: it must not be lost because its table has a dash."""
    ran = subprocess.run(
        [sys.executable, "-m", "gatepost.cli", "plan", "list"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
    )
    assert "unlimited" in ran.stdout


def test_a_wrong_role_or_setting_is_one_clear_line(tmp_path: Path) -> None:
    ran = invoke("serve", "--role", "king", "--port", "0", "--data", str(tmp_path))
    assert (ran.code, ran.err) == (1, "Error: role: must be one of: all, api, worker\n")
    (tmp_path / "wrong.toml").write_text("[server]\nprot = 1\n")
    seen = invoke("plan", "list", "--config", str(tmp_path / "wrong.toml"), "--json").error()
    assert seen["code"] == "bad_settings"
    assert "prot" in seen["message"]


def test_a_database_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    ran = invoke("account", "list", "--database-url", f"postgresql://u@127.0.0.1:{port}/d", "--data", str(tmp_path))
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("Error: The database cannot be opened: ")
    assert ran.err.count("\n") == 1


def test_a_sandbox_ends_even_when_its_parent_is_killed(tmp_path: Path) -> None:
    code = (
        "import os, pathlib, signal, sys\nfrom gatepost.cli.sandbox.child import running_sandbox\n"
        "with running_sandbox('127.0.0.1', 0, pathlib.Path(sys.argv[1])) as url:\n"
        " print(url, flush=True)\n os.kill(os.getpid(), signal.SIGKILL)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "sandbox")], stdout=subprocess.PIPE, text=True
    )
    # The sandbox shares no output with us, so the end of this pipe is the end of the parent alone.
    out, _ = parent.communicate(timeout=PATIENCE)
    assert parent.returncode == -signal.SIGKILL
    wait_until_refused(out.strip())


def wait_until_refused(url: str) -> None:
    for _ in range(200):
        try:
            call(f"{url}/healthz")
        except OSError:
            return
        time.sleep(0.02)
    raise AssertionError("The sandbox is still there.")
