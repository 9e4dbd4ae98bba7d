"""When it was last changed whether people want marketing. The choice itself is `contacts.opted_out`."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from gatepost.store.pool import Connection


async def save_preference_times(
    conn: "Connection[Any]", channel_id: UUID, contact_ids: Sequence[UUID], at: datetime
) -> set[UUID]:
    """Save that preferences changed at this time. Return the contacts; those with a newer change are left out."""
    if not contact_ids:
        return set()
    rows = await conn.fetch(
        """INSERT INTO contact_preferences (channel_id, contact_id, changed_at)
           SELECT $1, id, $3 FROM unnest($2::uuid[]) AS t (id)
           ON CONFLICT (channel_id, contact_id) DO UPDATE SET changed_at = excluded.changed_at
               WHERE contact_preferences.changed_at <= excluded.changed_at
           RETURNING contact_id""",
        channel_id,
        sorted(contact_ids),
        at,
    )
    return {row["contact_id"] for row in rows}


async def merge_preference_times(conn: "Connection[Any]", channel_id: UUID, stays: UUID, goes: UUID) -> None:
    """Merge the times of two contacts; the newer one stays."""
    at: datetime | None = await conn.fetchval(
        "DELETE FROM contact_preferences WHERE channel_id = $1 AND contact_id = $2 RETURNING changed_at",
        channel_id,
        goes,
    )
    if at is not None:
        await save_preference_times(conn, channel_id, [stays], at)
