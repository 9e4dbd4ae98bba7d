"""What keys did with conversations: which they have read, and which they handed over to a person.

`calls.py` writes what was read in the commit that records the call. A key writes nothing to a conversation that it
handed over until it gets it back.
"""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model.mcp_verdict import HOUR
from gatepost.store.mcp.facts import same_keys
from gatepost.store.pool import Connection, Database, Queryable, delete_in_chunks

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


class HandoverRow(msgspec.Struct, frozen=True):
    """A conversation that a key does not write to."""

    key_id: UUID
    key_name: str | None
    reason: str
    at: datetime


async def insert_handover(
    conn: "Connection[Any]", channel_id: UUID, contact_id: UUID, key_id: UUID, reason: str, now: datetime
) -> bool:
    """Record a hand-over, under the channel's lock. Return False if there is one: it keeps its reason and time."""
    made = await conn.fetchval(
        """INSERT INTO mcp_handovers (channel_id, contact_id, key_id, reason, at) VALUES ($1, $2, $3, $4, $5)
           ON CONFLICT DO NOTHING RETURNING 1""",
        channel_id,
        contact_id,
        key_id,
        reason,
        now,
    )
    return made is not None


async def list_handovers(db: Queryable, channel_id: UUID, contact_id: UUID) -> list[HandoverRow]:
    """Return the keys that do not write to a conversation, the oldest hand-over first."""
    rows = await db.fetch(
        """SELECT h.key_id, (SELECT name FROM api_keys k WHERE k.id = h.key_id) AS key_name, h.reason, h.at
           FROM mcp_handovers h WHERE h.channel_id = $1 AND h.contact_id = $2 ORDER BY h.at, h.key_id""",
        channel_id,
        contact_id,
    )
    return [HandoverRow(**row) for row in rows]


async def delete_handovers(conn: Queryable, channel_id: UUID, contact_id: UUID) -> int:
    """Give a conversation back to all keys. Return how many did not write to it."""
    rows = await conn.fetch(
        "DELETE FROM mcp_handovers WHERE channel_id = $1 AND contact_id = $2 RETURNING 1", channel_id, contact_id
    )
    return len(rows)


async def merge_assistant_rows(conn: "Connection[Any]", channel_id: UUID, stays: UUID, goes: UUID) -> None:
    """Move drafts, calls, reads and hand-overs to the contact that stays. The caller holds the channel's head.

    One call may have read both contacts, and one key handed both over. Calls and reads are only inserted by others, so
    that nobody waits for rows that are moved here.
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
