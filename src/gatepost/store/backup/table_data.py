"""What a copy of a database says about itself: its tables, its migrations, and the tables of linked devices."""

from typing import Any

import asyncpg
import msgspec

# The text of values must not depend on the settings of a server.
SESSION = {
    "application_name": "gatepost backup",
    "timezone": "UTC",
    "datestyle": "ISO, MDY",
    "intervalstyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "statement_timeout": "0",
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
}


class TableData(msgspec.Struct, frozen=True):
    """A table or a partition, and an estimate of its size in bytes."""

    schema: str
    name: str
    columns: tuple[str, ...]
    parent: str | None = None
    size: int = 0


class DeviceTable(msgspec.Struct, frozen=True):
    """A table of linked devices, which its engine created: statements that create it empty, and its references."""

    name: str
    create: tuple[str, ...]
    references: tuple[str, ...]


class DatabaseContent(msgspec.Struct, frozen=True):
    """All tables of a database, those first that others refer to."""

    server: str
    migrations: tuple[int, ...]
    key_check: bytes | None
    tables: tuple[TableData, ...]
    device_tables: tuple[DeviceTable, ...]

    @property
    def level(self) -> int:
        """The newest migration."""
        return max(self.migrations, default=0)


async def connect_for_copy(dsn: str) -> "asyncpg.Connection[asyncpg.Record]":
    """Return a connection whose text format is the same on every server."""
    return await asyncpg.connect(dsn, server_settings=SESSION, timeout=30)


_COLUMNS = """
SELECT c.relname, string_agg(format('%I %s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
                             coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), ''),
                             CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END), ', ' ORDER BY a.attnum) AS columns
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relnamespace = to_regnamespace('qr_devices') AND c.relkind = 'r'
GROUP BY c.relname ORDER BY c.relname"""
_CONSTRAINTS = """
SELECT format('ALTER TABLE qr_devices.%I ADD CONSTRAINT %I %s', c.relname, o.conname,
              pg_get_constraintdef(o.oid)) AS text,
       o.contype = 'f' AS refers
FROM pg_constraint o JOIN pg_class c ON c.oid = o.conrelid
WHERE c.relnamespace = to_regnamespace('qr_devices') AND c.relname = $1 AND o.contype IN ('p', 'u', 'c', 'f')
ORDER BY o.conname"""
_INDEXES = """
SELECT pg_get_indexdef(i.indexrelid) AS text
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
WHERE c.relnamespace = to_regnamespace('qr_devices') AND c.relname = $1
  AND NOT EXISTS (SELECT FROM pg_constraint o WHERE o.conindid = i.indexrelid)
ORDER BY i.indexrelid::regclass::text"""


async def read_device_tables(conn: Any) -> tuple[DeviceTable, ...]:
    """Return the tables of linked devices."""
    found = []
    for row in await conn.fetch(_COLUMNS):
        name = row["relname"]
        constraints = await conn.fetch(_CONSTRAINTS, name)
        create = [f"CREATE TABLE qr_devices.{quoted(name)} ({row['columns']})"]
        create += [one["text"] for one in constraints if not one["refers"]]
        create += [one["text"] for one in await conn.fetch(_INDEXES, name)]
        found.append(DeviceTable(name, tuple(create), tuple(one["text"] for one in constraints if one["refers"])))
    return tuple(found)


def quoted(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
