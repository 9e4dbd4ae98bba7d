"""Deliveries of events to endpoints: what is to be done, and what every attempt came to."""

from collections.abc import Sequence
from datetime import datetime
from enum import IntEnum
from typing import Any
from uuid import UUID

import msgspec

from gatepost.store.heads import Lease, StaleOwner, hold_epoch
from gatepost.store.pool import Connection, Database


class DeliveryState(IntEnum):
    PENDING = 0
    DELIVERED = 1
    EXHAUSTED = 2
    DROPPED = 3


class Due(msgspec.Struct, frozen=True):
    """An event that an endpoint is to get."""

    event_id: UUID
    body: bytes
    attempts: int


class Target(msgspec.Struct, frozen=True):
    """An endpoint as the courier needs it."""

    id: UUID
    url: str
    headers: dict[str, str]
    secret: bytes
    cursor: UUID


async def read_targets(db: Database, channel_id: UUID) -> list[Target]:
    """The endpoints of a channel that are to be delivered to."""
    async with db.connection() as conn:
        rows = await conn.fetch(
            "SELECT id, url, headers, secret, cursor FROM endpoints WHERE channel_id = $1 AND state = 'active'",
            channel_id,
        )
    return [
        Target(row["id"], row["url"], msgspec.json.decode(row["headers"]), row["secret"], row["cursor"]) for row in rows
    ]


async def read_pending(db: Database, channel_id: UUID, endpoint_id: UUID, after: UUID, most: int) -> list[Due]:
    """Deliveries behind the cursor that were never tried, in the order of their events."""
    async with db.connection() as conn:
        rows = await conn.fetch(
            """SELECT d.event_id, e.body, d.attempts FROM deliveries d
               JOIN LATERAL (SELECT body FROM events WHERE channel_id = $1 AND id = d.event_id LIMIT 1) e ON true
               WHERE d.channel_id = $1 AND d.endpoint_id = $2 AND d.event_id > $3 AND d.state = 0 AND d.attempts = 0
               ORDER BY d.event_id LIMIT $4""",
            channel_id,
            endpoint_id,
            after,
            most,
        )
    return [Due(row["event_id"], row["body"].encode(), row["attempts"]) for row in rows]


async def read_retries(
    db: Database, channel_id: UUID, endpoint_id: UUID, now: datetime, under_way: Sequence[UUID], most: int
) -> list[Due]:
    """Deliveries whose next attempt is due, but for those under way; the limits of one mean look-ups by key."""
    async with db.connection() as conn:
        rows = await conn.fetch(
            """SELECT r.event_id, e.body, d.attempts FROM
                 (SELECT event_id FROM delivery_retries WHERE channel_id = $1 AND endpoint_id = $2 AND next_at <= $3
                    AND event_id <> ALL ($5::uuid[]) ORDER BY next_at LIMIT $4) r
               JOIN LATERAL (SELECT body FROM events WHERE channel_id = $1 AND id = r.event_id LIMIT 1) e ON true
               JOIN LATERAL (SELECT state, attempts FROM deliveries
                             WHERE channel_id = $1 AND endpoint_id = $2 AND event_id = r.event_id LIMIT 1) d ON true
               WHERE d.state = 0""",
            channel_id,
            endpoint_id,
            now,
            most,
            list(under_way),
        )
    return [Due(row["event_id"], row["body"].encode(), row["attempts"]) for row in rows]


async def next_retry(db: Database, channel_id: UUID, endpoint_id: UUID, under_way: Sequence[UUID]) -> datetime | None:
    """When the endpoint's next repeated attempt is due, but for those under way."""
    async with db.connection() as conn:
        value: datetime | None = await conn.fetchval(
            """SELECT next_at FROM delivery_retries WHERE channel_id = $1 AND endpoint_id = $2
                 AND event_id <> ALL ($3::uuid[]) ORDER BY next_at LIMIT 1""",
            channel_id,
            endpoint_id,
            list(under_way),
        )
    return value


class Attempt(msgspec.Struct, frozen=True):
    """One attempt and what follows from it."""

    endpoint_id: UUID
    event_id: UUID
    number: int
    at: datetime
    latency_ms: float
    status: int | None
    error: str | None
    url: str
    request_headers: str
    answer_headers: str | None
    answer_body: bytes | None
    state: DeliveryState
    next_at: datetime | None


async def record_attempts(db: Database, lease: Lease, attempts: Sequence[Attempt], now: datetime) -> None:
    """Writes the log, the state of each delivery, and when to try again."""
    attempts = sorted(attempts, key=lambda a: (a.endpoint_id, a.event_id))
    if all(a.number == 1 and a.next_at is None for a in attempts):
        async with db.connection() as conn:
            await _log_attempts(conn, lease, attempts, now)
        return
    async with db.transaction() as conn:
        await _log_attempts(conn, lease, attempts, now)
        await _update_retries(conn, lease.channel_id, attempts)


