"""Which conversations a key has read. `calls.py` writes them in the commit that records the call."""

from datetime import datetime, timedelta
from uuid import UUID

from gatepost.model.mcp_verdict import HOUR
from gatepost.store.mcp.facts import same_keys
from gatepost.store.pool import Database, Queryable, delete_in_chunks

READ_KEPT = timedelta(hours=2)  # longer than any rule looks back


async def has_read_others(conn: Queryable, channel_id: UUID, key_id: UUID, contact_id: UUID, now: datetime) -> bool:
    """Return whether a key, or one of its rotations, has read another conversation than this within the last hour."""
    found: bool = await conn.fetchval(
        f"""SELECT EXISTS (SELECT FROM mcp_reads WHERE channel_id = $1 AND key_id = ANY({same_keys("$2::uuid")})
                             AND read_at > $4 AND contact_id <> $3)""",
        channel_id,
        key_id,
        contact_id,
        now - HOUR,
    )
    return found


async def forget_reads(db: Database, now: datetime) -> int:
    """Delete what no rule looks at any more. Return how many."""
    return await delete_in_chunks(
        db,
        """DELETE FROM mcp_reads r USING (
               SELECT channel_id, call_id, contact_id FROM mcp_reads WHERE read_at < $1 ORDER BY read_at LIMIT $2) old
           WHERE r.channel_id = old.channel_id AND r.call_id = old.call_id AND r.contact_id = old.contact_id
           RETURNING 1""",
        now - READ_KEPT,
    )
