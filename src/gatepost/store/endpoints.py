"""Webhook endpoints: where a channel's events go."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model.endpoint import ACTIVE, DISABLED, PAUSED, DeliveryOptions, HealthCounters
from gatepost.model.event import OPERATIONAL, ChannelRef, endpoint_data
from gatepost.store.channel_head import channel_transaction, lock_head, lock_out
from gatepost.store.deliveries.retry import schedule_work
from gatepost.store.idempotency import NEVER, IdempotentRequest
from gatepost.store.pool import Connection, Database


class Endpoint(msgspec.Struct, frozen=True):
    """An address of a customer. The signing secret and the headers' values stay encrypted here."""

    channel_id: UUID
    id: UUID
    url: str
    events: tuple[str, ...]
    headers: dict[str, str]
    secret: bytes
    options: DeliveryOptions
    state: str
    reason: str | None
    health: HealthCounters
    cursor: UUID
    created_at: datetime
    updated_at: datetime


class EndpointChange(msgspec.Struct, frozen=True):
    """What to change about an endpoint; None leaves a value alone. The reason goes with the state."""

    url: str | None = None
    events: Sequence[str] | None = None
    headers: Mapping[str, str] | None = None
    options: DeliveryOptions | None = None
    state: str | None = None
    reason: str | None = None


_MANNER = ", ".join(DeliveryOptions.__struct_fields__)
_HEALTH = ", ".join(HealthCounters.__struct_fields__)
_COLUMNS = f"channel_id, id, url, events, headers, secret, state, reason, cursor, created_at, updated_at, {_MANNER}"
_ALL_COLUMNS = f"{_COLUMNS}, {_HEALTH}"


async def insert_endpoint(
    db: Database,
    channel_id: UUID,
    endpoint_id: UUID,
    *,
    url: str,
    events: Sequence[str],
    headers: Mapping[str, str],
    secret: bytes,
    options: DeliveryOptions,
    most: int,
    now: datetime,
    once: IdempotentRequest[Endpoint] = NEVER,
) -> Endpoint | None:
    """Writes a new endpoint that gets all events from now on; None when the channel has `most` already.

    The head's lock makes the count exact, and lets no event slip between the cursor and the first delivery.
    """
    async with db.transaction(wakes=channel_id) as conn:
        await lock_head(conn, channel_id)
        await once.check(conn, now)
        row = await conn.fetchrow(
            f"""INSERT INTO endpoints ({_COLUMNS})
                SELECT $1, $2, $3, $4, $5, $6, 'active', NULL, last_event_id, $7, $7, $9, $10, $11, $12, $13
                FROM channel_heads
                WHERE channel_id = $1 AND (SELECT count(*) FROM endpoints WHERE channel_id = $1) < $8
                RETURNING {_ALL_COLUMNS}""",
            channel_id,
            endpoint_id,
            url,
            list(events),
            _json(headers),
            secret,
            now,
            most,
            *msgspec.structs.astuple(options),
        )
        made = _endpoint(row) if row else None
        if made is not None:
            await once.keep(conn, made, now)
    return made


async def get_endpoint(db: Database, channel_id: UUID, endpoint_id: UUID) -> Endpoint | None:
    """One endpoint of a channel."""
    async with db.connection() as conn:
        row = await conn.fetchrow(
            f"SELECT {_ALL_COLUMNS} FROM endpoints WHERE channel_id = $1 AND id = $2", channel_id, endpoint_id
        )
    return _endpoint(row) if row else None


async def find_endpoint(db: Database, endpoint_id: UUID) -> Endpoint | None:
    """One endpoint, of whatever channel: for the operator."""
    async with db.connection() as conn:
        row = await conn.fetchrow(f"SELECT {_ALL_COLUMNS} FROM endpoints WHERE id = $1", endpoint_id)
    return _endpoint(row) if row else None


async def list_endpoints(db: Database, channel_id: UUID) -> list[Endpoint]:
    """The endpoints of a channel, the oldest first."""
    async with db.connection() as conn:
        rows = await conn.fetch(f"SELECT {_ALL_COLUMNS} FROM endpoints WHERE channel_id = $1 ORDER BY id", channel_id)
    return [_endpoint(row) for row in rows]


async def update_endpoint(
    db: Database, channel_id: UUID, endpoint_id: UUID, change: EndpointChange, now: datetime
) -> Endpoint | None:
    """Changes what is given, but for the state; None when there is no such endpoint.

    At a new address what waits is tried at once: `probe_at` says so to the channel's owner.
    """
    async with db.transaction(wakes=channel_id) as conn:
        if change.url is not None:
            await schedule_work(conn, channel_id, now)
        return await _update(conn, channel_id, endpoint_id, change, now)


async def set_endpoint_state(
    db: Database, channel: ChannelRef, channel_id: UUID, endpoint_id: UUID, change: EndpointChange, now: datetime
) -> Endpoint | None:
    """The same with the state, and the event that tells of it; wakes the channel when its endpoint is switched on.

    Whoever sets a state by hand wipes the slate clean: the breaker begins anew.
    """
    async with channel_transaction(db, channel, channel_id, now) as it:
        previous = await it.conn.fetchval(
            "SELECT state FROM endpoints WHERE channel_id = $1 AND id = $2 FOR UPDATE", channel_id, endpoint_id
        )
        endpoint = await _update(it.conn, channel_id, endpoint_id, change, now)
        if endpoint is not None and previous != endpoint.state:
            it.event_buffer.add(OPERATIONAL, _ACTIONS[previous, endpoint.state], _event_data(endpoint, previous))
    return endpoint


