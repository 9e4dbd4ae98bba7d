"""`gatepost user`: the users of an account."""

from typing import TYPE_CHECKING, Annotated

import typer

from gatepost.cli.command import CommandSession, command, new_group
from gatepost.cli.output import CommandResult

if TYPE_CHECKING:
    from gatepost.store.accounts import User

group = new_group("Users of an account, and their roles.")

AccountId = Annotated[str, typer.Argument(metavar="ACCOUNT", help="Id of the account: acc_…")]
UserRef = Annotated[str, typer.Argument(metavar="USER", help="E-mail address or id of the user: usr_…")]
Password = Annotated[
    str | None, typer.Option(envvar="GATEPOST_PASSWORD", help="Password; generated when none is given.")
]
_ONCE = "The password is shown this once."


@command(group, "create")
async def create(
    session: CommandSession,
    account: AccountId,
    email: Annotated[str, typer.Argument(help="E-mail address to sign in with.")],
    role: Annotated[str, typer.Option(help="owner or member.")] = "owner",
    password: Password = None,
) -> CommandResult:
    """Create a user."""
    from gatepost.admin import users
    from gatepost.cli.arguments import read_id
    from gatepost.cli.views import user_view

    made = await users.create_user(
        session.db, read_id("acc", account), email, role=role, password=password, now=session.now
    )
    return CommandResult({**user_view(made.user), "password": made.password}, note=_ONCE)


@command(group, "list")
async def list_(session: CommandSession, account: AccountId) -> CommandResult:
    """List the users of an account."""
    from gatepost.admin import users
    from gatepost.cli.arguments import read_id
    from gatepost.cli.views import user_view

    found = await users.list_users(session.db, read_id("acc", account))
    return CommandResult([user_view(user) for user in found], ("id", "email", "role", "created_at"))


@command(group, "password")
async def change_password(session: CommandSession, user: UserRef, password: Password = None) -> CommandResult:
    """Replace a user's password."""
    from gatepost.admin import users
    from gatepost.cli.views import user_view

    found = await _find(session, user)
    changed = await users.change_password(session.db, found.account_id, found.id, password)
    return CommandResult({**user_view(changed.user), "password": changed.password}, note=_ONCE)


@command(group, "delete")
async def delete(session: CommandSession, user: UserRef) -> CommandResult:
    """Remove a user."""
    from gatepost.admin import users
    from gatepost.cli.views import user_view

    found = await _find(session, user)
    await users.delete_user(session.db, found.account_id, found.id)
    return CommandResult({**user_view(found), "deleted": True})


async def _find(session: CommandSession, reference: str) -> "User":
    """Return the user with an e-mail address or id, of any account."""
    from gatepost.cli.arguments import read_id
    from gatepost.model.errors import NotFound
    from gatepost.store import accounts as users

    if "@" in reference:
        found = await users.get_user_by_email(session.db, reference)
    else:
        found = await users.get_user(session.db, read_id("usr", reference))
    if found is None:
        raise NotFound(f"There is no user {reference}.")
    return found
