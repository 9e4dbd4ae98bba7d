"""Signing in and out.

    e-mail and password ─► a code, if two-factor authentication is on ─► a session, whose token is shown once

An unknown address and a wrong password get the same error after the same time. A failure of a known user is logged in
the background: the insert would take time too.
"""

import asyncio
from datetime import datetime
from functools import partial
from uuid import UUID

import msgspec

from gatepost.admin.passwords import verify_password
from gatepost.admin.totp import use_code
from gatepost.admin.users import change_password, own_actor, user_entry
from gatepost.admin.vault import Vault
from gatepost.background import attempt
from gatepost.model import ids
from gatepost.model.account_log import OPERATOR, Actor, LogEntry
from gatepost.model.errors import NotAuthenticated
from gatepost.model.session import LIFETIME, SignedInUser, new_token, session_ended, token_hash
from gatepost.store import account_log, sessions, users
from gatepost.store.pool import Database
from gatepost.store.sessions import StoredSession
from gatepost.store.users import KeptSession, User

_USER_AGENT = 300  # characters that are stored


class Visit(msgspec.Struct, frozen=True):
    """From where a person signs in, and the token of the session before, which ends."""

    address: str = ""
    user_agent: str = ""
    token: str | None = None


class FailureLog:
    """Writes failed sign-ins to the log of the account in the background."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._tasks: set[asyncio.Task[bool]] = set()

    def put(self, entry: LogEntry) -> None:
        task = asyncio.create_task(attempt("log of a failed sign-in", partial(account_log.add_entry, self._db, entry)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def sign_in(
    db: Database,
    vault: Vault,
    failures: FailureLog,
    email: str,
    password: str,
    code: str | None,
    visit: Visit,
    now: datetime,
) -> str:
    """Return the token of a new session, or raise why the person may not sign in."""
    user = await users.get_user_by_email(db, email) if "\0" not in email else None  # which PostgreSQL cannot store
    correct = await verify_password(user.password_hash if user else "", password)
    if user is None:
        raise _wrong()
    if not correct:
        failures.put(_failed(user, visit, "password", now))
        raise _wrong()
    if user.totp_active:
        if not code:
            raise NotAuthenticated("Two-factor authentication is on. Send the 'code' of your app too.", "code_required")
        if not await use_code(db, vault, user, code, now):
            failures.put(_failed(user, visit, "code", now))
            raise NotAuthenticated("This code is wrong, expired or used. Wait for the next one.", "invalid_code")
    return await begin_session(db, user, visit, now)


async def begin_session(db: Database, user: User, visit: Visit, now: datetime) -> str:
    """Return the token of a new session of a user who proved who they are."""
    token = new_token()
    session = StoredSession(
        ids.new_id(now), user.id, now, now, now + LIFETIME, visit.address, visit.user_agent[:_USER_AGENT]
    )
    entry = user_entry(user, own_actor(user), "signed_in", now, address=visit.address)
    replaced = token_hash(visit.token) if visit.token else None
    if not await sessions.insert_session(db, session, token_hash(token), user=user, replaced=replaced, entry=entry):
        raise _wrong()  # the password was changed in the meantime
    return token


async def read_session(db: Database, token: str) -> SignedInUser:
    """Return the session of a token that was just created."""
    user = await sessions.find_session(db, token_hash(token))
    if user is None:
        raise session_ended()
    return user


async def sign_out(db: Database, user: SignedInUser, *, everywhere: bool, now: datetime) -> int:
    """End a session, or all sessions of its user. Return how many were ended."""
    if everywhere:
        return await end_sessions(db, await _stored(db, user), actor=user.actor, now=now)
    return await sessions.end_session(db, user.principal.id)


async def end_sessions(db: Database, user: User, *, actor: Actor = OPERATOR, now: datetime) -> int:
    """End all sessions of a user. Return how many were ended."""
    return await sessions.end_all_sessions(db, user.id, user_entry(user, actor, "signed_out_everywhere", now))


async def change_own_password(
    db: Database, failures: FailureLog, user: SignedInUser, current: str, new: str, now: datetime
) -> str:
    """Change the password of a signed-in user. Return the new token of the session; the others end."""
    proven = await check_own_password(db, failures, user, current, now)
    token = new_token()
    kept = KeptSession(user.principal.id, token_hash(token))
    await change_password(
        db, user.account_id, user.user_id, new, kept=kept, before=proven.password_hash, actor=user.actor, now=now
    )
    return token


async def check_own_password(
    db: Database, failures: FailureLog, user: SignedInUser, password: str, now: datetime
) -> User:
    """Return the stored user if the password is correct."""
    stored = await _stored(db, user)
    if not await verify_password(stored.password_hash, password):
        failures.put(user_entry(stored, user.actor, "sign_in_failed", now, reason="password"))
        raise NotAuthenticated("This is not your current password.", "invalid_credentials")
    return stored


async def _stored(db: Database, user: SignedInUser) -> User:
    stored = await users.get_user(db, user.user_id)
    if stored is None:
        raise session_ended()
    return stored


def _failed(user: User, visit: Visit, reason: str, now: datetime) -> LogEntry:
    return user_entry(user, own_actor(user), "sign_in_failed", now, address=visit.address, reason=reason)


def _wrong() -> NotAuthenticated:
    return NotAuthenticated("The e-mail address or the password is wrong.", "invalid_credentials")


async def find_user(db: Database, user_id: UUID) -> User:
    """Return a user of any account, who signs in now."""
    user = await users.get_user(db, user_id)
    if user is None:
        raise _wrong()
    return user
