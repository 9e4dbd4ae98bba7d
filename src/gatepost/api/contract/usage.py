"""Usage in answers."""

import datetime
from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from gatepost.api.contract.channel import Number, Throughput, Tier
from gatepost.api.contract.fields import ApiObject, Time
from gatepost.model import times
from gatepost.model.account import Plan
from gatepost.store.accounts import Account
from gatepost.store.usage import DayCount


class PlanUsage(ApiObject, frozen=True):
    """The plan of the account, and its messages of this month. A limit of null means no limit."""

    name: Annotated[str, Meta(examples=["starter"])]
    title: Annotated[str, Meta(examples=["Starter"])]
    month: Annotated[str, Meta(examples=["2026-11"])]
    limit: Annotated[int | None, Meta(examples=[12_000])]
    used: Annotated[int, Meta(examples=[4711])]
    left: Annotated[int | None, Meta(examples=[7289])]
    resets_at: Annotated[Time, Meta(examples=["2026-12-01T00:00:00.000Z"])]

    @classmethod
    def of(cls, account: Account, plan: Plan, used: int, now: datetime.datetime) -> "PlanUsage":
        """Return the plan with what is used of it."""
        limit = plan.messages_per_month
        month, end = times.month_of(now).isoformat()[:7], times.format_time(times.month_end(now))
        return cls(account.plan, plan.title, month, limit, used, _left(limit, used), end)


class StorageUsage(ApiObject, frozen=True):
    """Bytes of files. A limit of null means no limit."""

    limit: Annotated[int | None, Meta(examples=[2_147_483_648])]
    used: Annotated[int, Meta(examples=[48_211])]
    left: Annotated[int | None, Meta(examples=[2_147_435_437])]

    @classmethod
    def of(cls, plan: Plan, used: int) -> "StorageUsage":
        """Return the bytes of files against the plan."""
        return cls(plan.storage_bytes, used, _left(plan.storage_bytes, used))


def _left(limit: int | None, used: int) -> int | None:
    return None if limit is None else max(0, limit - used)


class TrialPeriod(ApiObject, frozen=True):
    """The trial period of the account."""

    active: bool
    ends_at: Time


class ApiRate(ApiObject, frozen=True):
    """The maximum number of requests per second with one key, and the size of a burst."""

    rate: Annotated[Number, Meta(examples=[200])]
    burst: Annotated[int, Meta(examples=[400])]


class MessageCount(ApiObject, frozen=True):
    """Messages of one direction, in total and by type."""

    total: int
    types: Annotated[dict[str, int], Meta(examples=[{"text": 1}])]

    @classmethod
    def of(cls, counts: Sequence[DayCount], *, incoming: bool) -> "MessageCount":
        """Return the messages of one direction."""
        types = {count.type: count.count for count in counts if count.incoming == incoming}
        return cls(sum(types.values()), types)


class DayUsage(ApiObject, frozen=True, rename={"incoming": "in"}):
    """The messages of a day, in UTC."""

    date: Annotated[str, Meta(extra_json_schema={"format": "date"}, examples=["2026-11-15"])]
    out: MessageCount
    incoming: MessageCount

    @classmethod
    def of(cls, day: datetime.date, counts: Sequence[DayCount]) -> "DayUsage":
        """Return the messages of a day, both ways."""
        own = [count for count in counts if count.day == day]
        return cls(day.isoformat(), MessageCount.of(own, incoming=False), MessageCount.of(own, incoming=True))


class Usage(ApiObject, frozen=True):
    """The usage of this month, the limits and what is left of them, and the messages per day."""

    plan: PlanUsage
    storage: StorageUsage
    trial: TrialPeriod
    addons: Annotated[list[str], Meta(examples=[[]])]
    api_access: Annotated[bool, Meta(examples=[False])]
    tier: Tier
    throughput: Throughput
    api: ApiRate
    days: list[DayUsage]
