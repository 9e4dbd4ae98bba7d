"""Two-factor authentication: set-up, confirmation, recovery codes.

begin ─► a secret for the app ─► confirm with a code ─► on, with ten recovery codes that are shown once
"""

import hashlib
import secrets
from datetime import datetime
from uuid import UUID

import msgspec

from gatepost.admin.users import own_actor, user_entry
from gatepost.admin.vault import Vault
from gatepost.model.account_log import OPERATOR, Actor
from gatepost.model.errors import Conflict, NotAuthenticated
from gatepost.model.totp import (
    DIGITS,
    RECOVERY_CODES,
    SECRET_BYTES,
    matching_step,
    new_recovery_code,
    plain_code,
    show_secret,
    totp_uri,
)
from gatepost.store import users as store
from gatepost.store.pool import Database
from gatepost.store.users import User


class TotpSecret(msgspec.Struct, frozen=True):
    """A new secret, and the address that an app reads from a QR code."""

    secret: str
    uri: str


async def begin_totp(db: Database, vault: Vault, user: User) -> TotpSecret:
    """Return a new secret, which has no effect until it is confirmed."""
    secret = secrets.token_bytes(SECRET_BYTES)
    if not await store.set_totp_secret(db, user.id, vault.seal(secret, _context(user.id))):
        raise Conflict("Two-factor authentication is on. Turn it off before you set it up again.")
    return TotpSecret(show_secret(secret), totp_uri(secret, user.email))


async def confirm_totp(db: Database, vault: Vault, user: User, code: str, now: datetime) -> list[str]:
    """Turn two-factor authentication on. Return the recovery codes."""
    if user.totp_active or user.totp_secret is None:
        raise Conflict("No set-up is to be confirmed. Begin with POST /api/v1/session/totp.")
    step = matching_step(_open(vault, user), plain_code(code), now)
    if step is None:
        raise NotAuthenticated("This code is wrong or expired. Wait for the next one.", "invalid_code")
    codes, hashes = _new_codes()
    if not await store.activate_totp(db, user, step, hashes, user_entry(user, own_actor(user), "totp_enabled", now)):
        raise Conflict("Two-factor authentication was changed at the same time. Begin again.")
    return codes


async def replace_recovery_codes(db: Database, user: User, now: datetime) -> list[str]:
    """Replace the recovery codes. Return the new ones."""
    codes, hashes = _new_codes()
    entry = user_entry(user, own_actor(user), "recovery_codes_replaced", now)
    if not await store.set_recovery_codes(db, user.id, hashes, entry):
        raise _off()
    return codes


async def remove_totp(db: Database, user: User, *, actor: Actor = OPERATOR, now: datetime) -> None:
    """Turn two-factor authentication off."""
    if not await store.remove_totp(db, user.id, user_entry(user, actor, "totp_disabled", now)):
        raise _off()


async def use_code(db: Database, vault: Vault, user: User, code: str, now: datetime) -> bool:
    """Return whether a code of the app, or a recovery code, is valid; it is used up by this."""
    plain = plain_code(code)
    if len(plain) == DIGITS and plain.isdecimal():
        step = matching_step(_open(vault, user), plain, now)
        return step is not None and await store.use_totp_step(db, user.id, step)
    return await store.use_recovery_code(db, user.id, _hash(plain))


def _new_codes() -> tuple[list[str], list[bytes]]:
    codes = [new_recovery_code() for _ in range(RECOVERY_CODES)]
    return codes, [_hash(plain_code(code)) for code in codes]


def _hash(code: str) -> bytes:
    """Return the hash that is stored. Recovery codes are random, so a plain SHA-256 is enough."""
    return hashlib.sha256(code.encode(errors="replace")).digest()


def _open(vault: Vault, user: User) -> bytes:
    return vault.open(user.totp_secret or b"", _context(user.id))


def _context(user_id: UUID) -> bytes:
    return b"totp:" + user_id.hex.encode()


def _off() -> Conflict:
    return Conflict("Two-factor authentication is off.")
