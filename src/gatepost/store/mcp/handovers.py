"""Conversations that an assistant gave to a person: its key writes nothing there until it gets it back."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.store.pool import Connection, Queryable


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
