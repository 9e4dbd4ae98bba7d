"""The account of the person who is signed in, and the log of who did what in it."""

from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta
from msgspec.structs import asdict

from gatepost.admin.accounts import get_account
from gatepost.api.context import ApiContext, Context, CurrentUser
from gatepost.api.contract.account import AccountLogEntry, Checklist, OwnAccount
from gatepost.api.contract.usage import ApiRate, PlanUsage, StorageUsage, TrialPeriod
from gatepost.api.paging import read_cursor, show_cursor
from gatepost.api.query import From, Paged, To, Zone
from gatepost.api.responses import Page
from gatepost.api.route import get
from gatepost.model import ids, times
from gatepost.model.account import API_ACCESS, plan_of
from gatepost.model.dates import read_span
from gatepost.model.errors import invalid_field
from gatepost.store.account_log import LogFilter, list_entries
from gatepost.store.accounts import Account, get_setup_steps
from gatepost.store.media.storage import stored_bytes
from gatepost.store.quota import used_in_month

_OPERATOR: Literal["operator"] = "operator"


class LogQuery(Paged, frozen=True, kw_only=True):
    """Which entries; all filters have to fit."""

    actor: Annotated[str, Meta(description="Only actions of this user or key, or of the `operator`.")] | None = None
    action: Annotated[str, Meta(description="Only this action, such as `key_created`.")] | None = None
    from_: From | None = None
    to: To | None = None
    tz: Zone | None = None


@get("/api/v1/account", access="session", while_suspended=True, summary="Get the account")
async def show_account(gateway: Context, user: CurrentUser) -> OwnAccount:
    """The plan and what is used of it this month, stored files, trial and add-ons. It works while suspended."""
    return await _own_account(gateway, await get_account(gateway.db, user.account_id))


async def _own_account(gateway: ApiContext, account: Account) -> OwnAccount:
    now, plan = gateway.clock.now(), plan_of(gateway.plans, account.plan)
    used = await used_in_month(gateway.db, account.id, times.month_of(now))
    return OwnAccount(
        id=ids.format_id("acc", account.id),
        name=account.name,
        suspended=account.suspended,
        created_at=times.format_time(account.created_at),
        plan=PlanUsage.of(account, plan, used, now),
        storage=StorageUsage.of(plan, await stored_bytes(gateway.db, account.id)),
        trial=TrialPeriod(now < account.trial_ends_at, times.format_time(account.trial_ends_at)),
        addons=list(account.addons),
        api_access=API_ACCESS in account.addons,
        api=ApiRate(gateway.rate, gateway.burst),
    )


@get("/api/v1/account/checklist", access="session", summary="Get the setup checklist")
async def show_checklist(gateway: Context, user: CurrentUser) -> Checklist:
    """What the account has done of its setup: a channel is connected, a message was sent, a webhook was added."""
    return Checklist(**asdict(await get_setup_steps(gateway.db, user.account_id)))


@get("/api/v1/account/log", access="session", role="owner", summary="List who did what")
async def list_log(query: LogQuery, gateway: Context, user: CurrentUser) -> Page[AccountLogEntry]:
    """Actions of people, keys and the operator in the account, the newest first."""
    query.given()
    filter_ = LogFilter(read_span(query.from_, query.to, query.tz), _actor(query.actor), query.action)
    before = read_cursor(query.cursor, UUID)
    rows = await list_entries(gateway.db, user.account_id, before=before, limit=query.limit, filter_=filter_)
    following = show_cursor(rows[-1].id) if len(rows) == query.limit else None
    return Page([AccountLogEntry.of(row) for row in rows], following)


def _actor(text: str | None) -> UUID | Literal["operator"] | None:
    if text is None or text == _OPERATOR:
        return _OPERATOR if text else None
    found = ids.parse_id("usr", text) or ids.parse_id("key", text)
    if found is None:
        raise invalid_field("actor", "must be the id of a user (usr_…) or of a key (key_…), or 'operator'")
    return found
