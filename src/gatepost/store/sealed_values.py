"""All encrypted values of the database, for a change of the secret key: read in pages, replaced one by one.

Headers of webhooks have functions of their own, because each of their values is encrypted alone.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import msgspec

from gatepost.store.devices import open_device_store
from gatepost.store.pool import Database
from gatepost.store.statement import json_text

_PAGE = 200


class SealedColumn(msgspec.Struct, frozen=True):
    """A column with encrypted values, and the columns that name a row."""

    table: str
    key: tuple[str, ...]
    column: str
    condition: str = "true"


CHANNELS = SealedColumn("channels", ("id",), "secrets", "secrets IS NOT NULL")
ENDPOINTS = SealedColumn("endpoints", ("channel_id", "id"), "secret")
USERS = SealedColumn("users", ("id",), "totp_secret", "totp_secret IS NOT NULL")
# Answers that hold a secret; the others are JSON, which does not begin with this byte.
ANSWERS = SealedColumn(
    "idempotency_keys", ("channel_id", "route", "key"), "answer", r"answer >= '\x01' AND answer < '\x02'"
)
DEVICES = SealedColumn("qr_devices.baileys_keys", ("device", "kind", "id"), "value")
KEY_CHECK = SealedColumn("key_check", ("id",), "sealed")


class SealedRow(msgspec.Struct, frozen=True):
    """An encrypted value, and what its row is named by."""

    key: tuple[Any, ...]
    value: bytes


@asynccontextmanager
async def _queryable(db: Database, column: SealedColumn, device_store: str) -> AsyncIterator[Any]:
    """Yield the database of a column; None if the column does not exist."""
    if column is not DEVICES:
        async with db.connection() as conn:
            yield conn
        return
    async with open_device_store(db, device_store) as other:
        exists = other is not None and await other.fetchval("SELECT to_regclass('qr_devices.baileys_keys')")
        yield other if exists else None


async def list_sealed(
    db: Database, column: SealedColumn, after: Sequence[Any] | None, device_store: str
) -> list[SealedRow]:
    """Return the next encrypted values of a column, in the order of their keys."""
    keys = ", ".join(column.key)
    behind = f"({keys}) > ({', '.join(f'${n + 1}' for n in range(len(column.key)))})" if after else "true"
    sql = f"""SELECT {keys}, {column.column} AS value FROM {column.table}
              WHERE {column.condition} AND {behind} ORDER BY {keys} LIMIT {_PAGE}"""
    async with _queryable(db, column, device_store) as conn:
        rows = await conn.fetch(sql, *(after or ())) if conn is not None else []
    return [SealedRow(tuple(row[name] for name in column.key), row["value"]) for row in rows]


async def replace_sealed(
    db: Database, column: SealedColumn, changes: Sequence[tuple[SealedRow, bytes]], device_store: str
) -> None:
    """Replace encrypted values in one transaction, except those that were changed meanwhile."""
    places = " AND ".join(f"{name} = ${n + 3}" for n, name in enumerate(column.key))
    sql = f"UPDATE {column.table} SET {column.column} = $1 WHERE {column.column} = $2 AND {places}"
    async with _queryable(db, column, device_store) as conn:
        if conn is not None:
            async with conn.transaction():
                await conn.executemany(sql, [(new, row.value, *row.key) for row, new in changes])


async def list_with_headers(db: Database, after: UUID | None, limit: int) -> list[tuple[UUID, str]]:
    """Return endpoints of all channels that have own headers, with the stored text of those, ordered by id."""
    rows = await db.fetch(
        """SELECT id, headers FROM endpoints WHERE headers <> '{}' AND ($1::uuid IS NULL OR id > $1)
           ORDER BY id LIMIT $2""",
        after,
        limit,
    )
    return [(row["id"], row["headers"]) for row in rows]


async def replace_headers(db: Database, endpoint_id: UUID, before: str, after: Mapping[str, str]) -> bool:
    """Store the same headers in another form, unless they were changed meanwhile."""
    return await db.changes(
        "UPDATE endpoints SET headers = $3 WHERE id = $1 AND headers = $2 RETURNING 1",
        endpoint_id,
        before,
        json_text(after),
    )
