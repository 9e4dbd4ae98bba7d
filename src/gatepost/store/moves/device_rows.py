"""The rows of linked devices, in tables that their engines created (`store/devices.py`)."""

from collections.abc import Sequence
from typing import Any

import msgspec

from gatepost.model.errors import Conflict
from gatepost.store.backup.table_data import DeviceTable, quoted, read_device_tables

# As in `devices.py`: each table names its device in one of these columns, and one table comes first.
_TABLES = """
SELECT c.relname AS name, min(a.attname) AS column,
       ARRAY(SELECT b.attname::text FROM pg_attribute b WHERE b.attrelid = c.oid AND b.attnum > 0
             AND NOT b.attisdropped ORDER BY b.attnum) AS columns
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = to_regnamespace('qr_devices') AND c.relkind = 'r' AND NOT a.attisdropped
  AND a.attname IN ('device', 'jid', 'our_jid') AND a.atttypid = 'text'::regtype
GROUP BY c.oid, c.relname ORDER BY c.relname <> 'whatsmeow_device', c.relname"""

# The library neonize reads here which tables it has created. It would try to create them again if this were empty.
_VERSION, _OF_LIBRARY = "whatsmeow_version", "whatsmeow_"
_WRITE_VERSION = """
SELECT format('INSERT INTO qr_devices.whatsmeow_version
               SELECT * FROM json_populate_recordset(NULL::qr_devices.whatsmeow_version, %L)', json_agg(v))
FROM qr_devices.whatsmeow_version v"""


class DeviceRows(msgspec.Struct, frozen=True):
    """The rows of some devices in one table, as text."""

    table: str
    column: str
    columns: Sequence[str]
    text: bytes


async def read_devices(conn: Any, devices: Sequence[str]) -> tuple[tuple[DeviceTable, ...], list[DeviceRows]]:
    """Return the tables of linked devices, and the rows of these devices."""
    if not devices:
        return (), []
    found = []
    for row in await conn.fetch(_TABLES):
        pieces = bytearray()

        async def keep(piece: bytes, pieces: bytearray = pieces) -> None:
            pieces += piece

        columns = ", ".join(map(quoted, row["columns"]))
        query = f"SELECT {columns} FROM qr_devices.{quoted(row['name'])} WHERE {row['column']} = ANY ($1::text[])"
        await conn.copy_from_query(query, list(devices), output=keep)
        found.append(DeviceRows(row["name"], row["column"], row["columns"], bytes(pieces)))
    return tuple([await _with_version(conn, table) for table in await read_device_tables(conn)]), found


async def _with_version(conn: Any, table: DeviceTable) -> DeviceTable:
    """Return a table with the rows that all devices share."""
    if table.name != _VERSION:
        return table
    return msgspec.structs.replace(table, create=(*table.create, await conn.fetchval(_WRITE_VERSION)))


async def make_device_tables(conn: Any, tables: Sequence[DeviceTable]) -> None:
    """Create the tables of linked devices that are missing, as the owner of their schema.

    Raise Conflict if an older version of the library has created some of them: it would fail to create the others.
    """
    have = {
        row["relname"]
        for row in await conn.fetch(
            "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace('qr_devices') AND relkind = 'r'"
        )
    }
    missing = [table for table in tables if table.name not in have]
    if not missing:
        return
    if _VERSION in have and any(table.name.startswith(_OF_LIBRARY) for table in missing):
        raise Conflict(
            "The tables of linked phones in the new cell are those of an older version. Connect a phone there, for "
            "example that of a new channel, and run this command again. The account stays where it is."
        )
    async with conn.transaction():
        await conn.execute("CREATE SCHEMA IF NOT EXISTS qr_devices")
        owner = await conn.fetchval("SELECT nspowner::regrole::text FROM pg_namespace WHERE nspname = 'qr_devices'")
        await conn.execute(f"SET LOCAL ROLE {owner}")
        for statement in [one for table in missing for one in table.create]:
            await conn.execute(statement)
        for statement in [one for table in missing for one in table.references]:
            await conn.execute(statement)


async def write_devices(conn: Any, devices: Sequence[str], found: Sequence[DeviceRows]) -> None:
    """Replace the rows of these devices."""
    for rows in found:
        await conn.execute(
            f"DELETE FROM qr_devices.{quoted(rows.table)} WHERE {rows.column} = ANY ($1::text[])", list(devices)
        )
    for rows in found:
        if rows.text:
            await conn.copy_to_table(
                rows.table, schema_name="qr_devices", columns=rows.columns, source=_Pieces(rows.text), format="text"
            )
    await conn.execute("DELETE FROM forgotten_devices WHERE device = ANY ($1::text[])", list(devices))


async def forget_devices_of(conn: Any, devices: Sequence[str]) -> None:
    """Let housekeeping delete the rows of these devices."""
    await conn.execute(
        """INSERT INTO forgotten_devices (device) SELECT unnest($1::text[])
           ON CONFLICT (device) DO UPDATE SET deleted_at = now()""",
        list(devices),
    )


class _Pieces:
    """Bytes as the source of a COPY."""

    def __init__(self, text: bytes) -> None:
        self._text = text

    async def __aiter__(self) -> Any:
        yield self._text
