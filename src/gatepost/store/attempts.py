"""The log of deliveries, for people to read."""

from datetime import datetime
from uuid import UUID

import msgspec

from gatepost.store.pool import Database


class LoggedAttempt(msgspec.Struct, frozen=True):
    """One attempt with its request and its answer."""

    event_id: UUID
    number: int
    at: datetime
    latency_ms: float
    status: int | None
    error: str | None
    url: str
    request_headers: str
    request_body: str | None
    answer_headers: str | None
    answer_body: bytes | None
    state: int
    next_at: datetime | None


_LAST = UUID(int=2**128 - 1)


async def list_attempts(
    db: Database, channel_id: UUID, endpoint_id: UUID, before: tuple[UUID, int] | None, most: int
) -> list[LoggedAttempt]:
    """The attempts of an endpoint, the newest event first. The limits of one keep the planner to look-ups by key."""
    event_id, number = before or (_LAST, 0)
    async with db.connection() as conn:
        rows = await conn.fetch(
            """SELECT a.event_id, a.number, a.at, a.latency_ms, a.status, a.error, a.url, a.request_headers,
                      e.body AS request_body, a.answer_headers, a.answer_body, d.state, d.next_at
               FROM (SELECT * FROM attempts WHERE channel_id = $1 AND endpoint_id = $2 AND (event_id, number) < ($3, $4)
                     ORDER BY event_id DESC, number DESC, at DESC LIMIT $5) a
               LEFT JOIN LATERAL (SELECT body FROM events WHERE channel_id = $1 AND id = a.event_id LIMIT 1) e ON true
               JOIN LATERAL (SELECT state, next_at FROM deliveries
                             WHERE channel_id = $1 AND endpoint_id = $2 AND event_id = a.event_id LIMIT 1) d ON true
               ORDER BY a.event_id DESC, a.number DESC, a.at DESC""",
            channel_id,
            endpoint_id,
            event_id,
            number,
            most,
        )
    return [LoggedAttempt(**dict(row.items())) for row in rows]
