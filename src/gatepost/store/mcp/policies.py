"""The policies of keys, and the switch that stops all assistants of an account."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.account_log import LogEntry
from gatepost.model.mcp_policy import DEFAULT_POLICY, Policy
from gatepost.store.account_log import insert_entry
from gatepost.store.pool import Connection, Database, Queryable
from gatepost.store.statement import json_text


class StoredPolicy(msgspec.Struct, frozen=True):
    """The policy of a key. Without times, nobody has saved one: the defaults apply."""

    policy: Policy = DEFAULT_POLICY
    updated_at: datetime | None = None
    updated_by: str | None = None


class McpStop(msgspec.Struct, frozen=True):
    """Since when all assistants of an account are stopped, and by whom."""

    stopped_at: datetime | None
    stopped_by: str | None


class KeyPolicies(msgspec.Struct, frozen=True):
    """The policies of some keys of a channel, and whether all of them are stopped."""

    stopped: bool
    policies: dict[UUID, Policy]
    lineages: dict[UUID, UUID]  # of each key, the same for those that replaced it


async def get_policy(db: Queryable, channel_id: UUID, key_id: UUID) -> StoredPolicy:
    """Return the policy of a key of a channel, or the defaults."""
    row = await db.fetchrow(
        "SELECT policy, updated_at, updated_by FROM mcp_policies WHERE key_id = $2 AND channel_id = $1",
        channel_id,
        key_id,
    )
    return StoredPolicy(_policy(row["policy"]), row["updated_at"], row["updated_by"]) if row else StoredPolicy()


async def save_policy(
    db: Database,
    channel_id: UUID,
    key_id: UUID,
    policy: Policy,
    now: datetime,
    by: str,
    entry: LogEntry,
    *,
    before: StoredPolicy | None = None,
) -> bool:
    """Save the policy of a key. Return False if the channel has no such key, or `before` is not stored any more."""
    async with db.transaction() as conn:
        lock = "SELECT 1 FROM api_keys WHERE channel_id = $1 AND id = $2 FOR NO KEY UPDATE"
        await conn.execute(lock, channel_id, key_id)
        if before is not None and (await get_policy(conn, channel_id, key_id)).policy != before.policy:
            return False
        made = await conn.fetchval(
            """INSERT INTO mcp_policies (key_id, channel_id, policy, updated_at, updated_by)
               SELECT id, channel_id, $3, $4, $5 FROM api_keys WHERE id = $2 AND channel_id = $1
               ON CONFLICT (key_id) DO UPDATE SET policy = excluded.policy, updated_at = excluded.updated_at,
                   updated_by = excluded.updated_by
               RETURNING 1""",
            channel_id,
            key_id,
            json_text(policy),
            now,
            by,
        )
        if made is not None:
            await insert_entry(conn, entry)
    return made is not None


async def copy_to_key(conn: "Connection[Any]", channel_id: UUID, old_id: UUID, new_id: UUID) -> None:
    """Give a key that replaces another one its policy. What the old one does counts for the new one (`same_keys`)."""
    await conn.execute(
        """INSERT INTO mcp_policies (key_id, channel_id, policy, updated_at, updated_by)
           SELECT $3, channel_id, policy, updated_at, updated_by FROM mcp_policies
           WHERE key_id = $2 AND channel_id = $1""",
        channel_id,
        old_id,
        new_id,
    )


async def read_policies(conn: Queryable, channel_id: UUID, key_ids: Sequence[UUID]) -> KeyPolicies:
    """Return the policies of these keys, defaults included."""
    rows = await conn.fetch(
        """SELECT given.key_id, p.policy, stop.stopped, COALESCE(k.lineage, given.key_id) AS lineage
           FROM unnest($2::uuid[]) AS given (key_id)
           LEFT JOIN api_keys k ON k.id = given.key_id AND k.channel_id = $1
           LEFT JOIN LATERAL (
               SELECT policy FROM mcp_policies WHERE key_id = given.key_id AND channel_id = $1) p ON true
           CROSS JOIN (
               SELECT EXISTS (SELECT FROM channels c JOIN accounts a ON a.id = c.account_id
                              WHERE c.id = $1 AND a.mcp_stopped_at IS NOT NULL) AS stopped) stop""",
        channel_id,
        list(key_ids),
    )
    policies = {row["key_id"]: _policy(row["policy"]) if row["policy"] else DEFAULT_POLICY for row in rows}
    lineages = {row["key_id"]: row["lineage"] for row in rows}
    return KeyPolicies(any(row["stopped"] for row in rows), policies, lineages)


async def read_label_rules(conn: Queryable, channel_id: UUID) -> set[UUID]:
    """Return the labels by which policies of this channel choose recipients."""
    rows = await conn.fetch(
        """SELECT p.policy FROM api_keys k CROSS JOIN LATERAL (
               SELECT policy FROM mcp_policies WHERE key_id = k.id LIMIT 1) p
           WHERE k.channel_id = $1""",
        channel_id,
    )
    named = {text for row in rows for text in _policy(row["policy"]).recipients.labels}
    return {label_id for text in named if (label_id := ids.parse_id("lb", text))}


async def get_stop(db: Database, account_id: UUID) -> McpStop | None:
    """Return whether the assistants of an account are stopped; None if there is no such account."""
    row = await db.fetchrow("SELECT mcp_stopped_at, mcp_stopped_by FROM accounts WHERE id = $1", account_id)
    return McpStop(*row) if row else None


async def set_stop(db: Database, account_id: UUID, stop: McpStop, entry: LogEntry) -> bool:
    """Stop all assistants of an account, or let them go on. Return False if nothing changes."""
    async with db.transaction() as conn:
        changed = await conn.fetchval(
            """UPDATE accounts SET mcp_stopped_at = $2, mcp_stopped_by = $3
               WHERE id = $1 AND (mcp_stopped_at IS NULL) = ($2::timestamptz IS NOT NULL) RETURNING 1""",
            account_id,
            stop.stopped_at,
            stop.stopped_by,
        )
        if changed is not None:
            await insert_entry(conn, entry)
    return changed is not None


def _policy(text: str) -> Policy:
    return msgspec.json.decode(text, type=Policy)
