"""`gatepost user`: the users of an account."""

from typing import TYPE_CHECKING, Annotated

import typer

from gatepost.cli.command import CommandSession, command, new_group
from gatepost.cli.output import CommandResult
from gatepost.cli.records import AccountArgument

if TYPE_CHECKING:
    from gatepost.store.users import User

group = new_group("Users of an account, and their roles.")

UserRef = Annotated[str, typer.Argument(metavar="USER", help="E-mail address or id of the user: usr_…")]
Password = Annotated[
    str | None, typer.Option(envvar="GATEPOST_PASSWORD", help="Password; generated when none is given.")
]
_ONCE = "The password is shown this once."


@command(group, "create")
async def create(
    session: CommandSession,
    account: AccountArgument,
    email: Annotated[str, typer.Argument(help="E-mail address to sign in with.")],
    role: Annotated[str, typer.Option(help="owner, agent or reader.")] = "owner",
    name: Annotated[str, typer.Option(help="Name of the person.")] = "",
    password: Password = None,
) -> CommandResult:
    """Create a user."""
    from gatepost.admin import users
    from gatepost.cli.views import user_view

    made = await users.create_user(
        session.db, account.id, email, role=role, name=name, password=password, now=session.now
    )
    return CommandResult({**user_view(made.user), "password": made.password}, note=_ONCE)


@command(group, "list")
async def list_(session: CommandSession, account: AccountArgument) -> CommandResult:
    """List the users of an account."""
    from gatepost.admin import users
    from gatepost.cli.views import user_view

    found = await users.list_users(session.db, account.id)
    return CommandResult([user_view(user) for user in found], ("id", "email", "role", "two_factor", "created_at"))


@command(group, "role")
async def change_role(
    session: CommandSession, user: UserRef, role: Annotated[str, typer.Argument(help="owner, agent or reader.")]
) -> CommandResult:
    """Change the role of a user."""
    from gatepost.admin import users
    from gatepost.cli.views import user_view

    found = await _find(session, user)
    return CommandResult(
        user_view(await users.change_role(session.db, found.account_id, found.id, role, now=session.now))
    )


@command(group, "password")
async def change_password(session: CommandSession, user: UserRef, password: Password = None) -> CommandResult:
    """Replace a user's password, which ends the user's sessions."""
    from gatepost.admin import users
    from gatepost.cli.views import user_view

    found = await _find(session, user)
    changed = await users.change_password(session.db, found.account_id, found.id, password, now=session.now)
    return CommandResult({**user_view(changed.user), "password": changed.password}, note=_ONCE)


@command(group, "reset")
async def reset(session: CommandSession, user: UserRef) -> CommandResult:
    """Create a one-time link with which a user sets a new password."""
    from gatepost.admin.one_time_links import create_reset_link
    from gatepost.cli.views import link_view
    from gatepost.running_address import noted_address

    found, settings = await _find(session, user), session.settings
    link = await create_reset_link(session.db, found.account_id, found.id, now=session.now)
    base = settings.server.public_url or noted_address(settings.data_folder) or settings.public_url
    return CommandResult(link_view(link, base), note="The link is shown this once. It is valid once.")


@command(group, "totp-off")
async def turn_totp_off(session: CommandSession, user: UserRef) -> CommandResult:
    """Turn off two-factor authentication for a user who lost the app and the recovery codes."""
    from gatepost.admin.totp import remove_totp
    from gatepost.cli.views import user_view

    found = await _find(session, user)
    await remove_totp(session.db, found, now=session.now)
    return CommandResult(user_view(await _find(session, user)))


@command(group, "sessions")
async def list_sessions(
    session: CommandSession,
    user: UserRef,
    end: Annotated[bool, typer.Option("--end", help="End all sessions of the user.")] = False,
) -> CommandResult:
    """List the sessions of a user, or end them."""
    from gatepost.admin.sign_in import end_sessions
    from gatepost.cli.views import session_view, user_view
    from gatepost.store.sessions import list_sessions

    found = await _find(session, user)
    if end:
        return CommandResult({**user_view(found), "ended": await end_sessions(session.db, found, now=session.now)})
    views = [session_view(one) for one in await list_sessions(session.db, found.id, session.now)]
    return CommandResult(views, ("id", "created_at", "last_used_at", "expires_at", "address", "user_agent"))


@command(group, "delete")
async def delete(session: CommandSession, user: UserRef) -> CommandResult:
    """Remove a user."""
    from gatepost.admin import users
    from gatepost.cli.views import user_view

    found = await _find(session, user)
    await users.delete_user(session.db, found.account_id, found.id, now=session.now)
    return CommandResult({**user_view(found), "deleted": True})


async def _find(session: CommandSession, reference: str) -> "User":
    """Return the user with an e-mail address or id, of any account."""
    from gatepost.cli.arguments import read_id
    from gatepost.model.errors import NotFound
    from gatepost.store import users

    if "@" in reference:
        found = await session.find_by(lambda db: users.get_user_by_email(db, reference))
    else:
        id_ = read_id("usr", reference)
        found = await session.find_by(lambda db: users.get_user(db, id_))
    if found is None:
        raise NotFound(f"There is no user {reference}.")
    return found