_ACTIONS = {
    (ACTIVE, DISABLED): "disabled",
    (PAUSED, DISABLED): "disabled",
    (PAUSED, ACTIVE): "resumed",
    (DISABLED, ACTIVE): "enabled",
}


def _event_data(endpoint: Endpoint, previous: str) -> dict[str, Any]:
    return endpoint_data(
        endpoint.id,
        endpoint.url,
        endpoint.state,
        previous=previous,
        reason=endpoint.reason,
        failing_since=endpoint.health.failing_since,
        failures=endpoint.health.failures,
    )


async def _update(
    conn: "Connection[Any]", channel_id: UUID, endpoint_id: UUID, change: EndpointChange, now: datetime
) -> Endpoint | None:
    options = change.options
    row = await conn.fetchrow(
        f"""WITH woken AS (UPDATE channel_heads SET work_at = $8 WHERE channel_id = $1 AND $6 = 'active')
            UPDATE endpoints
            SET url = COALESCE($3, url), events = COALESCE($4, events), headers = COALESCE($5, headers),
                state = COALESCE($6, state), reason = CASE WHEN $6::text IS NULL THEN reason ELSE $7 END,
                updated_at = $8,
                failing_since = CASE WHEN $6::text IS NULL THEN failing_since END,
                failures = CASE WHEN $6::text IS NULL THEN failures ELSE 0 END,
                notices = CASE WHEN $6::text IS NULL THEN notices ELSE 0 END,
                probes = CASE WHEN $6::text IS NULL THEN probes ELSE 0 END,
                probe_at = CASE WHEN COALESCE($6, state) <> 'disabled' AND ($6 = 'active' OR $3::text <> url) THEN $8
                                WHEN $6::text IS NULL THEN probe_at END,
                ordered = COALESCE($9, ordered), batch = COALESCE($10, batch),
                batch_wait = COALESCE($11, batch_wait), version = COALESCE($13, version),
                rate = CASE WHEN $9::boolean IS NULL THEN rate ELSE $12 END
            WHERE channel_id = $1 AND id = $2 RETURNING {_ALL_COLUMNS}""",
        channel_id,
        endpoint_id,
        change.url,
        None if change.events is None else list(change.events),
        None if change.headers is None else _json(change.headers),
        change.state,
        change.reason,
        now,
        *(msgspec.structs.astuple(options) if options else (None,) * len(DeliveryOptions.__struct_fields__)),
    )
    return _endpoint(row) if row else None


async def count_retries(db: Database, most: int) -> int:
    """How many deliveries wait for another try, counted no further than `most`: a backlog may have millions."""
    async with db.connection() as conn:
        count: int = await conn.fetchval(
            "SELECT count(*) FROM (SELECT FROM delivery_retries LIMIT $1) AS waiting", most
        )
    return count


async def replace_secret(
    db: Database, channel_id: UUID, endpoint_id: UUID, before: bytes, after: bytes, now: datetime
) -> Endpoint | None:
    """Puts other secrets in the place of those that were read; None when they are not there any more.

    Two who rotate at once would otherwise each write what they read and one new key, and one new key would be lost.
    """
    async with db.connection(wakes=channel_id) as conn:
        row = await conn.fetchrow(
            f"""UPDATE endpoints SET secret = $4, updated_at = $5
                WHERE channel_id = $1 AND id = $2 AND secret = $3 RETURNING {_ALL_COLUMNS}""",
            channel_id,
            endpoint_id,
            before,
            after,
            now,
        )
    return _endpoint(row) if row else None


async def list_with_headers(db: Database, after: UUID | None, most: int) -> list[tuple[UUID, str]]:
    """Endpoints of all channels that send headers along, with the stored text of those, by their ids."""
    async with db.connection() as conn:
        rows = await conn.fetch(
            """SELECT id, headers FROM endpoints WHERE headers <> '{}' AND ($1::uuid IS NULL OR id > $1)
               ORDER BY id LIMIT $2""",
            after,
            most,
        )
    return [(row["id"], row["headers"]) for row in rows]


async def replace_headers(db: Database, endpoint_id: UUID, before: str, after: Mapping[str, str]) -> bool:
    """Stores the same headers in another form, unless somebody changed them meanwhile."""
    async with db.connection() as conn:
        done = await conn.fetchval(
            "UPDATE endpoints SET headers = $3 WHERE id = $1 AND headers = $2 RETURNING 1",
            endpoint_id,
            before,
            _json(after),
        )
    return done is not None


async def delete_endpoint(db: Database, channel_id: UUID, endpoint_id: UUID) -> bool:
    """Removes an endpoint and its retries, and keeps its deliveries as a log; False when there is none.

    Whoever writes a retry holds the head first and then looks whether the endpoint is there: none is left behind.
    """
    async with db.transaction(wakes=channel_id) as conn:
        await lock_out(conn, channel_id)
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
    options = DeliveryOptions(**{name: values.pop(name) for name in DeliveryOptions.__struct_fields__})
    health = HealthCounters(**{name: values.pop(name) for name in HealthCounters.__struct_fields__})
    return Endpoint(**values, options=options, health=health)
