"""`gatepost account`: accounts, their plans, trials and add-ons."""

from typing import Annotated

import typer

from gatepost.admin import accounts as admin
from gatepost.api.contract.account import Account, AccountUsage
from gatepost.cli.command import CommandSession, command, new_group
from gatepost.cli.output import CommandResult
from gatepost.cli.records import AccountArgument
from gatepost.model import times
from gatepost.model.databases import MAIN
from gatepost.model.errors import invalid_field
from gatepost.store.accounts import list_accounts
from gatepost.store.media.storage import stored_bytes
from gatepost.store.quota import used_in_month

group = new_group()
addons = new_group("Add-ons of an account.")
group.add_typer(addons, name="addon")

Addon = Annotated[str, typer.Argument(metavar="ADDON", help='Name of the add-on, for example "API Access".')]
_COLUMNS = ("id", "name", "plan", "suspended", "trial_ends_at", "addons")


@command(group, "create")
async def create(
    session: CommandSession,
    name: Annotated[str, typer.Argument(help="Name of the account.")],
    plan: Annotated[str, typer.Option(help="Plan of the account; see 'gatepost plan list'.")] = "starter",
    cell: Annotated[str, typer.Option(help="Cell of the account; see 'gatepost cell list'.")] = MAIN,
) -> CommandResult:
    """Create an account. Its trial starts now."""
    settings = session.settings
    if cell != MAIN:
        await session.enter(cell)
    account = Account.of(
        await admin.create_account(
            session.db, name, plan, plans=settings.plans, trial_days=settings.trial.days, now=session.now
        )
    )
    return CommandResult(
        session.with_cell(account), note=f"Next: gatepost channel create {account.id} --kind official --help"
    )


@command(group, "list")
async def list_(session: CommandSession) -> CommandResult:
    """List all accounts."""
    return await session.list_all(list_accounts, Account.of, _COLUMNS)


@command(group, "show")
async def show(session: CommandSession, account: AccountArgument) -> CommandResult:
    """Show an account."""
    return CommandResult(session.with_cell(Account.of(account)))


@command(group, "plan")
async def plan(
    session: CommandSession,
    account: AccountArgument,
    plan: Annotated[str, typer.Argument(help="The new plan; see 'gatepost plan list'.")],
) -> CommandResult:
    """Change the plan of an account."""
    return CommandResult(
        Account.of(await admin.change_plan(session.db, account.id, plan, plans=session.settings.plans))
    )


@command(group, "suspend")
async def suspend(session: CommandSession, account: AccountArgument) -> CommandResult:
    """Suspend an account. Its keys are rejected until it is resumed; what was accepted before is still sent."""
    return CommandResult(Account.of(await admin.set_suspended(session.db, account.id, True)))


@command(group, "resume")
async def resume(session: CommandSession, account: AccountArgument) -> CommandResult:
    """Resume a suspended account."""
    return CommandResult(Account.of(await admin.set_suspended(session.db, account.id, False)))


@command(group, "trial")
async def trial(
    session: CommandSession,
    account: AccountArgument,
    days: Annotated[
        int | None, typer.Option(help="Days to add to the end of the trial, or to today if it has ended.")
    ] = None,
    end: Annotated[bool, typer.Option("--end", help="End the trial now.")] = False,
) -> CommandResult:
    """Extend a trial, or end it."""
    if end == (days is not None):
        raise invalid_field("days", "give either --days N or --end")
    if days is None:
        return CommandResult(Account.of(await admin.end_trial(session.db, account.id, session.now)))
    return CommandResult(Account.of(await admin.extend_trial(session.db, account.id, days, session.now)))


@command(addons, "add")
async def add_addon(session: CommandSession, account: AccountArgument, addon: Addon) -> CommandResult:
    """Add an add-on to an account."""
    return CommandResult(Account.of(await admin.add_addon(session.db, account.id, addon, session.now)))


@command(addons, "remove")
async def remove_addon(session: CommandSession, account: AccountArgument, addon: Addon) -> CommandResult:
    """Remove an add-on from an account."""
    return CommandResult(Account.of(await admin.remove_addon(session.db, account.id, addon)))


@command(group, "usage")
async def usage(session: CommandSession, account: AccountArgument) -> CommandResult:
    """Show this month's messages and the stored files of an account against its plan."""
    now, plan = session.now, session.settings.plans.get(account.plan)
    used = await used_in_month(session.db, account.id, times.month_of(now))
    stored = await stored_bytes(session.db, account.id)
    return CommandResult(AccountUsage.of(account, plan, used, stored, now))
