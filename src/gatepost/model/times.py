"""Times as the outside reads and writes them: RFC 3339 in UTC with milliseconds."""

from datetime import UTC, date, datetime
from functools import lru_cache


@lru_cache(256)  # a batch shows the same moment hundreds of times
def show(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def show_maybe(at: datetime | None) -> str | None:
    return show(at) if at else None


def month_of(at: datetime) -> date:
    """The first day of the month, in UTC: plans count by it."""
    return at.astimezone(UTC).date().replace(day=1)


def month_seconds(at: datetime) -> int:
    """The length of the month that holds `at`."""
    first = month_of(at)
    return int((month_end(at) - datetime(first.year, first.month, 1, tzinfo=UTC)).total_seconds())


def month_end(at: datetime) -> datetime:
    """When the month's plan begins anew."""
    first = month_of(at)
    year, month = (first.year + 1, 1) if first.month == 12 else (first.year, first.month + 1)
    return datetime(year, month, 1, tzinfo=UTC)
