"""Sessions of people who are signed in: only the hashes of their tokens are stored."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model.account import API_ACCESS, Principal
from gatepost.model.account_log import LogEntry
from gatepost.model.session import IDLE, ROLE_SCOPES, SignedInUser
from gatepost.store.account_log import insert_entry
from gatepost.store.pool import Database
from gatepost.store.statement import statement
from gatepost.store.users import User

USE_EVERY = timedelta(minutes=1)  # how often the last use of a session is written at most


class StoredSession(msgspec.Struct, frozen=True):
    """A session without the secret."""

    id: UUID
    user_id: UUID
    created_at: datetime
    last_used_at: datetime
    expires_at: datetime
    address: str
    user_agent: str


async def find_session(db: Database, token_hash: bytes) -> SignedInUser | None:
    """Return a session with its user and account."""
    return (await find_sessions(db, [token_hash])).get(token_hash)


async def find_sessions(db: Database, hashes: Sequence[bytes]) -> dict[bytes, SignedInUser]:
    """Return those of the sessions that exist, by the hash of the token.

    Not those of an account that is on its way to another cell: it may have arrived, and a change here would be lost.
    """
    rows = await db.fetch(
        """SELECT given.hash, found.* FROM unnest($1::bytea[]) AS given (hash) CROSS JOIN LATERAL (
               SELECT s.id, s.user_id, s.created_at, s.last_used_at, s.expires_at, u.email, u.name, u.role,
                      u.totp_active AS totp, a.id AS account_id, a.name AS account_name, a.plan, a.suspended,
                      a.trial_ends_at,
                      EXISTS (SELECT FROM account_addons x WHERE x.account_id = a.id AND x.addon = $2) AS api_access
               FROM sessions s JOIN users u ON u.id = s.user_id JOIN accounts a ON a.id = u.account_id
               WHERE s.hash = given.hash AND NOT EXISTS (
                   SELECT FROM account_moves m WHERE m.account_id = a.id AND m.state = 'fenced')
               LIMIT 1) found""",
        list(hashes),
        API_ACCESS,
    )
    return {row["hash"]: _user(dict(row)) for row in rows}


def _user(values: dict[str, Any]) -> SignedInUser:
    del values["hash"]
    label, scopes = values["name"] or values["email"], ROLE_SCOPES[values["role"]]
    principal = Principal(
        "session", values.pop("id"), scopes, values["expires_at"], user_id=values["user_id"], label=label
    )
    return SignedInUser(principal, **values)


async def insert_session(
    db: Database, session: StoredSession, token_hash: bytes, *, user: User, replaced: bytes | None, entry: LogEntry
) -> bool:
    """Insert the session of a user who signed in, and end the one whose hash is `replaced`.

    Return False if the password or the need of a code has changed since the user was read. The lock lets a change of
    the password that runs at the same time commit first, or find the session and end it.
    """
    async with db.transaction() as conn:
        made = await conn.fetchval(
            *statement(
                """INSERT INTO sessions (id, user_id, hash, created_at, last_used_at, expires_at, address, user_agent)
                   SELECT :id, id, :hash, :created_at, :created_at, :expires_at, :address, :user_agent FROM users
                   WHERE id = :user_id AND password_hash = :password_hash AND totp_active = :totp
                   FOR SHARE RETURNING 1""",
                id=session.id,
                user_id=user.id,
                hash=token_hash,
                created_at=session.created_at,
                expires_at=session.expires_at,
                address=session.address,
                user_agent=session.user_agent,
                password_hash=user.password_hash,
                totp=user.totp_active,
            )
        )
        if made is None:
            return False
        if replaced is not None:
            await conn.execute("DELETE FROM sessions WHERE hash = $1", replaced)
        await insert_entry(conn, entry)
    return True


async def list_sessions(db: Database, user_id: UUID, now: datetime) -> list[StoredSession]:
    """Return the sessions of a user that have not ended, the oldest first."""
    rows = await db.fetch(
        """SELECT id, user_id, created_at, last_used_at, expires_at, address, user_agent FROM sessions
           WHERE user_id = $1 AND expires_at > $2 AND last_used_at > $3 ORDER BY id""",
        user_id,
        now,
        now - IDLE,
    )
    return [StoredSession(*row.values()) for row in rows]


async def end_session(db: Database, session_id: UUID) -> int:
    """End a session. Return how many were ended."""
    return len(await db.fetch("DELETE FROM sessions WHERE id = $1 RETURNING 1", session_id))


async def end_all_sessions(db: Database, user_id: UUID, entry: LogEntry) -> int:
    """End all sessions of a user. Return how many were ended."""
    async with db.transaction() as conn:
        ended = await conn.fetch("DELETE FROM sessions WHERE user_id = $1 RETURNING 1", user_id)
        await insert_entry(conn, entry)
    return len(ended)


async def record_session_uses(db: Database, used: Mapping[UUID, datetime]) -> None:
    """Save when sessions were last used, at most once a minute for each, locking them in key order."""
    if not used:
        return
    session_ids = sorted(used)
    await db.execute(
        """WITH touched AS (
               SELECT s.id, t.at FROM sessions s JOIN unnest($1::uuid[], $2::timestamptz[]) AS t (id, at)
                 ON s.id = t.id AND s.last_used_at <= t.at - $3::interval
               ORDER BY s.id FOR NO KEY UPDATE OF s
           )
           UPDATE sessions s SET last_used_at = t.at FROM touched t WHERE s.id = t.id""",
        session_ids,
        [used[session_id] for session_id in session_ids],
        USE_EVERY,
    )


async def forget_sessions(db: Database, now: datetime) -> None:
    """Delete sessions that have expired."""
    await db.execute("DELETE FROM sessions WHERE expires_at <= $1 OR last_used_at <= $2", now, now - IDLE)
