"""`gatepost account`: tenants, their plans, trials and add-ons."""

from typing import Annotated

import typer

from gatepost.cli.command import CommandSession, command, new_group
from gatepost.cli.output import CommandResult

group = new_group("Accounts: tenants of this gateway.")
addons = new_group("Add-ons of an account.")
group.add_typer(addons, name="addon")

AccountId = Annotated[str, typer.Argument(metavar="ACCOUNT", help="Id of the account: acc_…")]
Addon = Annotated[str, typer.Argument(metavar="ADDON", help='Name of the add-on, e.g. "API Access".')]


@command(group, "create")
async def create(
    session: CommandSession,
    name: Annotated[str, typer.Argument(help="Name of the account.")],
    plan: Annotated[str, typer.Option(help="Plan; see 'gatepost plan list'.")] = "starter",
) -> CommandResult:
    """Create an account; its trial begins now."""
    from gatepost.admin import accounts
    from gatepost.cli.views import account_view

    settings = session.settings
    made = await accounts.create_account(
        session.db, name, plan, plans=settings.plans, trial_days=settings.trial.days, now=session.now
    )
    view = account_view(made)
    return CommandResult(view, note=f"Next: gatepost channel create {view['id']} --kind official --help")


@command(group, "list")
async def list_(session: CommandSession) -> CommandResult:
    """List all accounts."""
    from gatepost.cli.views import account_view
    from gatepost.store import accounts

    views = [account_view(account) for account in await accounts.list_accounts(session.db)]
    return CommandResult(views, ("id", "name", "plan", "suspended", "trial_ends_at", "addons"))


@command(group, "show")
async def show(session: CommandSession, account: AccountId) -> CommandResult:
    """Show an account."""
    from gatepost.admin import accounts
    from gatepost.cli.arguments import read_id
    from gatepost.cli.views import account_view

    return CommandResult(account_view(await accounts.get_account(session.db, read_id("acc", account))))


@command(group, "plan")
async def plan(
    session: CommandSession, account: AccountId, plan: Annotated[str, typer.Argument(help="The new plan.")]
) -> CommandResult:
    """Change the plan of an account."""
    from gatepost.admin import accounts
    from gatepost.cli.arguments import read_id
    from gatepost.cli.views import account_view

    plans = session.settings.plans
    return CommandResult(
        account_view(await accounts.change_plan(session.db, read_id("acc", account), plan, plans=plans))
    )


@command(group, "suspend")
async def suspend(session: CommandSession, account: AccountId) -> CommandResult:
    """Suspend an account: the API refuses its keys."""
    from gatepost.admin import accounts
    from gatepost.cli.arguments import read_id
    from gatepost.cli.views import account_view

    return CommandResult(account_view(await accounts.suspend_account(session.db, read_id("acc", account))))


@command(group, "resume")
async def resume(session: CommandSession, account: AccountId) -> CommandResult:
    """Resume a suspended account."""
    from gatepost.admin import accounts
    from gatepost.cli.arguments import read_id
    from gatepost.cli.views import account_view

    return CommandResult(account_view(await accounts.resume_account(session.db, read_id("acc", account))))


@command(group, "trial")
async def trial(
    session: CommandSession,
    account: AccountId,
    days: Annotated[
        int | None, typer.Option(help="Days to add: to the trial's end, or to today where it is over.")
    ] = None,
    end: Annotated[bool, typer.Option("--end", help="End the trial now.")] = False,
) -> CommandResult:
    """Extend a trial, or end it."""
    from gatepost.admin import accounts
    from gatepost.cli.arguments import read_id
    from gatepost.cli.views import account_view
    from gatepost.model.errors import invalid_field

    account_id = read_id("acc", account)
    if end == (days is not None):
        raise invalid_field("days", "give either --days N or --end")
    if days is None:
        return CommandResult(account_view(await accounts.end_trial(session.db, account_id, session.now)))
    return CommandResult(account_view(await accounts.extend_trial(session.db, account_id, days, session.now)))


@command(addons, "add")
async def add_addon(session: CommandSession, account: AccountId, addon: Addon) -> CommandResult:
    """Add an add-on to an account."""
    from gatepost.admin import accounts
    from gatepost.cli.arguments import read_id
    from gatepost.cli.views import account_view

    changed = await accounts.add_addon(session.db, read_id("acc", account), addon, session.now)
    return CommandResult(account_view(changed))


@command(addons, "remove")
async def remove_addon(session: CommandSession, account: AccountId, addon: Addon) -> CommandResult:
    """Remove an add-on from an account."""
    from gatepost.admin import accounts
    from gatepost.cli.arguments import read_id
    from gatepost.cli.views import account_view

    return CommandResult(account_view(await accounts.remove_addon(session.db, read_id("acc", account), addon)))


@command(group, "usage")
async def usage(session: CommandSession, account: AccountId) -> CommandResult:
    """Show what an account has used of this month's plan."""
    from gatepost.admin import accounts
    from gatepost.cli.arguments import read_id
    from gatepost.cli.views import usage_view

    found = await accounts.get_account(session.db, read_id("acc", account))
    used = await accounts.usage_of(session.db, found.id, session.settings.plans, session.now)
    return CommandResult(usage_view(found, used))
