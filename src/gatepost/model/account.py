"""Accounts, plans and keys: what they are, and the pure rules about them."""

import hashlib
import re
import secrets
import string
import zlib
from datetime import datetime
from uuid import UUID

import msgspec

from gatepost.model.errors import MissingScope, NoAccess, NotAuthenticated

API_ACCESS = "API Access"
SCOPES = ("send", "read", "manage", "mcp")
KINDS = ("official", "qr")
KEY_PREFIX = "gpk_"
_CHECK = 6  # digits of a key's checksum
_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_KEY = re.compile(rf"{KEY_PREFIX}([\w-]{{43}})([0-9A-Za-z]{{{_CHECK}}}|)", re.ASCII)


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A plan of the price list. No figure means no limit."""

    title: str
    messages_per_month: int | None = None
    storage_bytes: int | None = None


class Caller(msgspec.Struct, frozen=True):
    """Who is calling: a key with its channel and account, as one row of the database tells it."""

    key_id: UUID
    channel_id: UUID
    account_id: UUID
    kind: str
    phone: str
    plan: str
    scopes: frozenset[str]
    suspended: bool
    api_access: bool
    trial_ends_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    window: bool = True  # whether the channel's network takes free text within 24 hours of an answer only


def new_key() -> str:
    """A fresh API key: 256 random bits and their checksum, shown once."""
    random = secrets.token_urlsafe(32)
    return KEY_PREFIX + random + _checksum(random)


def is_key(text: str) -> bool:
    """Whether a text can be an API key at all. Older keys have no checksum."""
    parts = _KEY.fullmatch(text)
    return parts is not None and parts[2] in ("", _checksum(parts[1]))


def _checksum(random: str) -> str:
    """The CRC-32 in six digits of base 62."""
    rest, digits = zlib.crc32(random.encode()), ""
    for _ in range(_CHECK):
        rest, digit = divmod(rest, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits


def key_hash(key: str) -> bytes:
    """What is stored. A key is random, so one round of SHA-256 is enough to keep it unguessable."""
    return hashlib.sha256(key.encode()).digest()


def check_key(caller: Caller | None, now: datetime) -> Caller:
    """Refuses a key that does not exist, is revoked or is past its time, without telling which."""
    if caller is None or _ended(caller.revoked_at, now) or _ended(caller.expires_at, now):
        raise NotAuthenticated("This API key is not valid. Make a new one with 'gatepost key create'.")
    return caller


def check_access(caller: Caller, now: datetime) -> None:
    """The API is usable during the trial or with the add-on, and never while suspended."""
    if caller.suspended:
        raise NoAccess("This account is suspended. Ask the operator of this gateway.", "account_suspended")
    if not caller.api_access and now >= caller.trial_ends_at:
        raise NoAccess(f'The trial is over. Add "{API_ACCESS}" to the account to go on using the API.')


def check_scope(caller: Caller, scope: str) -> None:
    if scope not in caller.scopes:
        raise MissingScope(f"This key lacks the scope '{scope}'. Use a key that has it.")


def _ended(at: datetime | None, now: datetime) -> bool:
    return at is not None and now >= at
