"""Reading messages: one by its id, and everything that its trace is made of."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model.message import State
from gatepost.store.pool import Database, keys_and_span


class StoredMessage(msgspec.Struct, frozen=True):
    """A message as it stands."""

    id: UUID
    contact_id: UUID
    incoming: bool
    bulk: bool
    state: State
    attempt: int
    phone: str
    type: str
    content: str
    client_ref: str | None
    reply_to: UUID | None
    network_id: str | None
    created_at: datetime
    send_at: datetime | None
    expires_at: datetime | None
    next_at: datetime | None
    sending_at: datetime | None
    sent_at: datetime | None
    delivered_at: datetime | None
    read_at: datetime | None
    played_at: datetime | None
    ended_at: datetime | None
    error: str | None
    history: list[str] | None
    target_id: UUID | None
    pricing: str | None
    context: str | None
    reactions: str | None
    edited_at: datetime | None
    deleted_at: datetime | None
    event_ids: list[UUID]
    waits: list[str] | None = None


_COLUMNS = ", ".join(StoredMessage.__struct_fields__)


async def get_message(db: Database, channel_id: UUID, message_id: UUID) -> StoredMessage | None:
    """One message of a channel."""
    async with db.connection() as conn:
        row = await conn.fetchrow(
            f"SELECT {_COLUMNS} FROM messages WHERE channel_id = $1 AND id = $2", channel_id, message_id
        )
    if row is None:
        return None
    fields = dict(row.items())
    fields["state"] = State(fields["state"])
    return StoredMessage(**fields)


class TracedEvent(msgspec.Struct, frozen=True):
    """An event of a message."""

    id: UUID
    body: str


class TracedAttempt(msgspec.Struct, frozen=True):
    """A try to tell an endpoint of an event."""

    event_id: UUID
    endpoint_id: UUID
    number: int
    at: datetime
    url: str
    status: int | None
    error: str | None
    latency_ms: float


class TracedDelivery(msgspec.Struct, frozen=True):
    """Where an event stands with an endpoint."""

    event_id: UUID
    endpoint_id: UUID
    state: int
    attempts: int
    next_at: datetime | None


class Trace(msgspec.Struct, frozen=True):
    """All that the database knows of a message's way."""

    events: list[TracedEvent]
    deliveries: list[TracedDelivery]
    attempts: list[TracedAttempt]


async def read_trace(db: Database, channel_id: UUID, event_ids: list[UUID]) -> Trace:
    """The events of a message with their deliveries and attempts."""
    async with db.connection() as conn:
        endpoints = await conn.fetch("SELECT id FROM endpoints WHERE channel_id = $1", channel_id)
        keys = (channel_id, *keys_and_span(event_ids), [row["id"] for row in endpoints])
        events = await conn.fetch(
            """SELECT id, body FROM events
               WHERE channel_id = $1 AND id = ANY ($2::uuid[]) AND id BETWEEN $3 AND $4 ORDER BY id""",
            *keys[:4],
        )
        deliveries = await conn.fetch(
            """SELECT event_id, endpoint_id, state, attempts, next_at FROM deliveries
               WHERE channel_id = $1 AND event_id = ANY ($2::uuid[]) AND event_id BETWEEN $3 AND $4
                 AND endpoint_id = ANY ($5::uuid[])""",
            *keys,
        )
        attempts = await conn.fetch(
            """SELECT event_id, endpoint_id, number, at, url, status, error, latency_ms FROM delivery_attempts
               WHERE channel_id = $1 AND event_id = ANY ($2::uuid[]) AND event_id BETWEEN $3 AND $4
                 AND endpoint_id = ANY ($5::uuid[])
               ORDER BY at""",
            *keys,
        )
    return Trace(_structs(TracedEvent, events), _structs(TracedDelivery, deliveries), _structs(TracedAttempt, attempts))


def _structs(kind: Any, rows: Any) -> list[Any]:
    return [kind(**dict(row.items())) for row in rows]
