"""Usage: the messages of a channel or an account by day and type, and why messages failed."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

import msgspec

from gatepost.model.dates import Days
from gatepost.model.event.acknowledgements import MessageError
from gatepost.networks.cloud.errors import find_entry
from gatepost.store.pool import Database
from gatepost.store.usage import (
    CHUNK,
    CodeSum,
    DayCount,
    FailureSum,
    MessageSum,
    count_messages,
    find_uncounted,
    read_days,
    read_errors,
    sum_codes,
    sum_failures,
    sum_messages,
)

DAYS = 30
_CATCH_UP = 2  # chunks that one request counts at most; housekeeping counts the rest
_CODES = 50  # error codes of one answer
_CHANNELS = 20  # channels that one request counts at most; housekeeping counts the others within a minute
_decode_error = msgspec.json.Decoder(MessageError).decode


async def daily_usage(db: Database, channel_id: UUID, now: datetime) -> tuple[list[date], Sequence[DayCount]]:
    """Return the last days in UTC, today first, and the messages of those that have some."""
    for _ in range(_CATCH_UP):
        if await count_messages(db, channel_id) < CHUNK:
            break
    today = now.astimezone(UTC).date()
    days = [today - timedelta(days=back) for back in range(DAYS)]
    return days, await read_days(db, channel_id, days[-1])


class Failure(msgspec.Struct, frozen=True):
    """How many messages failed with a code, and the error of the newest of them. None: nothing is known any more."""

    counted: CodeSum
    error: MessageError | None


class UsageFigures(msgspec.Struct, frozen=True):
    """What was counted."""

    messages: list[MessageSum]
    failed: list[FailureSum]
    failures: list[Failure]


async def read_figures(db: Database, channel_ids: Sequence[UUID], days: Days) -> UsageFigures:
    """Count what is new, as far as that is quick, and return the figures of these days."""
    for channel_id in await find_uncounted(db, channel_ids, _CHANNELS):
        if await count_messages(db, channel_id) == CHUNK:
            break  # more is left than a request should count
    codes = await sum_codes(db, channel_ids, days, _CODES)
    errors = await read_errors(db, codes) if codes else {}
    return UsageFigures(
        await sum_messages(db, channel_ids, days),
        await sum_failures(db, channel_ids, days),
        [Failure(one, _error(one.code, errors.get(one.message_id))) for one in codes],
    )


def _error(code: str, text: str | None) -> MessageError | None:
    """Return the error of a message, or what is known of its code."""
    if text:
        return _decode_error(text)
    entry = find_entry(int(code)) if code.isdecimal() else None
    return MessageError(code, entry.title, None, entry.failed or entry.advice) if entry else None
