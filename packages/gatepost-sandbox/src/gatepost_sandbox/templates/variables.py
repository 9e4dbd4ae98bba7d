"""The variables in a template's text: which there are, in which order, and whether there is enough text around them."""

import re
from typing import Any

from gatepost_sandbox.errors import Refusal
from gatepost_sandbox.templates.problems import TOO_MANY_VARIABLES, VARIABLE_AT_EDGE, lacking, wrong
from gatepost_sandbox.templates.template import Format

_VARIABLE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_ADJACENT = re.compile(r"\}\}\s*\{\{")
_NAME = re.compile(r"[a-z_][a-z0-9_]*\Z")
# Languages without spaces between words (Thai, Lao, Burmese, Khmer, Japanese, Chinese): each character is a word.
_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")


def names_in(text: str) -> list[str]:
    """Return the variables of a text, each once, in the order they come."""
    return list(dict.fromkeys(found.strip() for found in _VARIABLE.findall(text)))


def check_names(text: str, form: Format, subcode: int) -> Refusal | None:
    """Check that variables are {{1}}, {{2}}, … in order, or named, by the template's format."""
    names = names_in(text)
    if form == "POSITIONAL" and names != [str(place) for place in range(1, len(names) + 1)]:
        return wrong("Variables must be {{1}}, {{2}} and so on, in order and with none left out.", subcode)
    if form == "NAMED" and not all(_NAME.match(name) for name in names):
        return wrong("Names of variables consist of small letters, digits and underscores.", subcode)
    if "{{" in _VARIABLE.sub("", text) or "}}" in _VARIABLE.sub("", text):
        return wrong("The text has an opened or closed brace too many.", subcode)
    return None


def check_places(text: str, subcode: int) -> Refusal | None:
    """Check that a variable is neither first, last nor next to another, and that there is enough text around it."""
    bare = text.strip()
    if bare.startswith("{{") or bare.endswith("}}"):
        return wrong("The text must not begin or end with a variable.", VARIABLE_AT_EDGE)
    if _ADJACENT.search(text):
        return wrong("There must be text between two variables.", subcode)
    count, words = len(_VARIABLE.findall(text)), len(_WORD.findall(_VARIABLE.sub(" ", text)))
    if count and words < 2 * count + 1:
        return wrong(f"{count} variables need at least {2 * count + 1} other words.", TOO_MANY_VARIABLES)
    return None


def check_examples(part: dict[str, Any], kind: str, key: str, form: Format, names: list[str]) -> Refusal | None:
    """Check that each variable has an example; `key` is the field that holds them, such as body_text."""
    if not names:
        return None
    example = part.get("example")
    given = example.get(key if form == "POSITIONAL" else f"{key}_named_params") if isinstance(example, dict) else None
    if not isinstance(given, list) or not given:
        return lacking(kind, "example")
    if form == "NAMED":
        named = {item.get("param_name") for item in given if isinstance(item, dict) and item.get("example")}
        return None if named == set(names) else wrong(f"The examples of the {kind} must name each variable once.")
    row = given[0] if key == "body_text" and isinstance(given[0], list) else given
    good = len(row) == len(names) and all(isinstance(item, str) and item for item in row)
    return None if good else wrong(f"The {kind} has {len(names)} variables and {len(row)} examples.")
