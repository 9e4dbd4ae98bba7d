"""Linked devices of deleted channels: their rows are deleted wherever devices are stored.

delete a channel ─► its device into forgotten_devices (same commit) ─► rows of the device deleted, at once and for an
hour after: the process that held the link stops a moment later, and may write until then
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import asyncpg
import structlog

from gatepost.model.errors import GatepostError
from gatepost.store.pool import DRIVER_ERRORS, Connection, Database

log = structlog.get_logger("gatepost.store")

_POSTGRESQL = ("postgresql://", "postgres://")
# Each engine creates its own tables, whose rows name their device in one of these columns.
_DELETIONS = """
SELECT format('DELETE FROM %s WHERE %I = $1', c.oid::regclass, a.attname)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = to_regnamespace('qr_devices') AND c.relkind = 'r' AND NOT a.attisdropped
  AND a.attname IN ('device', 'jid', 'our_jid') AND a.atttypid = 'text'::regtype
ORDER BY c.relname <> 'whatsmeow_device'"""


async def record_device(conn: "Connection[Any]", account_id: UUID, channel_id: UUID) -> None:
    """Record the linked device of a channel that is about to be deleted."""
    await conn.execute(
        """INSERT INTO forgotten_devices (device)
           SELECT l.device FROM channels c JOIN channel_links l ON l.channel_id = c.id
           WHERE c.account_id = $1 AND c.id = $2 AND l.device IS NOT NULL
           ON CONFLICT (device) DO UPDATE SET deleted_at = now()""",
        account_id,
        channel_id,
    )


async def forget_devices(db: Database, device_store: str) -> None:
    """Delete the rows of recorded devices in the device store: the address given, or with "" the database itself."""
    devices = await _noted(db)
    if not devices:
        return
    try:
        async with _opened(db, device_store) as conn:
            if conn is not None:
                for device in devices:
                    await _delete_rows(conn, device)
    except (GatepostError, OSError, *DRIVER_ERRORS) as error:
        log.warning("rows of deleted linked devices could not be deleted; they are tried again", reason=str(error))
        return
    async with db.connection() as own:
        await own.execute("DELETE FROM forgotten_devices WHERE deleted_at < now() - interval '1 hour'")


async def _noted(db: Database) -> list[str]:
    """Return the recorded devices, except one that a channel has again."""
    rows = await db.fetch(
        """SELECT device FROM forgotten_devices f
           WHERE NOT EXISTS (SELECT FROM channel_links l WHERE l.device = f.device) ORDER BY device"""
    )
    return [row["device"] for row in rows]


@asynccontextmanager
async def _opened(db: Database, device_store: str) -> AsyncIterator["Connection[Any] | asyncpg.Connection[Any] | None"]:
    """Return a connection to the device store; none if it is a file, which only its engine can open."""
    if not device_store:
        async with db.connection() as conn:
            yield conn
    elif not device_store.startswith(_POSTGRESQL):
        yield None
    else:
        other = await asyncpg.connect(device_store, timeout=5)
        try:
            yield other
        finally:
            await other.close()


async def _delete_rows(conn: Any, device: str) -> None:
    async with conn.transaction():
        for row in await conn.fetch(_DELETIONS):
            await conn.execute(row[0], device)
