"""The tier of a number: which conversations are open, what they use of it, and its rise."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import times
from gatepost.store.channel_head import Lease
from gatepost.store.pool import Connection, Database

_DAY = timedelta(hours=24)


async def count_opened(db: Database, channel_id: UUID, since: datetime, most: int) -> int:
    """With how many people the business has opened a conversation since then; counts no further than `most`."""
    async with db.connection() as conn:
        count: int = await conn.fetchval(
            """SELECT count(*) FROM (SELECT 1 FROM conversations
               WHERE channel_id = $1 AND opened_at > $2 LIMIT $3) opened""",
            channel_id,
            since,
            most,
        )
    return count


async def conversations_open(db: Database, channel_id: UUID, contact_ids: Sequence[UUID], now: datetime) -> set[UUID]:
    """With which of these people a conversation is open: somebody wrote within the last 24 hours."""
    async with db.connection() as conn:
        rows = await conn.fetch(
            """SELECT contact_id FROM conversations
               WHERE channel_id = $1 AND contact_id = ANY ($2::uuid[]) AND (last_in_at > $3 OR opened_at > $3)""",
            channel_id,
            list(contact_ids),
            now - _DAY,
        )
    return {row["contact_id"] for row in rows}


async def close_unopened(conn: "Connection[Any]", channel_id: UUID, contact_ids: Sequence[UUID]) -> None:
    """Conversations that the network would not have opened are not open, and use nothing of the tier."""
    await conn.execute(
        "UPDATE conversations SET opened_at = NULL WHERE channel_id = $1 AND contact_id = ANY ($2::uuid[])",
        channel_id,
        list(contact_ids),
    )


async def raise_tier(db: Database, lease: Lease, before: int, tier: int, now: datetime) -> bool:
    """Notes a new tier; False when it is no longer ours to say, or somebody has set another meanwhile."""
    async with db.connection() as conn:
        done = await conn.fetchval(
            """UPDATE channels SET limits = limits || $4::jsonb, state = state || $5::jsonb
               WHERE id = $1 AND COALESCE((limits->>'tier')::bigint, $3) = $3
                 AND EXISTS (SELECT 1 FROM channel_heads WHERE channel_id = $1 AND epoch = $2) RETURNING 1""",
            lease.channel_id,
            lease.epoch,
            before,
            msgspec.json.encode({"tier": tier}).decode(),
            msgspec.json.encode({"tier_since": times.show(now), "tier_from": "ladder"}).decode(),
        )
    return done is not None
