"""API keys: create, rotate and revoke. A key is shown once; only its hash is stored."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from gatepost.admin.checks import check_found, check_name
from gatepost.model import ids
from gatepost.model.account import SCOPES, key_hash, new_key
from gatepost.model.account_log import OPERATOR, Actor, LogEntry, new_entry
from gatepost.model.dates import check_moment
from gatepost.model.errors import Conflict, invalid_field
from gatepost.store import keys as store
from gatepost.store.channels import get_config
from gatepost.store.idempotency import NEVER, IdempotentRequest
from gatepost.store.keys import ApiKey
from gatepost.store.pool import Database

DEFAULT_SCOPES = ("send", "read", "manage")
DEFAULT_OVERLAP = timedelta(hours=24)
OVERLAP_MAX = timedelta(days=30)
_HINT = 10


class NewKey(msgspec.Struct, frozen=True):
    """A key and its text, which is shown only once."""

    key: ApiKey
    text: str


async def create_key(
    db: Database,
    channel_id: UUID,
    name: str,
    *,
    scopes: Sequence[str] = DEFAULT_SCOPES,
    expires_at: datetime | None = None,
    actor: Actor = OPERATOR,
    now: datetime,
    once: IdempotentRequest[NewKey] = NEVER,
) -> NewKey:
    """Create a key for a channel."""
    text = new_key()
    key = ApiKey(
        id=ids.new_id(now),
        channel_id=channel_id,
        name=check_name(name),
        hint=text[:_HINT],
        scopes=check_scopes(scopes),
        created_at=now,
        expires_at=check_expiry(expires_at, now),
        created_by=actor.label,
    )
    entry = await _entry(db, key, actor, "key_created", now, scopes=list(key.scopes))
    shown = once.through(lambda key: NewKey(key, text))
    check_found(await store.insert_key(db, key, key_hash(text), entry, shown), "ch", channel_id)
    return NewKey(key, text)


async def get_key(db: Database, channel_id: UUID, key_id: UUID) -> ApiKey:
    """Return a key of a channel, or raise NotFound."""
    return check_found(await store.get_key(db, channel_id, key_id), "key", key_id)


async def rotate_key(
    db: Database,
    channel_id: UUID,
    key_id: UUID,
    *,
    overlap: timedelta = DEFAULT_OVERLAP,
    expires_at: datetime | None = None,
    actor: Actor = OPERATOR,
    now: datetime,
    once: IdempotentRequest[NewKey] = NEVER,
) -> NewKey:
    """Create a key with the same name and scopes; the old one stays valid for `overlap`, or until it expires."""
    if not timedelta(0) <= overlap <= OVERLAP_MAX:
        raise invalid_field("overlap", f"must be between 0 and {OVERLAP_MAX.days} days")
    old = await get_key(db, channel_id, key_id)
    text = new_key()
    new = msgspec.structs.replace(
        old,
        id=ids.new_id(now),
        hint=text[:_HINT],
        expires_at=check_expiry(expires_at, now),
        created_by=actor.label,
    )
    entry = await _entry(db, new, actor, "key_rotated", now, replaces=ids.format_id("key", key_id))
    made = await store.rotate_key(
        db,
        channel_id,
        key_id,
        new=new,
        key_hash=key_hash(text),
        overlap=overlap,
        now=now,
        entry=entry,
        once=once.through(lambda key: NewKey(key, text)),
    )
    if made is None:
        raise Conflict("This key is revoked or expired. Create a new one instead.")
    return NewKey(made, text)


async def revoke_key(db: Database, channel_id: UUID, key_id: UUID, now: datetime, *, actor: Actor = OPERATOR) -> ApiKey:
    """Revoke a key; no effect if it is revoked."""
    key = await get_key(db, channel_id, key_id)
    entry = await _entry(db, key, actor, "key_revoked", now)
    return await store.revoke_key(db, channel_id, key_id, now, entry) or await get_key(db, channel_id, key_id)


async def _entry(db: Database, key: ApiKey, actor: Actor, action: str, now: datetime, **details: Any) -> LogEntry:
    """Return the log entry of an action on a key. The account is that of the key's channel."""
    channel = check_found(await get_config(db, key.channel_id), "ch", key.channel_id)
    details = {"name": key.name, "channel": ids.format_id("ch", key.channel_id)} | details
    return new_entry(channel.account_id, actor, action, now, target=ids.format_id("key", key.id), details=details)


def check_scopes(scopes: Sequence[str]) -> tuple[str, ...]:
    """Return the scopes without duplicates, in the standard order."""
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        raise invalid_field("scopes", f"must be one or more of: {', '.join(SCOPES)}")
    return tuple(scope for scope in SCOPES if scope in scopes)


def check_expiry(expires_at: datetime | None, now: datetime) -> datetime | None:
    """Check an expiry: a future time with a time zone."""
    if expires_at is None:
        return None
    moment = check_moment("expires_at", expires_at)
    if moment <= now:
        raise invalid_field("expires_at", "must be in the future")
    return moment
