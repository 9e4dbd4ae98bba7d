"""Batches of accepted messages: which ids came by one `POST /messages/batch`."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from gatepost.store.pool import Connection, Database


async def add_batch(
    conn: "Connection[Any]", channel_id: UUID, batch_id: UUID, message_ids: Sequence[UUID], now: datetime
) -> None:
    """Notes the messages of one commit: their ids follow one another, and no other outgoing message is between them."""
    await conn.execute(
        "INSERT INTO batches (channel_id, id, first_id, last_id, created_at) VALUES ($1, $2, $3, $4, $5)",
        channel_id,
        batch_id,
        message_ids[0],
        message_ids[-1],
        now,
    )


async def read_batch(db: Database, channel_id: UUID, batch_id: UUID) -> list[tuple[UUID, UUID]]:
    """The first and the last id of each commit of a batch, in their order; none: there is no such batch."""
    async with db.connection() as conn:
        rows = await conn.fetch(
            "SELECT first_id, last_id FROM batches WHERE channel_id = $1 AND id = $2 ORDER BY first_id",
            channel_id,
            batch_id,
        )
    return [(row["first_id"], row["last_id"]) for row in rows]


async def forget_batches(db: Database, now: datetime, days: int) -> None:
    """Deletes what is as old as the oldest messages that are kept."""
    async with db.connection() as conn:
        await conn.execute("DELETE FROM batches WHERE created_at < $1", now - timedelta(days=days))
