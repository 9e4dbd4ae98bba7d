"""API keys: only their hashes are stored. A key belongs to one channel."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model.account import API_ACCESS, SCOPES, Caller, Principal
from gatepost.model.account_log import LogEntry
from gatepost.store.account_log import insert_entry
from gatepost.store.idempotency import NEVER, IdempotentRequest
from gatepost.store.mcp.policies import copy_to_key
from gatepost.store.pool import Database


class ApiKey(msgspec.Struct, frozen=True):
    """A key without the secret."""

    id: UUID
    channel_id: UUID
    name: str
    hint: str
    scopes: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None
    created_by: str | None = None  # None: before this was recorded


_COLUMNS = "id, channel_id, name, hint, scopes, created_at, expires_at, revoked_at, last_used_at, created_by"


async def find_caller(db: Database, key_hash: bytes) -> Caller | None:
    """Return the caller of a key, with its channel and account."""
    return (await find_callers(db, [key_hash])).get(key_hash)


async def find_callers(db: Database, hashes: Sequence[bytes]) -> dict[bytes, Caller]:
    """Return the callers of those keys that exist, by the hash of the key."""
    rows = await db.fetch(
        """SELECT given.hash, found.* FROM unnest($1::bytea[]) AS given (hash) CROSS JOIN LATERAL (
               SELECT k.id, k.name, k.scopes, k.expires_at, k.revoked_at, k.channel_id, c.account_id, c.kind, c.phone,
                      a.plan, a.suspended, a.trial_ends_at,
                      EXISTS (SELECT FROM account_addons x WHERE x.account_id = a.id AND x.addon = $2) AS api_access,
                      COALESCE((c.limits->>'window')::int, 1) <> 0 AS window
               FROM api_keys k JOIN channels c ON c.id = k.channel_id JOIN accounts a ON a.id = c.account_id
               WHERE k.hash = given.hash LIMIT 1) found""",
        list(hashes),
        API_ACCESS,
    )
    return {row["hash"]: _caller(dict(row)) for row in rows}


def _caller(values: dict[str, Any]) -> Caller:
    del values["hash"]
    own = {name: values.pop(name) for name in ("id", "expires_at", "revoked_at")}
    label, scopes = values.pop("name"), frozenset(values.pop("scopes"))
    return Caller(Principal("key", scopes=scopes, label=label, **own), **values)


async def get_operator(db: Database, channel_id: UUID) -> Caller | None:
    """Return the operator as the caller on a channel: with every scope, but within the account's plan."""
    row = await db.fetchrow(
        """SELECT c.id AS channel_id, c.account_id, c.kind, c.phone, a.plan, a.suspended, a.trial_ends_at,
                  COALESCE((c.limits->>'window')::int, 1) <> 0 AS window
           FROM channels c JOIN accounts a ON a.id = c.account_id WHERE c.id = $1""",
        channel_id,
    )
    if row is None:
        return None
    return Caller(Principal("operator", UUID(int=0), frozenset(SCOPES)), api_access=True, **dict(row))


async def insert_key(
    db: Database, key: ApiKey, key_hash: bytes, entry: LogEntry, once: IdempotentRequest[ApiKey] = NEVER
) -> bool:
    """Insert a key. Return False if there is no such channel."""
    async with db.transaction() as conn:
        made = await conn.fetchval(
            """INSERT INTO api_keys (id, channel_id, name, hint, hash, scopes, created_at, expires_at, created_by)
               SELECT $1, id, $3, $4, $5, $6, $7, $8, $9 FROM channels WHERE id = $2 RETURNING 1""",
            key.id,
            key.channel_id,
            key.name,
            key.hint,
            key_hash,
            list(key.scopes),
            key.created_at,
            key.expires_at,
            key.created_by,
        )
        if made is not None:
            await insert_entry(conn, entry)
            await once.keep_unlocked(conn, key, key.created_at)
    return made is not None


