"""Parsing of arguments: ids, durations, times, `name: value`."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

import typer

from gatepost.admin.checks import THINGS
from gatepost.model import ids
from gatepost.model.errors import invalid_field

TimeZone = Annotated[
    str | None, typer.Option(help="Time zone of dates, for example America/Sao_Paulo.", show_default="UTC")
]
_DURATION = re.compile(r"([0-9]{1,6})(s|m|h|d)")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def read_id(prefix: str, text: str) -> UUID:
    """Parse an id, such as `ch_…`."""
    id_ = ids.parse_id(prefix, text)
    if id_ is None:
        thing = THINGS[prefix]
        raise invalid_field(thing, f"{text!r} is not an id; ids look like {prefix}_ and 32 hex digits")
    return id_


def read_duration(text: str, field: str) -> timedelta:
    """Parse a duration: 90s, 30m, 24h, 7d, or 0."""
    if text == "0":
        return timedelta(0)
    match = _DURATION.fullmatch(text)
    if match is None:
        raise invalid_field(field, "must be a duration like 30m, 24h or 7d")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def read_time(text: str | None, field: str, now: datetime) -> datetime | None:
    """Parse a time: 2027-01-31, 2027-01-31T10:00:00Z, or relative to now, 90d."""
    if text is None:
        return None
    if _DURATION.fullmatch(text):
        return now + read_duration(text, field)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise invalid_field(field, "must be a time like 90d, 2027-01-31 or 2027-01-31T10:00:00Z") from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def read_headers(lines: Sequence[str]) -> dict[str, str]:
    """Parse headers, each written as `Name: value`."""
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise invalid_field("headers", f"{line[:100]!r} must be written as 'Name: value'")
        headers[name.strip()] = value.strip()
    return headers


def read_list(text: str) -> tuple[str, ...]:
    """Parse a comma-separated list."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def given(**values: Any) -> dict[str, Any]:
    """Return the arguments that are not None."""
    return {name: value for name, value in values.items() if value is not None}
