"""The tables of a migrated database, as the check of statements needs them."""

import asyncpg

from tests.store.sql.scope import OWNER_COLUMNS, Table

_TABLES = """
SELECT relname::text,
       ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = c.oid AND NOT attisdropped),
       ARRAY(SELECT ARRAY(SELECT pg_get_indexdef(indexrelid, n, true) FROM generate_series(1, indnkeyatts) n)::text
             FROM pg_index WHERE indrelid = c.oid AND indisunique AND indpred IS NULL)
FROM pg_class c WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition"""
_ROOTS = {"accounts", "channels", "users"}  # their own ids are what the others name
# Of the process that links phones, which creates the table itself. A device is of one channel.
_DEVICES = Table(frozenset({"device", "kind", "id", "value"}), (frozenset({"device"}),), True)


async def read_tables(url: str) -> dict[str, Table]:
    """Return the tables by name."""
    conn = await asyncpg.connect(url)
    try:
        rows = await conn.fetch(_TABLES)
    finally:
        await conn.close()
    return {name: _table(name, frozenset(columns), keys) for name, columns, keys in rows} | {"baileys_keys": _DEVICES}


def _table(name: str, columns: frozenset[str], keys: list[str]) -> Table:
    unique = tuple(frozenset(key.strip("{}").replace('"', "").split(",")) for key in keys)
    return Table(columns, (*unique, frozenset({"ctid"})), name in _ROOTS or bool(columns & OWNER_COLUMNS))
