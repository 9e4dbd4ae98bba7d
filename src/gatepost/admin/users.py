"""Users of an account: create, invite, list, change, delete."""

import re
from datetime import datetime
from uuid import UUID

import msgspec

from gatepost.admin.accounts import get_account
from gatepost.admin.checks import check_name
from gatepost.admin.passwords import check_password, hash_password, new_password
from gatepost.model import ids
from gatepost.model.account_log import OPERATOR, Actor, LogEntry, new_entry
from gatepost.model.errors import NotAuthenticated, NotFound, invalid_field
from gatepost.model.session import ROLES, Role
from gatepost.store import users as store
from gatepost.store.pool import Database
from gatepost.store.users import KeptSession, User

EMAIL_MAX = 254
_EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)*")


class NewPassword(msgspec.Struct, frozen=True):
    """A user and the password, which is shown only once."""

    user: User
    password: str


async def create_user(
    db: Database,
    account_id: UUID,
    email: str,
    *,
    role: str = "owner",
    name: str = "",
    password: str | None = None,
    now: datetime,
) -> NewPassword:
    """Create a user for the operator; without a password, one is generated."""
    chosen = check_password(password) if password is not None else new_password()
    user = new_user(account_id, email, role=role, name=name, now=now)
    user = msgspec.structs.replace(user, password_hash=await hash_password(chosen))
    await insert_user(db, user, user_entry(user, OPERATOR, "user_created", now, role=role))
    return NewPassword(user, chosen)


def new_user(account_id: UUID, email: str, *, role: str, name: str, now: datetime) -> User:
    """Return a user without a password who is not stored yet."""
    checked = check_name(name) if name else ""
    return User(ids.new_id(now), account_id, check_email(email), checked, "", check_role(role), now)


async def insert_user(db: Database, user: User, entry: LogEntry) -> None:
    """Store a new user."""
    if not await store.insert_user(db, user, entry):
        raise NotFound(f"There is no account {ids.format_id('acc', user.account_id)}.")


async def list_users(db: Database, account_id: UUID) -> list[User]:
    """Return the users of an account, oldest first."""
    await get_account(db, account_id)
    return await store.list_users(db, account_id)


async def get_user(db: Database, account_id: UUID, user_id: UUID) -> User:
    """Return a user of an account, or raise NotFound."""
    user = await store.get_user(db, user_id)
    if user is None or user.account_id != account_id:
        raise _unknown(user_id)
    return user


async def change_password(
    db: Database,
    account_id: UUID,
    user_id: UUID,
    password: str | None = None,
    *,
    kept: KeptSession | None = None,
    before: str | None = None,
    actor: Actor = OPERATOR,
    now: datetime,
) -> NewPassword:
    """Change a password, which ends the sessions of the user; without a new one, it is generated.

    With `before`, the hash of the password that the user has proved to know, nothing changes if it is another by now:
    the person who set it may have done so to keep this person out.
    """
    chosen = check_password(password, "new_password") if password is not None else new_password()
    user = await get_user(db, account_id, user_id)
    entry = user_entry(user, actor, "password_changed", now)
    password_hash = await hash_password(chosen)
    if not await store.set_password(db, account_id, user_id, password_hash, entry, kept=kept, before=before):
        raise _unknown(user_id) if before is None else _changed_meanwhile()
    return NewPassword(await get_user(db, account_id, user_id), chosen)


async def change_role(
    db: Database, account_id: UUID, user_id: UUID, role: str, *, actor: Actor = OPERATOR, now: datetime
) -> User:
    """Change the role of a user."""
    user, new = await get_user(db, account_id, user_id), check_role(role)
    entry = user_entry(user, actor, "role_changed", now, before=user.role, after=new)
    kept = actor.kind != "operator"  # the operator may remove the last owner
    if not await store.set_role(db, account_id, user_id, new, entry, keep_owner=kept):
        raise _unknown(user_id)
    return msgspec.structs.replace(user, role=new)


async def delete_user(db: Database, account_id: UUID, user_id: UUID, *, actor: Actor = OPERATOR, now: datetime) -> None:
    """Delete a user, which ends all sessions of the user."""
    user, kept = await get_user(db, account_id, user_id), actor.kind != "operator"
    entry = user_entry(user, actor, "user_deleted", now)
    if not await store.delete_user(db, account_id, user_id, entry, keep_owner=kept):
        raise _unknown(user_id)


def user_entry(user: User, actor: Actor, action: str, now: datetime, **details: str) -> LogEntry:
    """Return the log entry of an action on a user."""
    return new_entry(user.account_id, actor, action, now, target=user.email, details=details)


def own_actor(user: User) -> Actor:
    """Return a user as the actor."""
    return Actor("user", user.id, user.email)


def check_email(email: str) -> str:
    """Check the form of an e-mail address."""
    if not 3 <= len(email) <= EMAIL_MAX or not email.isprintable() or not _EMAIL.fullmatch(email):
        raise invalid_field("email", "must be an e-mail address, e.g. ana@example.com")
    return email


def check_role(role: str) -> Role:
    if role not in ROLES:
        raise invalid_field("role", f"must be one of: {', '.join(ROLES)}")
    return role


def _changed_meanwhile() -> NotAuthenticated:
    text = "Your password was changed at the same time. Sign in with the new one."
    return NotAuthenticated(text, "invalid_credentials")


def _unknown(user_id: UUID) -> NotFound:
    return NotFound(f"There is no user {ids.format_id('usr', user_id)}.")
