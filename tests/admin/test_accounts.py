"""Accounts: plans, trials, add-ons, use."""

from datetime import timedelta
from uuid import UUID

import pytest

from gatepost.admin import accounts
from gatepost.admin.accounts import TRIAL_DAYS_MAX
from gatepost.model import ids
from gatepost.model.account import API_ACCESS
from gatepost.model.errors import Conflict, GatepostError, Invalid, NotFound
from gatepost.store.accounts import Account, list_accounts
from gatepost.store.pool import Database
from tests.admin.conftest import NOW, PLANS, Tenants


async def make(db: Database, name: str = "Shop") -> Account:
    return await accounts.create_account(db, name, "starter", plans=PLANS, trial_days=14, now=NOW)


async def test_a_new_account_is_on_trial(own_db: Database) -> None:
    db = own_db
    made = await make(db)
    assert made.trial_ends_at == NOW + timedelta(days=14)
    assert not made.suspended
    assert await accounts.get_account(db, made.id) == made
    assert await list_accounts(db) == [made]


@pytest.mark.parametrize("name", ["a", "a" * 100, "Loja São João"])
async def test_valid_names(db: Database, name: str) -> None:
    assert (await make(db, name)).name == name


@pytest.mark.parametrize("name", ["", "a" * 101, "  ", "a\nb", "\x1b[31mred", "a\x00", "\ud800"])
async def test_invalid_names(db: Database, name: str) -> None:
    with pytest.raises(Invalid) as caught:
        await make(db, name)
    assert caught.value.fields[0].field == "name"


async def test_only_plans_of_the_list(db: Database) -> None:
    with pytest.raises(Invalid, match="starter, unlimited"):
        await accounts.create_account(db, "Shop", "gold", plans=PLANS, trial_days=14, now=NOW)
    made = await make(db)
    assert (await accounts.change_plan(db, made.id, "unlimited", plans=PLANS)).plan == "unlimited"
    with pytest.raises(Invalid):
        await accounts.change_plan(db, made.id, "gold", plans=PLANS)


async def test_suspend_and_resume_touch_one_account(db: Database, tenants: Tenants) -> None:
    assert (await accounts.set_suspended(db, tenants.mine, True)).suspended
    assert not (await accounts.get_account(db, tenants.theirs)).suspended
    assert not (await accounts.set_suspended(db, tenants.mine, False)).suspended


async def test_a_trial_goes_on_from_its_end_or_from_now(db: Database) -> None:
    made = await make(db)
    longer = await accounts.extend_trial(db, made.id, 7, NOW)
    assert longer.trial_ends_at == NOW + timedelta(days=21)
    late = NOW + timedelta(days=100)
    assert (await accounts.extend_trial(db, made.id, 1, late)).trial_ends_at == late + timedelta(days=1)


@pytest.mark.parametrize("days", [0, -1, TRIAL_DAYS_MAX + 1])
async def test_a_trial_has_bounds(db: Database, days: int) -> None:
    made = await make(db)
    with pytest.raises(Invalid, match="days"):
        await accounts.extend_trial(db, made.id, days, NOW)
    await accounts.extend_trial(db, made.id, TRIAL_DAYS_MAX, NOW)


async def test_an_addon_comes_once_and_goes(db: Database, tenants: Tenants) -> None:
    for _ in range(2):
        assert (await accounts.add_addon(db, tenants.mine, "api access", NOW)).addons == (API_ACCESS,)
    assert (await accounts.get_account(db, tenants.theirs)).addons == ()
    assert (await accounts.remove_addon(db, tenants.mine, API_ACCESS)).addons == ()
    with pytest.raises(Conflict, match="does not have"):
        await accounts.remove_addon(db, tenants.mine, API_ACCESS)
    with pytest.raises(Invalid, match="API Access"):
        await accounts.add_addon(db, tenants.mine, "Gold", NOW)


async def test_an_unknown_account_is_not_found(db: Database) -> None:
    unknown: UUID = ids.new_id(NOW)
    calls = [
        accounts.get_account(db, unknown),
        accounts.change_plan(db, unknown, "starter", plans=PLANS),
        accounts.set_suspended(db, unknown, True),
        accounts.extend_trial(db, unknown, 1, NOW),
        accounts.add_addon(db, unknown, API_ACCESS, NOW),
        accounts.remove_addon(db, unknown, API_ACCESS),
    ]
    for call in calls:
        with pytest.raises(NotFound, match=ids.format_id("acc", unknown)) as caught:
            await call
        assert isinstance(caught.value, GatepostError)
