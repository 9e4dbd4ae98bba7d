"""Checks of the values in a request. Errors name the exact field: `sections[0].rows[2].title`."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from gatepost.model.errors import FieldProblem, invalid_field
from gatepost.model.limits import limit
from gatepost.model.problem_collector import PROBLEMS_MAX, ProblemCollector, invalid_fields


def place(path: str, name: str) -> str:
    """Return the path of a field in an object."""
    return f"{path}.{name}" if path else name


def plain(name: Any) -> str:
    """Return a name from a request in a form that is safe in an error."""
    return str(name)[:64].encode("utf-8", "replace").decode()


def read_object(
    path: str, value: Any, required: Collection[str] = (), optional: Collection[str] = ()
) -> dict[str, Any]:
    """Return the fields of an object. Required ones must be set, unknown ones are rejected; null counts as not set."""
    if not isinstance(value, Mapping):
        fields = ", ".join([*required, *optional])
        raise invalid_field(path, f"must be an object with {fields}" if fields else "must be an object")
    unknown = [name for name in value if name not in required and name not in optional]
    missing = [name for name in required if value.get(name) is None]
    if unknown or missing:
        problems = [
            FieldProblem(place(path, plain(name)), "is not a field of this object") for name in unknown[:PROBLEMS_MAX]
        ]
        raise invalid_fields([*problems, *(FieldProblem(place(path, name), "is required") for name in missing)])
    return {name: field for name, field in value.items() if field is not None}


def read_text(path: str, value: Any, name: str) -> str:
    """Return a string that is within its limit, can be stored, and is not only spaces."""
    if not isinstance(value, str):
        raise invalid_field(path, "must be a string")
    row = limit(name)
    if row.min and not value.strip():
        raise invalid_field(path, f"is empty; it must have {row.words()}" if row.max else "is empty")
    if not row.fits(len(value)):
        raise invalid_field(path, f"may have {row.words()}, but has {len(value):,}")
    check_storable(path, value)
    if not row.matches(value):
        raise invalid_field(path, f"does not have the required format. {row.note}")
    return value


def read_texts(
    path: str, given: Mapping[str, Any], limits: Mapping[str, str], read_one: Callable[[str, Any, str], str] = read_text
) -> dict[str, str]:
    """Return the strings among the fields of an object, each checked against its limit; missing ones are omitted."""
    problems = ProblemCollector()
    read = {
        name: problems.read(read_one, place(path, name), given[name], limit_)
        for name, limit_ in limits.items()
        if name in given
    }
    problems.check()
    return {name: text for name, text in read.items() if text is not None}


def read_list(path: str, value: Any, name: str) -> list[Any]:
    """Return a list whose length is within its limit."""
    row = limit(name)
    if not isinstance(value, list | tuple):
        raise invalid_field(path, f"must be a list of {row.words()}")
    if not row.fits(len(value)):
        raise invalid_field(path, f"may have {row.words()}, but has {len(value):,}")
    return list(value)


def read_number(path: str, value: Any, name: str) -> float:
    """Return a number that is within its limit."""
    row = limit(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise invalid_field(path, f"must be a number, {row.words()}")
    if not row.fits(value):
        raise invalid_field(path, f"must be {row.words()}")
    return value


def read_flag(path: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise invalid_field(path, "must be true or false")
    return value


def read_choice(path: str, value: Any, choices: Collection[str]) -> str:
    if not isinstance(value, str) or value not in choices:
        raise invalid_field(path, f"must be one of {', '.join(choices)}")
    return value


def read_choices(path: str, values: Sequence[str], choices: Collection[str]) -> Sequence[str]:
    """Return values that must all be among the choices."""
    unknown = next((value for value in values if value not in choices), None)
    if unknown is not None:
        raise invalid_field(path, f"'{plain(unknown)}' is not one of them; there are: {', '.join(choices)}")
    return values


def read_url(path: str, value: Any, name: str) -> str:
    """Return an http or https URL. Whether it may be called is checked elsewhere."""
    text = read_text(path, value, name)
    if not _is_url(text):
        raise invalid_field(path, "must be a URL that begins with https:// or http:// and has no spaces")
    return text


def _is_url(text: str) -> bool:
    if any(letter <= " " or letter == "\x7f" or letter.isspace() for letter in text):
        return False
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def check_unlike(values: Collection[tuple[str, str]], what: str) -> None:
    """Reject duplicate values; each value has its path."""
    seen: dict[str, str] = {}
    for where, value in values:
        if value in seen:
            raise invalid_field(where, f"is the same as {seen[value]}; each {what} needs its own")
        seen[value] = where


def check_storable(field: str, text: str) -> None:
    """Reject text that PostgreSQL cannot store: NUL and lone surrogates."""
    if "\x00" in text:
        raise invalid_field(field, "must not contain the character NUL")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise invalid_field(field, "is not valid Unicode text") from None


def check_storable_all(path: str, value: Any, depth: int) -> None:
    """Check every string in a nested value, including names, down to a maximum depth."""
    if depth < 0:
        raise invalid_field(path, "is nested too deeply")
    if isinstance(value, str):
        check_storable(path, value)
    elif isinstance(value, Mapping):
        for name, field in value.items():
            check_storable(place(path, plain(name)), str(name))
            check_storable_all(place(path, plain(name)), field, depth - 1)
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            check_storable_all(f"{path}[{i}]", item, depth - 1)
