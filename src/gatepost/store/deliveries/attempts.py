"""The log of attempts: what was sent, and what came back.

The events of one POST have an attempt each, and the first of them keeps what all share: the answer, and who they are.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.store.pool import Connection, Database, keys_and_span

_LAST = UUID(int=2**128 - 1)
_COLUMNS = """a.event_id, a.number, a.at, a.latency_ms, a.status, a.error, a.url, a.request_headers,
              coalesce(f.answer_headers, a.answer_headers) AS answer_headers,
              coalesce(f.answer_body, a.answer_body) AS answer_body"""
_SHARED = """LEFT JOIN LATERAL (
                 SELECT f.answer_headers, f.answer_body, f.batch FROM delivery_attempts f
                 WHERE f.channel_id = $1 AND f.endpoint_id = $2 AND f.event_id = a.batch_first AND f.at = a.at
                   AND a.batch_first <> a.event_id LIMIT 1) f ON true"""


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


class DeliveryAttempt(msgspec.Struct, frozen=True):
    """One attempt of a delivery; its body is put together from the events that it carried."""

    number: int
    at: datetime
    latency_ms: float
    status: int | None
    error: str | None
    url: str
    request_headers: str
    answer_headers: str | None
    answer_body: bytes | None
    batch: tuple[UUID, ...]  # the events of the POST, in their order; empty: it carried this one alone


async def list_attempts(
    db: Database, channel_id: UUID, endpoint_id: UUID, before: tuple[UUID, int] | None, most: int
) -> list[LoggedAttempt]:
    """The attempts of an endpoint, the newest event first. The limits of one keep the planner to look-ups by key."""
    event_id, number = before or (_LAST, 0)
    async with db.connection() as conn:
        rows = await conn.fetch(
            f"""SELECT {_COLUMNS}, e.body AS request_body, d.state, d.next_at
               FROM (SELECT * FROM delivery_attempts
                     WHERE channel_id = $1 AND endpoint_id = $2 AND (event_id, number) < ($3, $4)
                     ORDER BY event_id DESC, number DESC, at DESC LIMIT $5) a
               {_SHARED}
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


async def read_attempts(
    db: Database, channel_id: UUID, endpoint_id: UUID, event_id: UUID, most: int
) -> tuple[list[DeliveryAttempt], dict[UUID, str]]:
    """The newest attempts of one delivery, the first of them first, and the events that they carried."""
    async with db.connection() as conn:
        rows = await conn.fetch(
            f"""SELECT {_COLUMNS}, coalesce(f.batch, a.batch) AS batch
                FROM (SELECT * FROM delivery_attempts WHERE channel_id = $1 AND endpoint_id = $2 AND event_id = $3
                      ORDER BY number DESC, at DESC LIMIT $4) a
                {_SHARED}
                ORDER BY a.number, a.at""",
            channel_id,
            endpoint_id,
            event_id,
            most,
        )
        attempts = [_attempt(row) for row in rows]
        bodies = await _bodies(conn, channel_id, {event_id, *(id_ for one in attempts for id_ in one.batch)})
    return attempts, bodies


def _attempt(row: Any) -> DeliveryAttempt:
    fields = {name: row[name] for name in DeliveryAttempt.__struct_fields__}
    return DeliveryAttempt(**fields | {"batch": tuple(fields["batch"] or ())})


async def _bodies(conn: "Connection[Any]", channel_id: UUID, wanted: set[UUID]) -> dict[UUID, str]:
    keys, first, last = keys_and_span(sorted(wanted))
    rows: Sequence[Any] = await conn.fetch(
        """SELECT e.id, e.body FROM unnest($2::uuid[]) AS k (id) CROSS JOIN LATERAL (
               SELECT id, body FROM events WHERE channel_id = $1 AND id = k.id AND id BETWEEN $3 AND $4 LIMIT 1) e""",
        channel_id,
        keys,
        first,
        last,
    )
    return {row["id"]: row["body"] for row in rows}
