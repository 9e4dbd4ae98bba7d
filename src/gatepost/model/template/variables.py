"""The variables in a template's text: `{{1}}`, `{{2}}`, … or `{{first_name}}`."""

import re
from collections.abc import Mapping

from gatepost.model.errors import invalid_field
from gatepost.model.limits import limit

_VARIABLE = re.compile(r"\{\{([^{}]*)\}\}")
# Languages without spaces between words (Thai, Lao, Burmese, Khmer, Japanese, Chinese): each character is a word.
_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_REFUSED = re.compile(r"[\n\t]| {5,}")


def variables_of(text: str) -> tuple[str, ...]:
    """Return the names of the variables in a text, without duplicates, in order of appearance."""
    return tuple(dict.fromkeys(name.strip() for name in _VARIABLE.findall(text)))


def fill(text: str, values: Mapping[str, str]) -> str:
    """Return the text with its variables filled in. A variable without a value stays unchanged."""
    return _VARIABLE.sub(lambda found: values.get(found[1].strip(), found[0]), text)


def check_variables(path: str, text: str, *, named: bool) -> tuple[str, ...]:
    """Check the names of the variables in a text; return the names."""
    if "{{" in _VARIABLE.sub("", text) or "}}" in _VARIABLE.sub("", text):
        raise invalid_field(path, "has a variable with unmatched braces; write {{1}} or {{name}}")
    if any(name != name.strip() for name in _VARIABLE.findall(text)):
        raise invalid_field(path, "has spaces inside a variable's braces; write {{1}} or {{name}}")
    names = variables_of(text)
    if named:
        _check_named(path, names)
    else:
        _check_counted(path, names)
    if re.search(r"\}\}\s*\{\{", text):
        raise invalid_field(path, "has two adjacent variables; put words between them")
    return names


def check_setting(path: str, text: str) -> None:
    """Check that the text does not begin or end with a variable, and has enough words for its variables."""
    bare, count = text.strip(), len(_VARIABLE.findall(text))
    if bare.startswith("{{") or bare.endswith("}}"):
        raise invalid_field(path, "must not begin or end with a variable; put words before and after it")
    words, share = len(_WORD.findall(_VARIABLE.sub(" ", text))), limit("template.words_per_variable").min or 0
    if count and words < share * count + 1:
        raise invalid_field(
            path, f"has too many variables for its length: {count} need at least {share * count + 1} words around them"
        )


def _check_named(path: str, names: tuple[str, ...]) -> None:
    row = limit("template.variable_name")
    for name in names:
        if not row.fits(len(name)) or not row.matches(name):
            raise invalid_field(
                path, f"has the variable {{{{{name}}}}}; use lowercase letters, digits and underscores, {row.words()}"
            )


def _check_counted(path: str, names: tuple[str, ...]) -> None:
    if list(names) != [str(i + 1) for i in range(len(names))]:
        wrong = ", ".join(f"{{{{{name}}}}}" for name in names)
        raise invalid_field(
            path,
            f"has {wrong}; number variables {{{{1}}}}, {{{{2}}}}, … without a gap, "
            'or name them and set "parameter_format": "named"',
        )


def check_value(path: str, text: str) -> None:
    """Reject a value of a text or header variable that the network refuses (its error 132018)."""
    if _REFUSED.search(text):
        raise invalid_field(
            path,
            "must not contain line breaks, tabs or more than 4 consecutive spaces: the network refuses them in the "
            "variables of a template",
        )
