"""A process that is stopped between two messages of one statement does not hold its locks for ever."""

import asyncio
import struct
from typing import Any

import asyncpg
import pytest

from gatepost.store.leases import end_stalled_sessions
from gatepost.store.pool import Database
from tests.patience import PATIENCE

HEAD, AGAIN = "SELECT pg_advisory_xact_lock(7)", b"SELECT 2"
STALLED = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND state = 'active' AND wait_event = 'ClientRead'"


async def stop_halfway(url: str, name: str) -> tuple[Any, Any, int]:
    """Takes a lock in a transaction and sends the first half of a statement: Parse and Flush, but no Sync."""
    conn: Any = await asyncpg.connect(url, server_settings={"application_name": name})
    transaction = conn.transaction()
    await transaction.start()
    await conn.execute(HEAD)
    conn._transport.pause_reading()  # or the driver would wonder at the answer
    parse = b"\0" + AGAIN + b"\0" + struct.pack("!h", 0)
    conn._transport.write(b"P" + struct.pack("!i", len(parse) + 4) + parse + b"H" + struct.pack("!i", 4))
    return conn, transaction, conn.get_server_pid()


@pytest.mark.parametrize(("name", "ended"), [("gatepost", 1), ("psql", 0)])
async def test_only_sessions_of_ours_are_ended_and_their_locks_with_them(
    database_url: str, name: str, ended: int
) -> None:
    db = await Database.connect(database_url, connections=2)
    conn, _, pid = await stop_halfway(database_url, name)
    try:
        async with asyncio.timeout(PATIENCE), db.connection() as mine:
            while not await mine.fetchval(STALLED, pid):
                await asyncio.sleep(0.01)
        assert await end_stalled_sessions(db, 3600) == 0
        assert await end_stalled_sessions(db, 0) == ended
        async with asyncio.timeout(PATIENCE), db.connection() as mine:
            while await mine.fetchval("SELECT pg_try_advisory_xact_lock(7)") != bool(ended):
                await asyncio.sleep(0.01)
    finally:
        conn.terminate()
        await db.close()
