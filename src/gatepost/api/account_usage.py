"""The usage of an account: messages by day, type and channel, failures by code, against plan and network limits."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date
from typing import Annotated
from uuid import UUID

from msgspec import Meta

from gatepost.admin.accounts import get_account
from gatepost.api.account_channels import own_channel
from gatepost.api.channel import decode_headroom
from gatepost.api.context import ApiContext, Context, CurrentUser
from gatepost.api.contract.account_usage import ChannelUsage, FailureCount, UsageDay, UsageReport
from gatepost.api.contract.usage import PlanUsage, StorageUsage
from gatepost.api.query import Query
from gatepost.api.route import get
from gatepost.model import times
from gatepost.model.account import plan_of
from gatepost.model.dates import Days, read_days
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.services.usage import UsageFigures, read_figures
from gatepost.store.accounts import Account
from gatepost.store.channels import ChannelConfig, list_channels
from gatepost.store.links import LinkRow, list_links
from gatepost.store.media.storage import stored_bytes
from gatepost.store.quota import used_in_month
from gatepost.store.usage import MessageSum, read_states

_DEFAULT, _LONGEST = 30, 92  # days


FirstDay = Annotated[str, Meta(description=f"The first day, in UTC. The default is {_DEFAULT} days before `to`.")]
EndDay = Annotated[str, Meta(description=f"The day after the last one, at most {_LONGEST} days after `from`.")]


class UsageQuery(Query, frozen=True, kw_only=True):
    """Which days, and of which channel."""

    from_: FirstDay | None = None
    to: EndDay | None = None
    channel: Annotated[str, Meta(description="Only this channel.")] | None = None


@get("/api/v1/account/usage", access="session", summary="Get the usage of the account")
async def show_account_usage(query: UsageQuery, gateway: Context, user: CurrentUser) -> UsageReport:
    """Messages by day, type and channel, failures by error code, and files, against the plan and the network's limits.

    Days are in UTC, as the month of the plan. A message counts on the day when it was accepted or received. Counts of
    the last minute may be missing on a busy account. Messages of deleted channels count in the plan, and not here.
    """
    query.given()
    today = gateway.clock.now().astimezone(UTC).date()
    days = read_days(query.from_, query.to, today, default=_DEFAULT, longest=_LONGEST)
    if query.channel is None:
        rows = await list_channels(gateway.db, user.account_id)
    else:
        rows = [await own_channel(gateway, user, query.channel)]
    return await _report(gateway, await get_account(gateway.db, user.account_id), rows, days)


async def _report(gateway: ApiContext, account: Account, rows: Sequence[ChannelConfig], days: Days) -> UsageReport:
    now, plan = gateway.clock.now(), plan_of(gateway.plans, account.plan)
    figures = await read_figures(gateway.db, [row.id for row in rows], days)
    used = await used_in_month(gateway.db, account.id, times.month_of(now))
    return UsageReport(
        from_=days.first.isoformat(),
        to=days.end.isoformat(),
        time_zone="UTC",
        plan=PlanUsage.of(account, plan, used, now),
        storage=StorageUsage.of(plan, await stored_bytes(gateway.db, account.id)),
        days=_days(days, figures),
        channels=await _channels(gateway, rows, days, figures),
        failures=[FailureCount.of(one) for one in figures.failures],
    )


def _days(days: Days, figures: UsageFigures) -> list[UsageDay]:
    failed = {one.day: one.count for one in figures.failed if one.day is not None}
    by_day: dict[date, list[MessageSum]] = defaultdict(list)
    for one in figures.messages:
        by_day[one.day].append(one)
    return [UsageDay.of(day, by_day[day], failed.get(day, 0)) for day in days]


async def _channels(
    gateway: ApiContext, rows: Sequence[ChannelConfig], days: Days, figures: UsageFigures
) -> list[ChannelUsage]:
    """Return the channels with their figures, and with what their limits leave."""
    now, states = gateway.clock.now(), await read_states(gateway.db, [row.id for row in rows])
    links = await list_links(gateway.db, [row.id for row in rows if NETWORK_KINDS[row.kind].linked])
    counts: dict[tuple[UUID, bool, date], int] = {
        (one.channel_id, one.incoming, one.day): one.count for one in figures.messages if one.channel_id is not None
    }
    failed = {one.channel_id: one.count for one in figures.failed if one.channel_id is not None}
    found = []
    for row in rows:
        if row.id not in states:  # deleted in the meantime
            continue
        limits = gateway.limits(row, links.get(row.id, LinkRow()) if NETWORK_KINDS[row.kind].linked else None, now)
        headroom = decode_headroom(states[row.id].pace)
        out, incoming = ([counts.get((row.id, way, day), 0) for day in days] for way in (False, True))
        found.append(
            ChannelUsage.of(
                row,
                out,
                incoming,
                failed.get(row.id, 0),
                stored=states[row.id].stored,
                tier=headroom.tier_within(limits),
                throughput=headroom.throughput_within(limits),
            )
        )
    return found
