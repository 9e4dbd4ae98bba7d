"""One-time links, with which a person sets a password: only the hashes of their tokens are stored."""

from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from gatepost.model.account_log import LogEntry
from gatepost.model.errors import Conflict
from gatepost.model.session import Role
from gatepost.store.account_log import insert_entry
from gatepost.store.idempotency import NEVER, IdempotentRequest
from gatepost.store.pool import Database
from gatepost.store.users import User, add_user, put_password, unique_email

Purpose = Literal["invitation", "password_reset"]
# Every change of a user's password, links and sessions locks the user first, so that two of them cannot deadlock.
_LOCK_USER = "SELECT 1 FROM users WHERE id = $1 FOR NO KEY UPDATE"


class OneTimeLink(msgspec.Struct, frozen=True):
    """A link that is valid, and whom it is for."""

    purpose: Purpose
    user_id: UUID
    account_id: UUID
    email: str
    name: str
    account_name: str
    role: Role
    expires_at: datetime


async def insert_link(
    db: Database,
    token_hash: bytes,
    user_id: UUID,
    purpose: Purpose,
    *,
    created_at: datetime,
    expires_at: datetime,
    entry: LogEntry,
    new: tuple[User, LogEntry] | None = None,
    once: IdempotentRequest[None] = NEVER,
) -> bool:
    """Insert the only link of a user: earlier ones become invalid. Return False if there is no such account.

    With `new` the user is inserted too, in the same transaction.
    """
    try:
        with unique_email():
            async with db.transaction() as conn:
                if new is not None and not await add_user(conn, *new):
                    return False
                await conn.execute(_LOCK_USER, user_id)
                await conn.execute("DELETE FROM one_time_links WHERE user_id = $1", user_id)
                await conn.execute(
                    """INSERT INTO one_time_links (hash, user_id, purpose, created_at, expires_at)
                       VALUES ($1, $2, $3, $4, $5)""",
                    token_hash,
                    user_id,
                    purpose,
                    created_at,
                    expires_at,
                )
                await insert_entry(conn, entry)
                await once.keep_unlocked(conn, None, created_at)
    except Conflict:
        await once.look(db, created_at)  # the same request may have just inserted this user
        raise
    return True


async def find_link(db: Database, token_hash: bytes, now: datetime) -> OneTimeLink | None:
    """Return a link that has not expired."""
    row = await db.fetchrow(
        """SELECT l.purpose, u.id, u.account_id, u.email, u.name, a.name AS account_name, u.role, l.expires_at
           FROM one_time_links l JOIN users u ON u.id = l.user_id JOIN accounts a ON a.id = u.account_id
           WHERE l.hash = $1 AND l.expires_at > $2""",
        token_hash,
        now,
    )
    return OneTimeLink(*row.values()) if row else None


async def use_link(
    db: Database, token_hash: bytes, password_hash: str, name: str | None, now: datetime, entry: LogEntry
) -> User | None:
    """Set the password of a link's user, and end all links and sessions of the user. None: the link is not valid."""
    async with db.transaction() as conn:
        user_id = await conn.fetchval("SELECT user_id FROM one_time_links WHERE hash = $1", token_hash)
        await conn.execute(_LOCK_USER, user_id)
        used = await conn.fetchval(
            "DELETE FROM one_time_links WHERE hash = $1 AND expires_at > $2 RETURNING 1", token_hash, now
        )
        if used is None:
            return None
        user = await put_password(conn, user_id, password_hash, name)
        await conn.execute("DELETE FROM sessions WHERE user_id = $1", user_id)
        await conn.execute("DELETE FROM one_time_links WHERE user_id = $1", user_id)
        await insert_entry(conn, entry)
    return user


async def forget_links(db: Database, now: datetime) -> None:
    """Delete links that have expired."""
    await db.execute("DELETE FROM one_time_links WHERE expires_at <= $1", now)
