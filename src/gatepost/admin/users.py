"""Users and their passwords."""

import asyncio
import re
import secrets
from datetime import datetime
from functools import cache
from uuid import UUID

import msgspec
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from gatepost.admin.accounts import get_account
from gatepost.model import ids
from gatepost.model.errors import NotFound, invalid_field
from gatepost.model.field_readers import check_storable
from gatepost.store import accounts as store
from gatepost.store.accounts import User
from gatepost.store.pool import Database

ROLES = ("owner", "member")
EMAIL_MAX = 254
PASSWORD_MIN, PASSWORD_MAX = 10, 200
_EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)*")


class NewPassword(msgspec.Struct, frozen=True):
    """A user and the password, which is shown only once."""

    user: User
    password: str


async def create_user(
    db: Database, account_id: UUID, email: str, *, role: str = "owner", password: str | None = None, now: datetime
) -> NewPassword:
    """Create a user; without a password, one is generated."""
    check_email(email)
    check_role(role)
    chosen = check_password(password) if password is not None else new_password()
    user = User(ids.new_id(now), account_id, email, await _hash(chosen), role, now)
    if not await store.insert_user(db, user):
        raise NotFound(f"There is no account {ids.format_id('acc', account_id)}.")
    return NewPassword(user, chosen)


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


async def change_password(db: Database, account_id: UUID, user_id: UUID, password: str | None = None) -> NewPassword:
    """Change a password; without one, it is generated."""
    chosen = check_password(password) if password is not None else new_password()
    if not await store.set_password(db, account_id, user_id, await _hash(chosen)):
        raise _unknown(user_id)
    return NewPassword(await get_user(db, account_id, user_id), chosen)


async def delete_user(db: Database, account_id: UUID, user_id: UUID) -> None:
    """Delete a user."""
    if not await store.delete_user(db, account_id, user_id):
        raise _unknown(user_id)


async def check_sign_in(db: Database, email: str, password: str) -> User | None:
    """Return the user if the password is correct. An unknown address takes as long as a wrong password."""
    user = await store.get_user_by_email(db, email)
    correct = await asyncio.to_thread(_verify, user.password_hash if user else _dummy_hash(), password)
    return user if correct else None


def check_email(email: str) -> str:
    """Check the form of an e-mail address."""
    if not 3 <= len(email) <= EMAIL_MAX or not email.isprintable() or not _EMAIL.fullmatch(email):
        raise invalid_field("email", "must be an e-mail address, e.g. ana@example.com")
    return email


def check_role(role: str) -> str:
    if role not in ROLES:
        raise invalid_field("role", f"must be one of: {', '.join(ROLES)}")
    return role


def check_password(password: str) -> str:
    if not PASSWORD_MIN <= len(password) <= PASSWORD_MAX:
        raise invalid_field("password", f"must have {PASSWORD_MIN} to {PASSWORD_MAX} characters")
    check_storable("password", password)
    return password


def new_password() -> str:
    return secrets.token_urlsafe(15)


async def _hash(password: str) -> str:
    # Argon2 is slow on purpose: it must not block the event loop.
    return await asyncio.to_thread(PasswordHasher().hash, password)


def _verify(password_hash: str, password: str) -> bool:
    try:
        return PasswordHasher().verify(password_hash, password)
    except (VerificationError, InvalidHashError, UnicodeEncodeError):
        return False


@cache
def _dummy_hash() -> str:
    return PasswordHasher().hash(new_password())


def _unknown(user_id: UUID) -> NotFound:
    return NotFound(f"There is no user {ids.format_id('usr', user_id)}.")
