"""Commands that run for long read their options as the parser of the other commands does, and without it."""

import inspect
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from gatepost.cli import _LONG
from gatepost.cli.plain_options import read_plain
from gatepost.cli.root import load_command
from tests.cli.conftest import invoke
from tests.for_each import for_each
from tests.patience import PATIENCE

PLAIN = {
    "serve": [
        [],
        ["--role", "api"],
        ["--port", "0", "--processes=64"],
        ["--port=65535", "--processes", "1"],
        ["--host", "::1", "--database-url", "postgresql://u:p=1@h/d?a=b"],
        ["--data", "./a b/../ü", "--config=/etc/gatepost.toml"],
        ["--port", "007"],
    ],
    "up": [[], ["--port", "8081", "--sandbox-port=0", "--data", "x"]],
}
NOT_PLAIN = [
    ["--help"],
    ["--port"],
    ["--port", ""],
    ["--port="],
    ["--port", "-1"],
    ["--port", "65536"],
    ["--port", "1.0"],
    ["--port", " 1"],
    ["--port", "1_0"],
    ["--port", "٣"],
    ["--port", "9" * 5000],
    ["--port", "1", "--port", "2"],
    ["--por", "1"],
    ["-p", "1"],
    ["1"],
    ["--", "--port", "1"],
    ["--data", "--port"],
    ["--data", "a\udcff"],
    ["--database-url", "a\x00"],
    ["--no-such-option", "1"],
]


def function_of(name: str) -> Any:
    return getattr(import_module(f"gatepost.cli.{name}"), name)


@for_each("name", _LONG)
def test_they_are_read_as_the_other_parser_reads_them(name: str) -> None:
    for words in PLAIN[name]:
        read = load_command(name).make_context(name, list(words)).params
        defaults = {key: one.default for key, one in inspect.signature(function_of(name)).parameters.items()}
        assert defaults | (read_plain(function_of(name), words) or {}) == read
        assert len(read_plain(function_of(name), words) or {}) == sum(word.startswith("--") for word in words)


@for_each("name", _LONG)
def test_every_option_can_be_plain(name: str) -> None:
    texts = {int: "1", str: "a", Path: "a"}
    kinds = [str(one.annotation) for one in inspect.signature(function_of(name)).parameters.values()]
    words = []
    for (option, _), kind in zip(inspect.signature(function_of(name)).parameters.items(), kinds, strict=True):
        words += ["--" + option.replace("_", "-"), texts[next(one for one in texts if one.__name__ in kind)]]
    assert len(read_plain(function_of(name), words) or {}) == len(kinds) > 4
    assert all(one.envvar is None for one in load_command(name).params)  # it would not be looked at


@pytest.mark.parametrize("words", NOT_PLAIN, ids=repr)
def test_everything_else_is_left_to_the_other_parser(words: list[str]) -> None:
    assert read_plain(function_of("serve"), words) is None


def gatepost(*words: str) -> list[str]:
    """Run the program. Return its exit code, the end of its errors, and whether it has imported the other parser."""
    code = "import atexit, sys, gatepost.cli; atexit.register(lambda: print('pydantic' in sys.modules)); "
    ran = subprocess.run(
        [sys.executable, "-c", f"{code}gatepost.cli.main()", *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )
    return [str(ran.returncode), ran.stderr.strip().rpartition("\n")[2], ran.stdout.splitlines()[-1]]


def test_a_gateway_does_without_the_other_parser(tmp_path: Path) -> None:
    error = "Error: role: must be one of: all, api, worker"
    assert gatepost("serve", "--role", "king", "--data", str(tmp_path)) == ["1", error, "False"]
    said = invoke("serve", "--port", "65536").err.strip().rpartition("\n")[2]
    assert gatepost("serve", "--port", "65536") == ["2", said, "True"]
