"""The reference pages: generated ones are up to date, and commands and routes in examples exist."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from gatepost.api.app import HEALTH, REFERENCE, ROUTES
from gatepost.cli.root import app
from tests.docs.generate import FOLDER, commands, pages, setting_names

DOCS = FOLDER.parent
COMMANDS = dict(commands(typer.main.get_command(app)))
CODE = re.compile(r"^ *```(?:sh|bash)?\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
SEND = "/api/v1/message/send"


@pytest.mark.parametrize("name", pages())
def test_generated_pages_are_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_text() == pages()[name], "run `make docs`"


def test_every_setting_has_a_line() -> None:
    text = (FOLDER / "settings.md").read_text()
    assert setting_names() == set(re.findall(r"^\| `([\w.]+)` \|", text, re.MULTILINE))


def test_every_command_has_a_heading() -> None:
    headings = re.findall(r"^## (.+)$", (FOLDER / "command-options.md").read_text(), re.MULTILINE)
    assert headings == [" ".join(path) for path in COMMANDS]
    assert len(headings) > 45


def calls(text: str) -> list[list[str]]:
    """Return the calls of `gatepost` in code blocks, each as its words."""
    code = "\n".join(CODE.findall(text)).replace("\\\n", " ")
    lines = [line.strip().removeprefix("$ ") for line in code.splitlines()]
    return [shlex.split(re.split(r"[|<>&]|\s#", line)[0]) for line in lines if line.startswith("gatepost ")]


def check_call(words: list[str]) -> str | None:
    """Return what is wrong with a call, if anything."""
    path = next((tuple(words[:n]) for n in range(len(words), 1, -1) if tuple(words[:n]) in COMMANDS), None)
    if path is None:
        return f"no such command: {' '.join(words)}"
    known = {name for option in COMMANDS[path].params for name in [*option.opts, *option.secondary_opts]} | {"--help"}
    unknown = [word for word in words[len(path) :] if word.startswith("--") and word.partition("=")[0] not in known]
    return f"{' '.join(path)} has no {unknown}" if unknown else None


def test_commands_in_examples_exist() -> None:
    found = [(page, words) for page in sorted(DOCS.rglob("*.md")) for words in calls(page.read_text())]
    assert len(found) > 30
    assert [(page.name, wrong) for page, words in found if (wrong := check_call(words))] == []


def test_a_wrong_command_is_found() -> None:
    assert check_call(["gatepost", "key", "rotate", "key_1", "--overlap", "24h"]) is None
    assert check_call(["gatepost", "key", "turn", "key_1"]) == "no such command: gatepost key turn key_1"
    assert check_call(["gatepost", "key", "rotate", "--soon"]) == "gatepost key rotate has no ['--soon']"
    assert calls("```sh\ngatepost key \\\n  list ch_… | cat\n```\n") == [["gatepost", "key", "list", "ch_…"]]


def routes(page: Path) -> set[str]:
    """Return the paths of the API in examples, with `*` for ids."""
    code = "\n".join(CODE.findall(page.read_text()))
    found = re.findall(r"\$(?:URL|GATEPOST_URL)\"?(/api/v1/[\w/$…{}-]+)", code)
    return {re.sub(r"/(?:[a-z]{2,4}_…|\$\w+|01A1\w+|ID)(?=/|$)", "/*", path) for path in found} - {"/api/v1/*"}


def test_routes_in_examples_exist() -> None:
    known = {re.sub(r"\{\w+\}", "*", route.path) for route in [*ROUTES, *REFERENCE, *HEALTH]} | {SEND}
    named = {(page.name, path) for page in DOCS.rglob("*.md") for path in routes(page)}
    assert len(named) > 40
    assert sorted((page, path) for page, path in named if path not in known) == []
