"""Accounts: their plan, trial and add-ons."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from uuid import UUID

from gatepost.admin.checks import check_found, check_name
from gatepost.model import ids
from gatepost.model.account import API_ACCESS, Plan
from gatepost.model.errors import Conflict, invalid_field
from gatepost.store import accounts as store
from gatepost.store.accounts import Account
from gatepost.store.pool import Database

ADDONS = (API_ACCESS,)
TRIAL_DAYS_MAX = 3650


async def create_account(
    db: Database, name: str, plan: str, *, plans: Mapping[str, Plan], trial_days: int, now: datetime
) -> Account:
    """Create an account whose trial starts now."""
    account = Account(
        id=ids.new_id(now),
        name=check_name(name),
        plan=check_plan(plan, plans),
        suspended=False,
        trial_ends_at=now + timedelta(days=trial_days),
        created_at=now,
    )
    await store.insert_account(db, account)
    return account


async def get_account(db: Database, account_id: UUID) -> Account:
    """Return an account, or raise NotFound."""
    return check_found(await store.get_account(db, account_id), "acc", account_id)


async def change_plan(db: Database, account_id: UUID, plan: str, *, plans: Mapping[str, Plan]) -> Account:
    """Change the plan of an account; its usage of this month is kept."""
    await store.set_plan(db, account_id, check_plan(plan, plans))
    return await get_account(db, account_id)


async def set_suspended(db: Database, account_id: UUID, suspended: bool) -> Account:
    """Block API access of an account, or allow it again."""
    await store.set_suspended(db, account_id, suspended)
    return await get_account(db, account_id)


async def extend_trial(db: Database, account_id: UUID, days: int, now: datetime) -> Account:
    """Extend a trial: from its end, or from now if it has ended."""
    if not 1 <= days <= TRIAL_DAYS_MAX:
        raise invalid_field("days", f"must be between 1 and {TRIAL_DAYS_MAX}")
    await store.extend_trial(db, account_id, timedelta(days=days), now)
    return await get_account(db, account_id)


async def end_trial(db: Database, account_id: UUID, now: datetime) -> Account:
    """End a trial now; no effect if it has ended."""
    await store.end_trial(db, account_id, now)
    return await get_account(db, account_id)


async def add_addon(db: Database, account_id: UUID, addon: str, now: datetime) -> Account:
    """Add an add-on to an account; no effect if the account has it."""
    await store.add_addon(db, account_id, check_addon(addon), now)
    return await get_account(db, account_id)


async def remove_addon(db: Database, account_id: UUID, addon: str) -> Account:
    """Remove an add-on."""
    known = check_addon(addon)
    account = await get_account(db, account_id)
    if not await store.remove_addon(db, account_id, known):
        raise Conflict(f'{account.name} does not have the add-on "{known}".')
    return await get_account(db, account_id)


def check_plan(plan: str, plans: Mapping[str, Plan]) -> str:
    """Return the plan, if it exists."""
    if plan not in plans:
        raise invalid_field("plan", f"must be one of: {', '.join(plans)}")
    return plan


def check_addon(addon: str) -> str:
    """Return the add-on, found regardless of upper and lower case."""
    for known in ADDONS:
        if known.lower() == addon.lower():
            return known
    raise invalid_field("addon", "must be one of: " + ", ".join(f'"{known}"' for known in ADDONS))
