"""Accounts with their add-ons."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from gatepost.store.pool import Database


class Account(msgspec.Struct, frozen=True):
    """A customer; everything else belongs to one."""

    id: UUID
    name: str
    plan: str
    suspended: bool
    trial_ends_at: datetime
    created_at: datetime
    addons: tuple[str, ...] = ()


_COLUMNS = """id, name, plan, suspended, trial_ends_at, created_at,
              ARRAY(SELECT addon FROM account_addons x WHERE x.account_id = a.id ORDER BY addon) AS addons"""


async def insert_account(db: Database, account: Account) -> None:
    """Insert an account."""
    await db.execute(
        """INSERT INTO accounts (id, name, plan, suspended, trial_ends_at, created_at)
           VALUES ($1, $2, $3, $4, $5, $6)""",
        account.id,
        account.name,
        account.plan,
        account.suspended,
        account.trial_ends_at,
        account.created_at,
    )


async def get_account(db: Database, account_id: UUID) -> Account | None:
    """Return an account with its add-ons."""
    row = await db.fetchrow(f"SELECT {_COLUMNS} FROM accounts a WHERE id = $1", account_id)
    return _account(row) if row else None


async def list_accounts(db: Database) -> list[Account]:
    """Return all accounts, the oldest first."""
    rows = await db.fetch(f"SELECT {_COLUMNS} FROM accounts a ORDER BY id")
    return [_account(row) for row in rows]


async def set_plan(db: Database, account_id: UUID, plan: str) -> bool:
    """Change an account's plan. Return False if there is no such account."""
    return await db.changes("UPDATE accounts SET plan = $2 WHERE id = $1 RETURNING 1", account_id, plan)


async def set_suspended(db: Database, account_id: UUID, suspended: bool) -> bool:
    """Suspend or resume an account. Return False if there is no such account."""
    return await db.changes("UPDATE accounts SET suspended = $2 WHERE id = $1 RETURNING 1", account_id, suspended)


async def extend_trial(db: Database, account_id: UUID, by: timedelta, now: datetime) -> bool:
    """Extend a trial, from now if it is over. Return False if there is no such account."""
    return await db.changes(
        "UPDATE accounts SET trial_ends_at = greatest(trial_ends_at, $3) + $2 WHERE id = $1 RETURNING 1",
        account_id,
        by,
        now,
    )


async def end_trial(db: Database, account_id: UUID, now: datetime) -> bool:
    """End a trial now, unless it is over. Return False if there is no such account."""
    return await db.changes(
        "UPDATE accounts SET trial_ends_at = least(trial_ends_at, $2) WHERE id = $1 RETURNING 1",
        account_id,
        now,
    )


async def add_addon(db: Database, account_id: UUID, addon: str, now: datetime) -> bool:
    """Give an account an add-on. Return False if there is no such account."""
    return await db.changes(
        """WITH account AS (SELECT id FROM accounts WHERE id = $1), added AS (
               INSERT INTO account_addons (account_id, addon, since) SELECT id, $2, $3 FROM account
               ON CONFLICT DO NOTHING
           )
           SELECT 1 FROM account""",
        account_id,
        addon,
        now,
    )


async def remove_addon(db: Database, account_id: UUID, addon: str) -> bool:
    """Remove an add-on. Return False if the account does not have it."""
    return await db.changes(
        "DELETE FROM account_addons WHERE account_id = $1 AND addon = $2 RETURNING 1", account_id, addon
    )


class SetupSteps(msgspec.Struct, frozen=True):
    """What an account has done of its setup."""

    channel_connected: bool
    message_sent: bool
    webhook_added: bool


async def get_setup_steps(db: Database, account_id: UUID) -> SetupSteps:
    """Return what an account has done of its setup. A message counts when it was accepted."""
    row = await db.fetchrow(
        """SELECT EXISTS (SELECT 1 FROM channels WHERE account_id = $1 AND connection IN ('connected', 'limited'))
                      AS channel_connected,
                  EXISTS (SELECT 1 FROM account_usage WHERE account_id = $1 AND used > 0) AS message_sent,
                  EXISTS (SELECT 1 FROM channels c JOIN endpoints e ON e.channel_id = c.id WHERE c.account_id = $1)
                      AS webhook_added""",
        account_id,
    )
    return SetupSteps(**row)


def _account(row: Any) -> Account:
    return Account(**{**row, "addons": tuple(row["addons"])})
