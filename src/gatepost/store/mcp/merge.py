"""Moves what assistants did with a contact to the one that it is merged with. The caller holds the channel's head."""

from typing import Any
from uuid import UUID

from gatepost.store.pool import Connection


async def merge_assistant_rows(conn: "Connection[Any]", channel_id: UUID, stays: UUID, goes: UUID) -> None:
    """Move drafts, calls, reads and hand-overs. One call may have read both contacts, and one key handed both over.

    Calls and reads are only inserted by others, so that nobody waits for rows that are moved here.
    """
    keys = (channel_id, stays, goes)
    await conn.execute("UPDATE drafts SET contact_id = $2 WHERE channel_id = $1 AND contact_id = $3", *keys)
    await conn.execute("UPDATE mcp_calls SET contact_id = $2 WHERE channel_id = $1 AND contact_id = $3", *keys)
    await conn.execute(
        """WITH moved AS (DELETE FROM mcp_reads WHERE channel_id = $1 AND contact_id = $3
                          RETURNING call_id, key_id, read_at)
           INSERT INTO mcp_reads (channel_id, call_id, contact_id, key_id, read_at)
           SELECT $1, call_id, $2, key_id, read_at FROM moved ON CONFLICT DO NOTHING""",
        *keys,
    )
    await conn.execute(
        """WITH moved AS (DELETE FROM mcp_handovers WHERE channel_id = $1 AND contact_id = $3
                          RETURNING key_id, reason, at)
           INSERT INTO mcp_handovers (channel_id, contact_id, key_id, reason, at)
           SELECT $1, $2, key_id, reason, at FROM moved ON CONFLICT DO NOTHING""",
        *keys,
    )
