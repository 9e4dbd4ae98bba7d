"""Parses the dates and times of a request into a half-open range of ids.

from ≤ message < to        2026-11-15 is its midnight in `tz`; 2026-11-15T10:00:00Z is itself
"""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from gatepost.model import ids
from gatepost.model.errors import invalid_field

LAST_ID = UUID(int=(1 << 128) - 1)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
# A plus sign that is not URL-encoded arrives as a space.
_TIME = re.compile(r"(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)([Zz]|[+ -]\d{2}:\d{2})", re.ASCII)
_ZONE = re.compile(r"[A-Za-z0-9_+-]{1,40}(/[A-Za-z0-9_+-]{1,40}){0,2}", re.ASCII)
_FORM = "must be a date like 2026-11-15, or a time with its zone like 2026-11-15T10:00:00Z"


class IdRange(msgspec.Struct, frozen=True):
    """All ids from `start` to `end`, without `end`."""

    start: UUID = ids.ZERO
    end: UUID = LAST_ID


def read_span(from_: str | None, to: str | None, tz: str | None) -> IdRange:
    """Return the ids of the messages between two dates or times; a missing end is open."""
    zone = read_zone(tz)
    start = None if from_ is None else read_moment("from", from_, zone)
    end = None if to is None else read_moment("to", to, zone)
    if start is not None and end is not None and start >= end:
        raise invalid_field("to", "must be later than 'from'; the range ends before 'to'")
    return IdRange(ids.ZERO if start is None else first_id(start), LAST_ID if end is None else first_id(end))


class Days(msgspec.Struct, frozen=True):
    """The days from `first` to `end`, without `end`."""

    first: date
    end: date

    def __iter__(self) -> Iterator[date]:
        return (self.first + timedelta(days=number) for number in range((self.end - self.first).days))


def read_days(from_: str | None, to: str | None, today: date, *, default: int, longest: int) -> Days:
    """Return the days of a range in UTC. Without `to` it ends with today; without `from` it has the default length."""
    end = _read_day("to", to) if to is not None else None
    first = _read_day("from", from_) if from_ is not None else None
    if end is None:
        end = today + timedelta(days=1)
    if first is None:
        first = date.fromordinal(max(date.min.toordinal(), end.toordinal() - default))
    if first >= end:
        raise invalid_field("to", "must be later than 'from'; the range ends before 'to'")
    if (end - first).days > longest:
        raise invalid_field("from", f"must be at most {longest} days before 'to'")
    return Days(first, end)


def _read_day(field: str, text: str) -> date:
    if not _DATE.fullmatch(text):
        raise invalid_field(field, "must be a date like 2026-11-15; days are in UTC")
    return read_moment(field, text, read_zone(None)).date()


def read_moment(field: str, text: str, zone: ZoneInfo) -> datetime:
    """Parse a date or a time; return it in UTC."""
    if text.startswith("9999-"):  # the last year of Python's datetime: converting the time zone could overflow
        raise invalid_field(field, "must be before the year 9999")
    try:
        if _DATE.fullmatch(text):
            day = date.fromisoformat(text)
            return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)
        found = _TIME.fullmatch(text)
        if found:
            day_part, clock, offset = found.groups()
            moment = f"{day_part}T{clock}{offset.upper().replace(' ', '+')}"
            return datetime.fromisoformat(moment).astimezone(UTC)
    except (ValueError, OverflowError):
        raise invalid_field(field, f"'{text}' is not a valid date") from None
    raise invalid_field(field, _FORM)


def check_moment(field: str, at: datetime) -> datetime:
    """Return a time in UTC, or raise if it has no time zone or does not exist in UTC."""
    if at.tzinfo is None:
        raise invalid_field(field, "needs a time zone, e.g. 2026-11-15T10:00:00Z")
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise invalid_field(field, "must be within the years 1 to 9999 in UTC") from None


@lru_cache(64)
def read_zone(text: str | None) -> ZoneInfo:
    """Return a time zone by its IANA name; UTC if none is given."""
    if text is None:
        return ZoneInfo("UTC")
    try:
        if _ZONE.fullmatch(text):
            return ZoneInfo(text)
    except (OSError, ValueError, LookupError):
        pass
    raise invalid_field("tz", "is not a time zone; give its IANA name, e.g. America/Sao_Paulo")


def first_id(at: datetime) -> UUID:
    """Return the smallest id that is not before this time. Ids have whole milliseconds."""
    whole = at.replace(microsecond=at.microsecond // 1000 * 1000)
    return ids.floor_id(whole if whole == at else whole + timedelta(milliseconds=1))
