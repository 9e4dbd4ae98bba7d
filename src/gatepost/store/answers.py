"""Answers that an Idempotency-Key was given, for what is made under the channel's head."""

from datetime import datetime
from typing import Any
from uuid import UUID

from gatepost.model.errors import Invalid
from gatepost.store.accepting import Key
from gatepost.store.pool import Connection


async def find_answer(conn: "Connection[Any]", channel_id: UUID, key: Key | None) -> bytes | None:
    """The answer that this key got before. The caller holds the channel's head, so no other uses it at this moment."""
    if key is None:
        return None
    row = await conn.fetchrow(
        "SELECT body_hash, answer FROM idempotency_keys WHERE channel_id = $1 AND route = $2 AND key = $3",
        channel_id,
        key.route,
        key.key,
    )
    if row is None:
        return None
    if row["body_hash"] != key.body_hash:
        raise Invalid(
            "This Idempotency-Key was used before with another body. Use a new key for a new request.",
            "idempotency_key_reused",
        )
    answer: bytes = row["answer"]
    return answer


async def keep_answer(conn: "Connection[Any]", channel_id: UUID, key: Key | None, answer: bytes, now: datetime) -> None:
    """Keeps an answer in the commit of what it tells of."""
    if key is not None:
        await conn.execute(
            """INSERT INTO idempotency_keys (channel_id, route, key, body_hash, answer, created_at)
               VALUES ($1, $2, $3, $4, $5, $6)""",
            channel_id,
            key.route,
            key.key,
            key.body_hash,
            answer,
            now,
        )
