"""Which rows belong to an account: every table is in exactly one of these lists. And deleting them."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

# Copied while the account is in use, and kept up to date by logical replication. The column is part of the primary
# key, and no table refers to these: without its channel, no process looks at such a row.
STREAMED = {
    "account_usage": "account_id",
    "contact_aliases": "channel_id",
    "contact_preferences": "channel_id",
    "contacts": "channel_id",
    "conversation_notes": "channel_id",
    "conversations": "channel_id",
    "daily_counts": "channel_id",
    "daily_cursors": "channel_id",
    "daily_failures": "channel_id",
    "deliveries": "channel_id",
    "delivery_attempts": "channel_id",
    "delivery_retries": "channel_id",
    "drafts": "channel_id",
    "events": "channel_id",
    "idempotency_keys": "channel_id",
    "label_uses": "channel_id",
    "labels": "channel_id",
    "mcp_calls": "channel_id",
    "mcp_handovers": "channel_id",
    "mcp_reads": "channel_id",
    "media": "channel_id",
    "messages": "channel_id",
    "orders": "channel_id",
    "parked_statuses": "channel_id",
    "refused_requests": "channel_id",
    "scheduled_messages": "channel_id",
    "search_blocks": "channel_id",
    "templates": "channel_id",
}

_OF_ACCOUNT = "account_id = $1"
_OF_USERS = "user_id IN (SELECT id FROM users WHERE account_id = $1)"
_OF_CHANNELS = "channel_id IN (SELECT id FROM channels WHERE account_id = $1)"
# Copied in the commit by which the account arrives, those first that others refer to: with these rows it is found and
# served. `channel_heads` follows: they are taken away first, so that nobody can write (`departure.fence`).
DECISIVE = {
    "accounts": "id = $1",
    "account_addons": _OF_ACCOUNT,
    "account_log": _OF_ACCOUNT,
    "users": _OF_ACCOUNT,
    "sessions": _OF_USERS,
    "one_time_links": _OF_USERS,
    "channels": _OF_ACCOUNT,
    "channel_links": _OF_CHANNELS,
    "api_keys": _OF_CHANNELS,
    "mcp_policies": _OF_CHANNELS,
    "endpoints": _OF_CHANNELS,
    "batches": _OF_CHANNELS,
    "recoveries": _OF_CHANNELS,
    "search_progress": _OF_CHANNELS,
    "search_failures": _OF_CHANNELS,
}

# Those whose rows requests change, and must not while they are copied. Rows of the others are added only with a lock on
# a row of these, or changed only by the owner of a channel.
LOCKED = ("accounts", "account_addons", "users", "one_time_links", "channels", "api_keys", "mcp_policies", "endpoints")

# Counted by triggers from other rows, or of uploads in progress, which fail and are repeated.
DERIVED = {"channel_storage": "channel_id", "storage_reservations": "channel_id"}

# Of the database itself.
OWN = (
    "account_moves",
    "cell",
    "channel_owners",
    "forgotten_devices",
    "key_check",
    "oldest_program",
    "schema_migrations",
    "write_check",
)


RawConnection = Any  # asyncpg's connection, outside of the pool
_CHUNK = 5_000  # rows that one statement deletes


async def columns_of(conn: RawConnection, table: str) -> list[str]:
    """Return the columns of a table that can be written."""
    rows = await conn.fetch(
        """SELECT attname FROM pg_attribute
           WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
           ORDER BY attnum""",
        table,
    )
    return [row["attname"] for row in rows]


async def delete_rows(conn: RawConnection, account_id: UUID, channels: Iterable[UUID]) -> int:
    """Delete an account's rows that nobody looks at, some at a time. Return how many."""
    wanted = {"channel_id": [*channels, account_id], "account_id": [account_id]}
    total = 0
    for table, column in (STREAMED | DERIVED).items():
        parts = await conn.fetch(
            "SELECT relid::regclass::text FROM pg_partition_tree($1::text::regclass) WHERE isleaf", table
        )
        for part in [row[0] for row in parts] or [table]:  # no rows: it has no partitions
            total += await _delete_from(conn, part, column, wanted[column])
    return total


async def _delete_from(conn: RawConnection, table: str, column: str, wanted: Sequence[UUID]) -> int:
    total, deleted = 0, _CHUNK
    while deleted == _CHUNK:
        done = await conn.execute(
            f"DELETE FROM {table} WHERE ctid = ANY (ARRAY("
            f"SELECT ctid FROM {table} WHERE {column} = ANY ($1::uuid[]) LIMIT {_CHUNK}))",
            wanted,
        )
        deleted = int(done.rpartition(" ")[2])
        total += deleted
    return total
