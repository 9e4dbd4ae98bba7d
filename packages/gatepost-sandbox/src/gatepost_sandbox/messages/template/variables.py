"""The variables of a template's texts, {{1}} or {{first_name}}, and the parameters that fill them."""

import re
from typing import Any

from gatepost_sandbox.errors import Refusal
from gatepost_sandbox.messages.fields import Refused

_VARIABLE = re.compile(r"\{\{\s*([A-Za-z0-9_]+)\s*\}\}")
_UNFIT = re.compile(r"[\n\t]| {5,}")
_WORDS = ("text", "currency", "date_time")


def find_variables(text: str) -> list[str]:
    """Return the names of a text's variables, each once, in the order they are filled."""
    names = dict.fromkeys(_VARIABLE.findall(text))
    return sorted(names, key=int) if all(name.isdigit() for name in names) else list(names)


def find_parameters(components: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return the parameters of the components of one type."""
    return [
        parameter
        for component in components
        if component["type"].lower() == kind
        for parameter in component.get("parameters") or []
    ]


def check_words(where: str, text: str, parameters: list[dict[str, Any]], *, named: bool) -> str:
    """Check that the parameters match the variables of a text; return the text with its variables filled in."""
    wanted = find_variables(text)
    if len(parameters) != len(wanted):
        details = (
            f"{where}: number of localizable_params ({len(parameters)}) does not match the expected number of params "
            f"({len(wanted)})"
        )
        raise Refused(Refusal(132000, details=details))
    for parameter in parameters:
        _check_word(where, parameter)
    names = [str(parameter.get("parameter_name", "")) for parameter in parameters]
    if named and sorted(names) != sorted(wanted):
        raise mismatch(where, f"parameters named {', '.join(wanted)}", ", ".join(names) or "none")
    return fill(text, parameters)


def _check_word(where: str, parameter: dict[str, Any]) -> None:
    if parameter["type"].lower() not in _WORDS:
        raise mismatch(where, "text", parameter["type"])
    if _UNFIT.search(words_of(parameter)):
        details = f"{where}: a parameter must not have new lines, tabs or more than 4 spaces in a row"
        raise Refused(Refusal(132018, details=details))


def words_of(parameter: dict[str, Any]) -> str:
    """Return the text that a parameter gives its variable."""
    kind = parameter["type"].lower()
    return str(parameter["text"] if kind == "text" else parameter[kind]["fallback_value"])


def fill(text: str, parameters: list[dict[str, Any]]) -> str:
    """Return a text with its variables replaced, by name if the parameters have names."""
    order = find_variables(text)
    words = {
        str(parameter.get("parameter_name") or name): words_of(parameter)
        for name, parameter in zip(order, parameters, strict=False)
    }
    return _VARIABLE.sub(lambda found: words.get(found[1], found[0]), text)


def mismatch(where: str, wanted: str, got: str) -> Refused:
    """Return a parameter of the wrong sort."""
    return Refused(
        Refusal(132012, details=f"{where}: Format mismatch, expected {wanted.upper()}, received {got.upper()}")
    )
