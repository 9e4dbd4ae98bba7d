"""Reads the options of a command that runs for long, without the parser of the other commands.

That parser is a library that takes 10 MiB for as long as the process runs, and a tenth of a second at its start. It
reads everything that is not as plain as below: a request for help, an error, an option that is given twice.

    --name value    --name=value    a text, a path, or a number within its limits
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints


def read_plain(function: Callable[..., None], words: Sequence[str]) -> dict[str, Any] | None:
    """Return the arguments for the function of a command; None if its own parser has to read the words."""
    hints = get_type_hints(function, include_extras=True)
    options = {"--" + name.replace("_", "-"): name for name in hints if name != "return"}
    arguments: dict[str, Any] = {}
    rest = list(words)
    while rest:
        option, given, text = rest.pop(0).partition("=")
        name = options.get(option, "")
        if not given:
            text = rest.pop(0) if rest else ""
        value = _read(hints[name], text) if name and name not in arguments else None
        if value is None:
            return None
        arguments[name] = value
    return arguments


def _read(hint: Any, text: str) -> Any:
    """Return the value of an option; None if it is not plain."""
    declared, option = get_args(hint)
    (kind,) = [one for one in get_args(declared) or (declared,) if one is not NoneType]
    if not text.isprintable() or text.startswith("-") or not text:
        return None
    if kind is not int:
        return kind(text) if kind in (str, Path) else None
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None
    return number if number is not None and option.min <= number <= option.max else None
