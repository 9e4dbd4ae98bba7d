"""Usage: the month against the plan, what every limit leaves, and messages per day and type."""

from datetime import datetime

from gatepost.admin.accounts import get_account
from gatepost.admin.channels import get_channel
from gatepost.api.channel import read_headroom
from gatepost.api.context import ApiContext, Context, CurrentCaller
from gatepost.api.contract.usage import ApiRate, DayUsage, PlanUsage, StorageUsage, TrialPeriod, Usage
from gatepost.api.route import get
from gatepost.model import times
from gatepost.model.account import API_ACCESS, plan_of
from gatepost.services.usage import daily_usage
from gatepost.store.accounts import Account
from gatepost.store.channels import ChannelConfig
from gatepost.store.media.storage import stored_bytes
from gatepost.store.quota import used_in_month


@get("/api/v1/usage", scope="read", summary="Get usage")
async def show_usage(gateway: Context, caller: CurrentCaller) -> Usage:
    """The plan of the account, the limits of the number and of the API, and the messages of the last 30 days."""
    account = await get_account(gateway.db, caller.account_id)
    channel = await get_channel(gateway.db, caller.account_id, caller.channel_id)
    return await _usage(gateway, account, channel, gateway.clock.now())


async def _usage(gateway: ApiContext, account: Account, channel: ChannelConfig, now: datetime) -> Usage:
    plan = plan_of(gateway.plans, account.plan)
    used = await used_in_month(gateway.db, account.id, times.month_of(now))
    limits, headroom, _ = await read_headroom(gateway, channel)
    days, counts = await daily_usage(gateway.db, channel.id, now)
    return Usage(
        plan=PlanUsage.of(account, plan, used, now),
        storage=StorageUsage.of(plan, await stored_bytes(gateway.db, account.id)),
        trial=TrialPeriod(now < account.trial_ends_at, times.format_time(account.trial_ends_at)),
        addons=list(account.addons),
        api_access=API_ACCESS in account.addons,
        tier=headroom.tier_within(limits),
        throughput=headroom.throughput_within(limits),
        api=ApiRate(gateway.rate, gateway.burst),
        days=[DayUsage.of(day, counts) for day in days],
    )
