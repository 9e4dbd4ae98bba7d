"""The page about the command line names every command and every option worth a name."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from gatepost.cli.root import app

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "cli.md").read_text()


def leaves(command: Any, path: tuple[str, ...] = ("gatepost",)) -> Iterator[tuple[str, ...]]:
    for name, inner in getattr(command, "commands", {}).items():
        if not hasattr(inner, "commands") or getattr(inner, "invoke_without_command", False):
            yield (*path, name)
        yield from leaves(inner, (*path, name))


def is_named(path: tuple[str, ...], page: str) -> bool:
    """In full, or in short behind another command of its group on the same line."""
    *group, name = path
    short = rf"`(?:{re.escape(group[-1])} )?{re.escape(name)}[ `…]"
    return any(
        f"`{' '.join(path)}" in line or (f"`{' '.join(group)} " in line and re.search(short, line))
        for line in page.splitlines()
    )


def test_every_command_has_its_line() -> None:
    found = list(leaves(typer.main.get_command(app)))
    assert ("gatepost", "sandbox") in found
    assert ("gatepost", "sandbox", "fault", "add") in found
    assert len(found) > 45
    assert [path for path in found if not is_named(path, PAGE)] == []


def test_commands_print_objects_of_the_contract() -> None:
    modules = sorted((Path(__file__).parents[2] / "src" / "gatepost" / "cli").glob("*.py"))
    assert len(modules) > 20
    by_hand = [path.name for path in modules if re.search(r"CommandResult\(\s*\[?\{", path.read_text())]
    assert by_hand == ["users.py"], "declare the result in api/contract"


def test_a_command_without_a_line_is_found() -> None:
    assert not is_named(("gatepost", "sandbox", "dream"), PAGE)
    assert not is_named(("gatepost", "channel", "dream"), PAGE)
    assert is_named(("gatepost", "account", "show"), PAGE)