async def _log_attempts(conn: "Connection[Any]", lease: Lease, attempts: Sequence[Attempt], now: datetime) -> None:
    """One statement, held against a change of owner: the log's rows and the deliveries' states."""
    held = await conn.fetchval(
        """WITH held AS (
               SELECT epoch FROM channel_heads WHERE channel_id = $1 AND epoch = $2 FOR KEY SHARE
           ), a AS (
               SELECT * FROM unnest($5::uuid[], $6::uuid[], $7::smallint[], $8::timestamptz[], $9::real[],
                                    $10::smallint[], $11::text[], $12::text[], $13::text[], $14::text[], $15::bytea[],
                                    $16::smallint[], $17::timestamptz[])
                 AS t (endpoint_id, event_id, number, at, latency_ms, status, error, url, request_headers,
                       answer_headers, answer_body, state, next_at)
           ), logged AS (
               INSERT INTO attempts (channel_id, endpoint_id, event_id, number, at, latency_ms, status, error, url,
                                     request_headers, answer_headers, answer_body)
               SELECT $1, a.endpoint_id, a.event_id, a.number, a.at, a.latency_ms, a.status, a.error, a.url,
                      a.request_headers, a.answer_headers, a.answer_body FROM a, held
               ON CONFLICT DO NOTHING
           ), updated AS (
               UPDATE deliveries d SET state = a.state, attempts = a.number, next_at = a.next_at,
                      settled_at = CASE WHEN a.state = 0 THEN NULL ELSE $18::timestamptz END
               FROM a, held
               WHERE d.channel_id = $1 AND d.endpoint_id = a.endpoint_id AND d.event_id = a.event_id
                 AND d.event_id = ANY ($6) AND d.event_id BETWEEN $3 AND $4 AND d.state = 0
           )
           SELECT epoch FROM held""",
        lease.channel_id,
        lease.epoch,
        min(a.event_id for a in attempts),
        max(a.event_id for a in attempts),
        [a.endpoint_id for a in attempts],
        [a.event_id for a in attempts],
        [a.number for a in attempts],
        [a.at for a in attempts],
        [a.latency_ms for a in attempts],
        [a.status for a in attempts],
        [a.error for a in attempts],
        [a.url for a in attempts],
        [a.request_headers for a in attempts],
        [a.answer_headers for a in attempts],
        [a.answer_body for a in attempts],
        [a.state for a in attempts],
        [a.next_at for a in attempts],
        now,
    )
    if held is None:
        raise StaleOwner


async def _update_retries(conn: "Connection[Any]", channel_id: UUID, attempts: Sequence[Attempt]) -> None:
    again = [a for a in attempts if a.next_at is not None]
    if again:
        await conn.execute(
            """INSERT INTO delivery_retries (channel_id, endpoint_id, event_id, next_at)
               SELECT $1, * FROM unnest($2::uuid[], $3::uuid[], $4::timestamptz[])
               ON CONFLICT (channel_id, endpoint_id, event_id) DO UPDATE SET next_at = excluded.next_at""",
            channel_id,
            [a.endpoint_id for a in again],
            [a.event_id for a in again],
            [a.next_at for a in again],
        )
    over = [a for a in attempts if a.next_at is None and a.number > 1]
    if over:
        await conn.executemany(
            "DELETE FROM delivery_retries WHERE channel_id = $1 AND endpoint_id = $2 AND event_id = $3",
            [(channel_id, a.endpoint_id, a.event_id) for a in over],
        )


async def save_cursors(db: Database, lease: Lease, cursors: dict[UUID, UUID]) -> None:
    """Notes how far each endpoint's deliveries have had their first attempt."""
    async with db.transaction() as conn:
        await hold_epoch(conn, lease.channel_id, lease.epoch)
        await conn.execute(
            """UPDATE endpoints p SET cursor = c.cursor FROM unnest($2::uuid[], $3::uuid[]) AS c (id, cursor)
               WHERE p.channel_id = $1 AND p.id = c.id""",
            lease.channel_id,
            sorted(cursors),
            [cursors[id_] for id_ in sorted(cursors)],
        )


async def disable_gone(db: Database, lease: Lease, endpoint_id: UUID, reason: str, now: datetime) -> None:
    """An endpoint that answered 410 gets nothing more until someone enables it again."""
    async with db.transaction() as conn:
        await hold_epoch(conn, lease.channel_id, lease.epoch)
        await conn.execute(
            """UPDATE endpoints SET state = 'disabled', reason = $3, updated_at = $4
               WHERE channel_id = $1 AND id = $2""",
            lease.channel_id,
            endpoint_id,
            reason,
            now,
        )
