"""Named parameters: `:name` in a statement becomes `$n`, so that its text can be put together from several pieces."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

SEPARATOR = "\x1e"  # between the texts of a list that is passed as one text; JSON escapes it
GROUP_SEPARATOR = "\x1d"  # between such lists that are passed as one text
_PARAMETER = re.compile(r"(?<!:):([a-z_][a-z0-9_]*)")  # and no cast such as ::uuid[]


def statement(text: str, /, **values: Any) -> tuple[Any, ...]:
    """Return the text with positions and the arguments: `await conn.fetch(*statement(text, channel_id=…))`."""
    sql, names = _compile(text)
    if len(names) != len(values):
        raise TypeError(f"parameters {sorted(set(names) ^ set(values))} are missing or not used")
    return (sql, *[values[name] for name in names])


def statement_rows(text: str, rows: Sequence[Mapping[str, Any]]) -> tuple[str, list[tuple[Any, ...]]]:
    """Return the text with positions and the arguments of each row, for `fetchmany` and `executemany`."""
    sql, names = _compile(text)
    return sql, [tuple(row[name] for name in names) for row in rows]


def columns_of(rows: Sequence[Any], *names: str) -> dict[str, list[Any]]:
    """Return the values of these attributes as parameters: `unnest(:name::type[], …)`."""
    return {name: [getattr(row, name) for row in rows] for name in names}


def json_text(value: Any) -> str:
    """Return a value as JSON, for a column or a parameter."""
    return msgspec.json.encode(value).decode()


def next_id(digits: str, nth: str) -> str:
    """Return the SQL of the nth id after another one, both as 32 hex digits.

    Only the lower 64 bits change: the highest of their free bits is 0 in a new id (`model/ids.py`).
    """
    return f"(left({digits}, 16) || lpad(to_hex(('x' || right({digits}, 16))::bit(64)::bigint + {nth}), 16, '0'))"


@cache
def _compile(text: str) -> tuple[str, tuple[str, ...]]:
    positions: dict[str, int] = {}

    def position(match: re.Match[str]) -> str:
        return f"${positions.setdefault(match[1], len(positions) + 1)}"

    return _PARAMETER.sub(position, text), tuple(positions)
