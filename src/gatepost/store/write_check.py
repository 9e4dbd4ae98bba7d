"""Do writes work? Asked with real ones, for a database that answers reads may still have a full or a read-only disk.

one row is updated and committed     the log is written and flushed, and the server takes writes at all
64 KiB go into a temporary table     its file grows from nothing each time, which a full disk refuses; an update alone
                                     would find room in a page that is there
"""

from typing import Any

import asyncpg

from gatepost.store.pool import Connection, Database

_ROOM = "CREATE TEMP TABLE IF NOT EXISTS room_check (filler text STORAGE PLAIN) ON COMMIT DELETE ROWS"
_FILL = "INSERT INTO pg_temp.room_check SELECT repeat('x', 7000) FROM generate_series(1, 9)"
_TOUCH = """UPDATE write_check SET checked_at = now()
            WHERE id = (SELECT id FROM write_check WHERE id = 1 FOR UPDATE SKIP LOCKED)"""


async def check_writes(db: Database) -> None:
    """Writes, and commits, a little; raises when the database refuses."""
    async with db.connection() as conn:
        roomy = await _may_fill(conn)
        async with conn.transaction():
            # Another node at the same row just now is as good a proof as a write of our own.
            await conn.execute(_TOUCH)
            if roomy:
                await conn.execute(_FILL)


async def _may_fill(conn: "Connection[Any]") -> bool:
    """Makes the temporary table, once per connection; an operator may have withdrawn the right to have one."""
    try:
        if await conn.fetchval("SELECT to_regclass('pg_temp.room_check')") is None:
            await conn.execute(_ROOM)
    except asyncpg.InsufficientPrivilegeError:
        return False
    return True
