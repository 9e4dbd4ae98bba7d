"""A channel's events, endpoints and deliveries, written as rows for the tests of log, retries and recoveries."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from gatepost.model import ids
from gatepost.model.event import TYPES
from gatepost.store.deliveries.queue import DueDelivery, PendingRead, read_pending, read_pending_ordered
from gatepost.store.pool import Database
from tests.outbound.stage import NOW

INFINITY = datetime.max.replace(tzinfo=NOW.tzinfo)


async def add_endpoint(
    db: Database,
    channel_id: UUID,
    *,
    state: str = "active",
    events: Sequence[str] = TYPES,
    ordered: bool = False,
    cursor: UUID = ids.ZERO,
) -> UUID:
    """Add an endpoint to a channel; return its id."""
    endpoint_id = ids.new_id(NOW)
    async with db.connection() as conn:
        await conn.execute(
            """INSERT INTO endpoints (channel_id, id, url, events, headers, secret, state, ordered, cursor, created_at,
                                      updated_at)
               VALUES ($1, $2, 'http://127.0.0.1:9/', $3, '{}', '', $4, $5, $6, $7, $7)""",
            channel_id,
            endpoint_id,
            list(events),
            state,
            ordered,
            cursor,
            NOW,
        )
    return endpoint_id


async def add_events(
    db: Database,
    channel_id: UUID,
    count: int,
    *,
    type_: str = "message_notification",
    conversation_id: UUID | None = None,
    start: datetime = NOW - timedelta(hours=2),
    step: timedelta = timedelta(milliseconds=100),
) -> list[UUID]:
    """Add events in order, and move the head of the channel behind the last one. Return their ids."""
    new = [ids.new_id(start + step * i) for i in range(count)]
    bodies = [f'{{"id":"evt_{id_.hex}","type":"{type_}","action":"created","data":{{}}}}' for id_ in new]
    async with db.connection() as conn:
        await conn.execute(
            """INSERT INTO events (channel_id, id, seq, type, body, conversation_id)
               SELECT $1, t.id, t.n, $4, t.body, $5
               FROM unnest($2::uuid[], $3::text[]) WITH ORDINALITY AS t (id, body, n)""",
            channel_id,
            new,
            bodies,
            type_,
            conversation_id,
        )
        await conn.execute(
            """UPDATE channel_heads SET seq = seq + $2, last_event_id = greatest(last_event_id, $3)
               WHERE channel_id = $1""",
            channel_id,
            count,
            new[-1],
        )
    return new


async def add_deliveries(
    db: Database,
    channel_id: UUID,
    endpoint_id: UUID,
    events: Sequence[UUID],
    state: int | Sequence[int],
    *,
    attempts: int = 1,
) -> None:
    """Add a delivery of each event: all in one state, or each in its own."""
    states = [state] * len(events) if isinstance(state, int) else list(state)
    async with db.connection() as conn:
        await conn.execute(
            """INSERT INTO deliveries (channel_id, endpoint_id, event_id, state, attempts)
               SELECT $1, $2, t.id, t.state, $5 FROM unnest($3::uuid[], $4::smallint[]) AS t (id, state)""",
            channel_id,
            endpoint_id,
            list(events),
            states,
            attempts,
        )


async def add_attempts(
    db: Database, channel_id: UUID, endpoint_id: UUID, events: Sequence[UUID], number: int = 1, **fields: Any
) -> None:
    """Add an attempt to each delivery. In a batch, only the first has the fields of the response."""
    batch = fields.pop("batch", None)
    async with db.connection() as conn:
        for i, event_id in enumerate(events):
            first = i == 0 or batch is None
            await conn.execute(
                """INSERT INTO delivery_attempts (channel_id, endpoint_id, event_id, number, at, latency_ms, status,
                                                  error, url, request_headers, answer_headers, answer_body,
                                                  batch_first, batch)
                   VALUES ($1, $2, $3, $4, $5, 12.34, $6, $7, 'http://127.0.0.1:9/', $8, $9, $10, $11, $12)""",
                channel_id,
                endpoint_id,
                event_id,
                number,
                fields.get("at", NOW),
                fields.get("status", 500),
                fields.get("error"),
                fields.get("request_headers", "{}"),
                fields.get("answer_headers") if first else None,
                fields.get("answer_body") if first else None,
                events[0] if batch else None,
                batch if first else None,
            )


async def add_retry(
    db: Database, channel_id: UUID, endpoint_id: UUID, event_id: UUID, at: datetime, conversation_id: UUID | None = None
) -> None:
    """Add a delivery that waits for its time, or for earlier deliveries."""
    async with db.connection() as conn:
        await conn.execute(
            """INSERT INTO delivery_retries (channel_id, endpoint_id, event_id, next_at, conversation_id)
               VALUES ($1, $2, $3, $4, $5)""",
            channel_id,
            endpoint_id,
            event_id,
            at,
            conversation_id,
        )


async def retries(db: Database, channel_id: UUID) -> dict[UUID, Any]:
    """Return the rows of delivery_retries by event."""
    async with db.connection() as conn:
        rows = await conn.fetch("SELECT * FROM delivery_retries WHERE channel_id = $1 ORDER BY next_at", channel_id)
    return {row["event_id"]: row for row in rows}


async def deliveries(db: Database, channel_id: UUID) -> dict[UUID, Any]:
    """Return the deliveries of a channel with one endpoint, by event."""
    async with db.connection() as conn:
        rows = await conn.fetch("SELECT * FROM deliveries WHERE channel_id = $1", channel_id)
    return {row["event_id"]: row for row in rows}


async def deliver_all(db: Database, channel_id: UUID) -> list[UUID]:
    """Mark all waiting deliveries as delivered; return their events in the order of their due times."""
    due = list(await retries(db, channel_id))
    async with db.transaction() as conn:
        await conn.execute("DELETE FROM delivery_retries WHERE channel_id = $1", channel_id)
        await conn.execute(
            """UPDATE deliveries SET state = 1, attempts = attempts + 1, next_at = NULL
               WHERE channel_id = $1 AND event_id = ANY ($2::uuid[])""",
            channel_id,
            due,
        )
    return due


async def change(db: Database, statement: str, *values: Any) -> None:
    """Run one statement."""
    async with db.connection() as conn:
        await conn.execute(statement, *values)


async def pending_of(
    db: Database, channel_id: UUID, endpoint_id: UUID, after: UUID, limit: int, *, ordered: bool = False
) -> list[DueDelivery]:
    """Return the deliveries of one endpoint that were never tried, as its deliverer reads them."""
    read = PendingRead(channel_id, endpoint_id, after, limit)
    page = await read_pending_ordered(db, read) if ordered else (await read_pending(db, [read]))[read]
    return page.due
