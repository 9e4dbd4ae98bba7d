"""Users: the people who sign in."""

from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from gatepost.model.errors import Conflict, FieldProblem
from gatepost.store.pool import Database


class User(msgspec.Struct, frozen=True):
    """A person of one account."""

    id: UUID
    account_id: UUID
    email: str
    password_hash: str
    role: str
    created_at: datetime


_COLUMNS = "id, account_id, email, password_hash, role, created_at"


async def insert_user(db: Database, user: User) -> bool:
    """Writes a new user; False when there is no such account, Conflict when the address is taken anywhere."""
    try:
        async with db.connection() as conn:
            made = await conn.fetchval(
                f"""INSERT INTO users ({_COLUMNS})
                    SELECT $1, id, $3, $4, $5, $6 FROM accounts WHERE id = $2 RETURNING 1""",
                user.id,
                user.account_id,
                user.email,
                user.password_hash,
                user.role,
                user.created_at,
            )
    except asyncpg.UniqueViolationError:
        problem = FieldProblem("email", "is used by another user; choose another address")
        raise Conflict(f"{problem.field}: {problem.message}", fields=(problem,)) from None
    return made is not None


async def list_users(db: Database, account_id: UUID) -> list[User]:
    """The users of an account, the oldest first."""
    async with db.connection() as conn:
        rows = await conn.fetch(f"SELECT {_COLUMNS} FROM users WHERE account_id = $1 ORDER BY id", account_id)
    return [_user(row) for row in rows]


async def get_user(db: Database, user_id: UUID) -> User | None:
    """One user, of whatever account."""
    async with db.connection() as conn:
        row = await conn.fetchrow(f"SELECT {_COLUMNS} FROM users WHERE id = $1", user_id)
    return _user(row) if row else None


async def get_user_by_email(db: Database, email: str) -> User | None:
    """The user behind an address, in whatever case it is written."""
    async with db.connection() as conn:
        row = await conn.fetchrow(f"SELECT {_COLUMNS} FROM users WHERE lower(email) = lower($1)", email)
    return _user(row) if row else None


async def set_password(db: Database, account_id: UUID, user_id: UUID, password_hash: str) -> bool:
    """Replaces a password; False when the account has no such user."""
    async with db.connection() as conn:
        done = await conn.fetchval(
            "UPDATE users SET password_hash = $3 WHERE account_id = $1 AND id = $2 RETURNING 1",
            account_id,
            user_id,
            password_hash,
        )
    return done is not None


async def delete_user(db: Database, account_id: UUID, user_id: UUID) -> bool:
    """Removes a user; False when the account has no such user."""
    async with db.connection() as conn:
        done = await conn.fetchval(
            "DELETE FROM users WHERE account_id = $1 AND id = $2 RETURNING 1", account_id, user_id
        )
    return done is not None


def _user(row: Any) -> User:
    return User(*row.values())
