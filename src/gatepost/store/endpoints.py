"""Webhook endpoints: where a channel's events go."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model.endpoint import Health, Manner
from gatepost.store.heads import lock_head
from gatepost.store.pool import Database


class Endpoint(msgspec.Struct, frozen=True):
    """An address of a customer. The signing secret stays encrypted here."""

    channel_id: UUID
    id: UUID
    url: str
    events: tuple[str, ...]
    headers: dict[str, str]
    secret: bytes
    manner: Manner
    state: str
    reason: str | None
    health: Health
    cursor: UUID
    created_at: datetime
    updated_at: datetime


class EndpointChange(msgspec.Struct, frozen=True):
    """What to change about an endpoint; None leaves a value alone. The reason goes with the state."""

    url: str | None = None
    events: Sequence[str] | None = None
    headers: Mapping[str, str] | None = None
    secret: bytes | None = None
    manner: Manner | None = None
    state: str | None = None
    reason: str | None = None


_MANNER = ", ".join(Manner.__struct_fields__)
_HEALTH = ", ".join(Health.__struct_fields__)
_COLUMNS = f"channel_id, id, url, events, headers, secret, state, reason, cursor, created_at, updated_at, {_MANNER}"
_SHOWN = f"{_COLUMNS}, {_HEALTH}"


async def insert_endpoint(
    db: Database,
    channel_id: UUID,
    endpoint_id: UUID,
    *,
    url: str,
    events: Sequence[str],
    headers: Mapping[str, str],
    secret: bytes,
    manner: Manner,
    most: int,
    now: datetime,
) -> Endpoint | None:
    """Writes a new endpoint that gets all events from now on; None when the channel has `most` already.

    The head's lock makes the count exact, and lets no event slip between the cursor and the first delivery.
    """
    async with db.transaction() as conn:
        await lock_head(conn, channel_id)
        row = await conn.fetchrow(
            f"""INSERT INTO endpoints ({_COLUMNS})
                SELECT $1, $2, $3, $4, $5, $6, 'active', NULL, last_event_id, $7, $7, $9, $10, $11, $12, $13
                FROM channel_heads
                WHERE channel_id = $1 AND (SELECT count(*) FROM endpoints WHERE channel_id = $1) < $8
                RETURNING {_SHOWN}""",
            channel_id,
            endpoint_id,
            url,
            list(events),
            _json(headers),
            secret,
            now,
            most,
            *msgspec.structs.astuple(manner),
        )
    return _endpoint(row) if row else None


async def get_endpoint(db: Database, channel_id: UUID, endpoint_id: UUID) -> Endpoint | None:
    """One endpoint of a channel."""
    async with db.connection() as conn:
        row = await conn.fetchrow(
            f"SELECT {_SHOWN} FROM endpoints WHERE channel_id = $1 AND id = $2", channel_id, endpoint_id
        )
    return _endpoint(row) if row else None


async def find_endpoint(db: Database, endpoint_id: UUID) -> Endpoint | None:
    """One endpoint, of whatever channel: for the operator."""
    async with db.connection() as conn:
        row = await conn.fetchrow(f"SELECT {_SHOWN} FROM endpoints WHERE id = $1", endpoint_id)
    return _endpoint(row) if row else None


async def list_endpoints(db: Database, channel_id: UUID) -> list[Endpoint]:
    """The endpoints of a channel, the oldest first."""
    async with db.connection() as conn:
        rows = await conn.fetch(f"SELECT {_SHOWN} FROM endpoints WHERE channel_id = $1 ORDER BY id", channel_id)
    return [_endpoint(row) for row in rows]


async def update_endpoint(
    db: Database, channel_id: UUID, endpoint_id: UUID, change: EndpointChange, now: datetime
) -> Endpoint | None:
    """Changes what is given, and wakes the channel when its endpoint is switched on; None when there is none.

    Whoever sets a state by hand wipes the slate clean: the breaker begins anew.
    """
    manner = change.manner
    async with db.connection() as conn:
        row = await conn.fetchrow(
            f"""WITH woken AS (UPDATE channel_heads SET work_at = $9 WHERE channel_id = $1 AND $7 = 'active')
                UPDATE endpoints
                SET url = COALESCE($3, url), events = COALESCE($4, events), headers = COALESCE($5, headers),
                    secret = COALESCE($6, secret), state = COALESCE($7, state),
                    reason = CASE WHEN $7::text IS NULL THEN reason ELSE $8 END, updated_at = $9,
                    failing_since = CASE WHEN $7::text IS NULL THEN failing_since END,
                    failures = CASE WHEN $7::text IS NULL THEN failures ELSE 0 END,
                    notices = CASE WHEN $7::text IS NULL THEN notices ELSE 0 END,
                    probes = CASE WHEN $7::text IS NULL THEN probes ELSE 0 END,
                    probe_at = CASE WHEN $7::text IS NULL THEN probe_at END,
                    ordered = COALESCE($10, ordered), batch = COALESCE($11, batch),
                    batch_wait = COALESCE($12, batch_wait), version = COALESCE($14, version),
                    rate = CASE WHEN $10::boolean IS NULL THEN rate ELSE $13 END
                WHERE channel_id = $1 AND id = $2 RETURNING {_SHOWN}""",
            channel_id,
            endpoint_id,
            change.url,
            None if change.events is None else list(change.events),
            None if change.headers is None else _json(change.headers),
            change.secret,
            change.state,
            change.reason,
            now,
            *(msgspec.structs.astuple(manner) if manner else (None,) * len(Manner.__struct_fields__)),
        )
    return _endpoint(row) if row else None


async def delete_endpoint(db: Database, channel_id: UUID, endpoint_id: UUID) -> bool:
    """Removes an endpoint and its retries, and keeps its deliveries as a log; False when there is none."""
    async with db.connection() as conn:
        done = await conn.fetchval(
            """WITH retries AS (DELETE FROM delivery_retries WHERE channel_id = $1 AND endpoint_id = $2)
               DELETE FROM endpoints WHERE channel_id = $1 AND id = $2 RETURNING 1""",
            channel_id,
            endpoint_id,
        )
    return done is not None


def _json(value: Mapping[str, str]) -> str:
    return msgspec.json.encode(value).decode()


def _endpoint(row: Any) -> Endpoint:
    values = dict(row)
    values["events"] = tuple(values["events"])
    values["headers"] = msgspec.json.decode(values["headers"])
    manner = Manner(**{name: values.pop(name) for name in Manner.__struct_fields__})
    health = Health(**{name: values.pop(name) for name in Health.__struct_fields__})
    return Endpoint(**values, manner=manner, health=health)
