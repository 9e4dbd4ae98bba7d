"""The users of accounts: their passwords, roles, two-factor authentication and saved views."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from gatepost.model.account_log import LogEntry
from gatepost.model.errors import Conflict, FieldProblem
from gatepost.model.saved_view import SavedView
from gatepost.model.session import Role
from gatepost.store.account_log import insert_entry
from gatepost.store.pool import Connection, Database
from gatepost.store.statement import statement


class User(msgspec.Struct, frozen=True):
    """A person of one account. One who was invited has no password yet."""

    id: UUID
    account_id: UUID
    email: str
    name: str
    password_hash: str
    role: Role
    created_at: datetime
    totp_secret: bytes | None = None
    totp_active: bool = False


class KeptSession(msgspec.Struct, frozen=True):
    """The session that goes on after a change of the password, with a new token."""

    id: UUID
    token_hash: bytes


_views = msgspec.json.Decoder(list[SavedView])
_COLUMNS = "id, account_id, email, name, password_hash, role, created_at, totp_secret, totp_active"


async def insert_user(db: Database, user: User, entry: LogEntry) -> bool:
    """Insert a user. Return False if there is no such account; raise Conflict if the email address is in use."""
    with unique_email():
        async with db.transaction() as conn:
            return await add_user(conn, user, entry)


@contextmanager
def unique_email() -> Iterator[None]:
    """Raise Conflict if the transaction in the block inserts an email address that is in use."""
    try:
        yield
    except asyncpg.UniqueViolationError:
        problem = FieldProblem("email", "is used by another user; choose another address")
        raise Conflict(f"{problem.field}: {problem.message}", fields=(problem,)) from None


async def add_user(conn: "Connection[Any]", user: User, entry: LogEntry) -> bool:
    """Insert a user in a transaction. Return False if there is no such account."""
    made = await conn.fetchval(
        *statement(
            """INSERT INTO users (id, account_id, email, name, password_hash, role, created_at)
               SELECT :id, id, :email, :name, :password_hash, :role, :created_at
               FROM accounts WHERE id = :account_id RETURNING 1""",
            id=user.id,
            account_id=user.account_id,
            email=user.email,
            name=user.name,
            password_hash=user.password_hash,
            role=user.role,
            created_at=user.created_at,
        )
    )
    if made is not None:
        await insert_entry(conn, entry)
    return made is not None


async def list_users(db: Database, account_id: UUID) -> list[User]:
    """Return the users of an account, the oldest first."""
    rows = await db.fetch(f"SELECT {_COLUMNS} FROM users WHERE account_id = $1 ORDER BY id", account_id)
    return [User(**row) for row in rows]


async def get_user(db: Database, user_id: UUID) -> User | None:
    """Return a user of any account."""
    row = await db.fetchrow(f"SELECT {_COLUMNS} FROM users WHERE id = $1", user_id)
    return User(**row) if row else None


async def get_user_by_email(db: Database, email: str) -> User | None:
    """Return the user with an email address, in any case of letters.

    For some letters, PostgreSQL and Python have different small ones. Failed sign-ins are counted by those of Python.
    """
    row = await db.fetchrow(f"SELECT {_COLUMNS} FROM users WHERE lower(email) = lower($1)", email)
    return User(**row) if row and row["email"].lower() == email.lower() else None


async def set_password(
    db: Database,
    account_id: UUID,
    user_id: UUID,
    password_hash: str,
    entry: LogEntry,
    *,
    kept: KeptSession | None,
    before: str | None = None,
) -> bool:
    """Replace a password, which ends the user's other sessions and links.

    Return False if the account has no such user, or the hash of the password is not `before` any more.
    """
    async with db.transaction() as conn:
        done = await conn.fetchval(
            """UPDATE users SET password_hash = $3
               WHERE account_id = $1 AND id = $2 AND ($4::text IS NULL OR password_hash = $4) RETURNING 1""",
            account_id,
            user_id,
            password_hash,
            before,
        )
        if done is None:
            return False
        await conn.execute(
            "DELETE FROM sessions WHERE user_id = $1 AND id IS DISTINCT FROM $2", user_id, kept.id if kept else None
        )
        if kept is not None:
            await conn.execute("UPDATE sessions SET hash = $2 WHERE id = $1", kept.id, kept.token_hash)
        await conn.execute("DELETE FROM one_time_links WHERE user_id = $1", user_id)
        await insert_entry(conn, entry)
    return True


async def put_password(conn: "Connection[Any]", user_id: UUID, password_hash: str, name: str | None) -> User:
    """Set the password of a user in a transaction that has locked the user, and the name if one is given."""
    row: Any = await conn.fetchrow(
        f"UPDATE users SET password_hash = $2, name = COALESCE($3, name) WHERE id = $1 RETURNING {_COLUMNS}",
        user_id,
        password_hash,
        name,
    )
    return User(**row)


async def delete_user(
    db: Database, account_id: UUID, user_id: UUID, entry: LogEntry, *, keep_owner: bool = False
) -> bool:
    """Delete a user with all sessions. Return False if the account has no such user."""
    async with db.transaction() as conn:
        if keep_owner:
            await _keep_owner(conn, account_id, user_id)
        done = await conn.fetchval(
            "DELETE FROM users WHERE account_id = $1 AND id = $2 RETURNING 1", account_id, user_id
        )
        if done is not None:
            await insert_entry(conn, entry)
    return done is not None


async def set_role(
    db: Database, account_id: UUID, user_id: UUID, role: Role, entry: LogEntry, *, keep_owner: bool = False
) -> bool:
    """Change the role of a user. Return False if the account has no such user."""
    async with db.transaction() as conn:
        if keep_owner and role != "owner":
            await _keep_owner(conn, account_id, user_id)
        done = await conn.fetchval(
            "UPDATE users SET role = $3 WHERE account_id = $1 AND id = $2 RETURNING 1", account_id, user_id, role
        )
        if done is not None:
            await insert_entry(conn, entry)
    return done is not None


async def _keep_owner(conn: "Connection[Any]", account_id: UUID, user_id: UUID) -> None:
    """Raise Conflict if no other owner would remain. The owners are locked in the order of their ids.

    One who was invited and has set no password yet does not count.
    """
    rows = await conn.fetch(
        """SELECT id, password_hash <> '' AS active FROM users WHERE account_id = $1 AND role = 'owner'
           ORDER BY id FOR UPDATE""",
        account_id,
    )
    others = any(row["active"] and row["id"] != user_id for row in rows)
    if not others and any(row["id"] == user_id for row in rows):
        raise Conflict("This is the last owner of the account. Make another person an owner first.", "last_owner")


# -- two-factor authentication ----------------------------------------------------------------------------------------


async def set_totp_secret(db: Database, user_id: UUID, sealed: bytes) -> bool:
    """Store a secret that is not confirmed yet. Return False if two-factor authentication is on."""
    done = await db.fetchval(
        "UPDATE users SET totp_secret = $2, totp_step = 0 WHERE id = $1 AND NOT totp_active RETURNING 1",
        user_id,
        sealed,
    )
    return done is not None


async def activate_totp(db: Database, user: User, step: int, recovery_codes: Sequence[bytes], entry: LogEntry) -> bool:
    """Turn two-factor authentication on. Return False if it is on, or another secret was set since."""
    return await _change(
        db,
        entry,
        """UPDATE users SET totp_active = true, totp_step = $3, recovery_codes = $4
           WHERE id = $1 AND NOT totp_active AND totp_secret = $2 RETURNING 1""",
        user.id,
        user.totp_secret,
        step,
        list(recovery_codes),
    )


async def set_recovery_codes(db: Database, user_id: UUID, recovery_codes: Sequence[bytes], entry: LogEntry) -> bool:
    """Replace the recovery codes. Return False if two-factor authentication is off."""
    return await _change(
        db,
        entry,
        "UPDATE users SET recovery_codes = $2 WHERE id = $1 AND totp_active RETURNING 1",
        user_id,
        list(recovery_codes),
    )


async def remove_totp(db: Database, user_id: UUID, entry: LogEntry) -> bool:
    """Turn two-factor authentication off. Return False if it is off."""
    return await _change(
        db,
        entry,
        """UPDATE users SET totp_active = false, totp_secret = NULL, totp_step = 0, recovery_codes = '{}'
           WHERE id = $1 AND totp_active RETURNING 1""",
        user_id,
    )


async def use_totp_step(db: Database, user_id: UUID, step: int) -> bool:
    """Record the time step of a code. Return False if this step, or a later one, was used before."""
    done = await db.fetchval(
        "UPDATE users SET totp_step = $2 WHERE id = $1 AND totp_step < $2 RETURNING 1", user_id, step
    )
    return done is not None


async def use_recovery_code(db: Database, user_id: UUID, code_hash: bytes) -> bool:
    """Remove a recovery code. Return False if the user has no such code."""
    done = await db.fetchval(
        """UPDATE users SET recovery_codes = array_remove(recovery_codes, $2)
           WHERE id = $1 AND $2 = ANY (recovery_codes) RETURNING 1""",
        user_id,
        code_hash,
    )
    return done is not None


async def _change(db: Database, entry: LogEntry, sql: str, *arguments: Any) -> bool:
    """Execute a change and log it. Return False, and log nothing, if it found nothing to change."""
    async with db.transaction() as conn:
        done = await conn.fetchval(sql, *arguments) is not None
        if done:
            await insert_entry(conn, entry)
    return done


async def read_views(db: Database, user_id: UUID) -> list[SavedView]:
    """Return the views of a user, in the user's order."""
    stored: str | None = await db.fetchval("SELECT saved_views::text FROM users WHERE id = $1", user_id)
    return _views.decode(stored) if stored else []


async def replace_views(db: Database, user_id: UUID, views: list[SavedView]) -> None:
    """Replace all views of a user."""
    await db.execute(
        "UPDATE users SET saved_views = $2::text::jsonb WHERE id = $1", user_id, msgspec.json.encode(views).decode()
    )
