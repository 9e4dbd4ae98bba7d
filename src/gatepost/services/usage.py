"""Usage: the messages of a channel, day by day."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

from gatepost.store.pool import Database
from gatepost.store.usage import CHUNK, DayCount, count_messages, read_days

DAYS = 30
_CATCH_UP = 2  # chunks that one request counts at most; housekeeping counts the rest


async def daily_usage(db: Database, channel_id: UUID, now: datetime) -> tuple[list[date], Sequence[DayCount]]:
    """Return the last days in UTC, today first, and the messages of those that have some."""
    for _ in range(_CATCH_UP):
        if await count_messages(db, channel_id) < CHUNK:
            break
    today = now.astimezone(UTC).date()
    days = [today - timedelta(days=back) for back in range(DAYS)]
    return days, await read_days(db, channel_id, days[-1])
