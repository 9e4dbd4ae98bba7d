"""Usage: what the account has used of its plan, and what the channel carries, day by day."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

from gatepost.model import times
from gatepost.model.account import API_ACCESS, Plan
from gatepost.store.accounts import Account
from gatepost.store.pool import Database
from gatepost.store.usage import CHUNK, DayCount, count_messages, read_days

DAYS = 30
_CATCH_UP = 2  # chunks that one request counts at most; the rest is upkeep's


async def daily_usage(db: Database, channel_id: UUID, now: datetime) -> list[dict[str, Any]]:
    """The last days, today first, each with its messages by direction and type; in UTC."""
    for _ in range(_CATCH_UP):
        if await count_messages(db, channel_id) < CHUNK:
            break
    today = now.astimezone(UTC).date()
    counts = await read_days(db, channel_id, today - timedelta(days=DAYS - 1))
    return show_days(counts, today)


def show_days(counts: Sequence[DayCount], today: date) -> list[dict[str, Any]]:
    """A row for every day, also for those without a message."""
    days = [today - timedelta(days=back) for back in range(DAYS)]
    return [_show_day(day, [count for count in counts if count.day == day]) for day in days]


def _show_day(day: date, counts: Sequence[DayCount]) -> dict[str, Any]:
    shown: dict[str, Any] = {"date": day.isoformat()}
    for way, incoming in (("out", False), ("in", True)):
        types = {count.type: count.count for count in counts if count.incoming == incoming}
        shown[way] = {"total": sum(types.values()), "types": types}
    return shown


def show_plan(account: Account, plans: Mapping[str, Plan], used: int, now: datetime) -> dict[str, Any]:
    """The month's plan: its limit, what is used of it, and what is left."""
    plan = plans[account.plan]
    limit = plan.messages_per_month
    return {
        "name": account.plan,
        "title": plan.title,
        "month": times.month_of(now).isoformat()[:7],
        "limit": limit,
        "used": used,
        "left": None if limit is None else max(0, limit - used),
        "resets_at": times.show(times.month_end(now)),
    }


def show_storage(account: Account, plans: Mapping[str, Plan], used: int) -> dict[str, Any]:
    """Bytes of files against the plan."""
    limit = plans[account.plan].storage_bytes
    return {"limit": limit, "used": used, "left": None if limit is None else max(0, limit - used)}


def show_access(account: Account, now: datetime) -> dict[str, Any]:
    """Why the API may be used, and until when."""
    return {
        "trial": {"active": now < account.trial_ends_at, "ends_at": times.show(account.trial_ends_at)},
        "addons": list(account.addons),
        "api_access": API_ACCESS in account.addons,
    }
