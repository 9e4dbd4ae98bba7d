"""Times in their public form, RFC 3339 in UTC with milliseconds, and the months of plans."""

from datetime import UTC, date, datetime
from functools import lru_cache

import msgspec


@lru_cache(256)  # a batch formats the same time hundreds of times
def format_time(at: datetime) -> str:
    text: str = msgspec.to_builtins(at if at.tzinfo is UTC else at.astimezone(UTC))  # four times as fast as isoformat
    return text[:23] + "Z" if at.microsecond else text[:19] + ".000Z"


def format_optional_time(at: datetime | None) -> str | None:
    return format_time(at) if at else None


def month_of(at: datetime) -> date:
    """Return the first day of the month in UTC. Plans have quotas per month."""
    return at.astimezone(UTC).date().replace(day=1)


def month_seconds(at: datetime) -> int:
    """Return the length of the month of `at`."""
    first = month_of(at)
    return int((month_end(at) - datetime(first.year, first.month, 1, tzinfo=UTC)).total_seconds())


def month_end(at: datetime) -> datetime:
    """Return the start of the next month, when the plan's quotas are reset."""
    first = month_of(at)
    year, month = (first.year + 1, 1) if first.month == 12 else (first.year, first.month + 1)
    return datetime(year, month, 1, tzinfo=UTC)
