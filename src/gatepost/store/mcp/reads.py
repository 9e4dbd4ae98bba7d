"""Which conversations a key has read. `calls.py` writes them in the commit that records the call."""

from datetime import datetime, timedelta

from gatepost.store.pool import Database, delete_in_chunks

READ_KEPT = timedelta(hours=2)  # longer than any rule looks back


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
