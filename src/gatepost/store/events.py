"""The feed: a channel's events in the order of their commits, which is the order of their ids."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from gatepost.store.pool import Database


class FeedEvent(msgspec.Struct, frozen=True):
    id: UUID
    seq: int
    body: str


async def read_feed(
    db: Database, channel_id: UUID, after: UUID, types: Sequence[str] | None, most: int
) -> list[FeedEvent]:
    """Events behind the cursor. None is ever inserted before one that was read: ids follow the commits."""
    async with db.connection() as conn:
        rows = await conn.fetch(
            """SELECT id, seq, body FROM events
               WHERE channel_id = $1 AND id > $2 AND ($3::text[] IS NULL OR type = ANY ($3))
               ORDER BY id LIMIT $4""",
            channel_id,
            after,
            None if types is None else list(types),
            most,
        )
    return [FeedEvent(row["id"], row["seq"], row["body"]) for row in rows]