async def list_keys(db: Database, channel_id: UUID) -> list[ApiKey]:
    """Return the keys of a channel, the oldest first."""
    rows = await db.fetch(f"SELECT {_COLUMNS} FROM api_keys WHERE channel_id = $1 ORDER BY id", channel_id)
    return [_key(row) for row in rows]


async def get_key(db: Database, channel_id: UUID, key_id: UUID) -> ApiKey | None:
    """Return a key of a channel."""
    row = await db.fetchrow(f"SELECT {_COLUMNS} FROM api_keys WHERE channel_id = $1 AND id = $2", channel_id, key_id)
    return _key(row) if row else None


async def find_key(db: Database, key_id: UUID) -> ApiKey | None:
    """Return a key of any channel, for the operator."""
    row = await db.fetchrow(f"SELECT {_COLUMNS} FROM api_keys WHERE id = $1", key_id)
    return _key(row) if row else None


async def revoke_key(db: Database, channel_id: UUID, key_id: UUID, now: datetime, entry: LogEntry) -> ApiKey | None:
    """Revoke a key at once. Return None if the channel has no such key, or it is revoked."""
    async with db.transaction() as conn:
        row = await conn.fetchrow(
            f"""UPDATE api_keys SET revoked_at = $3
                WHERE channel_id = $1 AND id = $2 AND revoked_at IS NULL RETURNING {_COLUMNS}""",
            channel_id,
            key_id,
            now,
        )
        if row is not None:
            await insert_entry(conn, entry)
    return _key(row) if row else None


async def rotate_key(
    db: Database,
    channel_id: UUID,
    old_id: UUID,
    *,
    new: ApiKey,
    key_hash: bytes,
    overlap: timedelta,
    now: datetime,
    entry: LogEntry,
    once: IdempotentRequest[ApiKey] = NEVER,
) -> ApiKey | None:
    """Insert a new key with the name, scopes and policy of a live one, which then expires. None: it has expired."""
    async with db.transaction() as conn:
        row = await conn.fetchrow(
            f"""WITH old AS (
                    UPDATE api_keys SET expires_at = least(expires_at, $7 + $8::interval)
                    WHERE channel_id = $1 AND id = $2 AND revoked_at IS NULL
                      AND (expires_at IS NULL OR expires_at > $7)
                    RETURNING channel_id, name, scopes, COALESCE(lineage, id) AS lineage
                )
                INSERT INTO api_keys (id, channel_id, name, hint, hash, scopes, created_at, expires_at, created_by,
                                      lineage)
                SELECT $3, channel_id, name, $4, $5, scopes, $7, $6, $9, lineage FROM old
                RETURNING {_COLUMNS}""",
            channel_id,
            old_id,
            new.id,
            new.hint,
            key_hash,
            new.expires_at,
            now,
            overlap,
            new.created_by,
        )
        if row is None:
            await once.check(conn, now)  # the same request may have just rotated it
            return None
        made = _key(row)
        if "mcp" in made.scopes:
            await copy_to_key(conn, channel_id, old_id, made.id)
        await insert_entry(conn, entry)
        await once.keep_unlocked(conn, made, now)
    return made


async def record_key_uses(db: Database, used: Mapping[UUID, datetime]) -> None:
    """Save when keys were last used, never backwards, locking them in key order."""
    if not used:
        return
    key_ids = sorted(used)
    await db.execute(
        """WITH touched AS (
               SELECT k.id, t.at FROM api_keys k JOIN unnest($1::uuid[], $2::timestamptz[]) AS t (id, at)
                 ON k.id = t.id AND (k.last_used_at IS NULL OR k.last_used_at < t.at)
               ORDER BY k.id FOR NO KEY UPDATE OF k
           )
           UPDATE api_keys k SET last_used_at = t.at FROM touched t WHERE k.id = t.id""",
        key_ids,
        [used[key_id] for key_id in key_ids],
    )


def _key(row: Any) -> ApiKey:
    values = dict(row)
    values["scopes"] = tuple(values["scopes"])
    return ApiKey(**values)
