"""The rows of an account, in either cell."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from gatepost.store.moves.tables import DERIVED, STREAMED

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
