"""Webhook endpoints: where a channel's events go."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.dates import LAST_ID
from gatepost.model.endpoint import ACTIVE, DISABLED, PAUSED, DeliveryOptions, HealthCounters
from gatepost.model.event import ALL_TYPES, ChannelRef
from gatepost.model.event.endpoints import EndpointDisabled, EndpointEnabled, EndpointEvent, EndpointResumed
from gatepost.store.channel_head import (
    Lease,
    channel_transaction,
    lock_head,
    lock_head_exclusively,
    renew_reads,
)
from gatepost.store.deliveries.retry import schedule_work
from gatepost.store.idempotency import NEVER, IdempotentRequest
from gatepost.store.pool import Connection, Database
from gatepost.store.statement import json_text, statement


class Endpoint(msgspec.Struct, frozen=True):
    """A webhook endpoint. Its signing secrets and the values of its headers are encrypted."""

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
    has_retries: bool = True  # whether there may be some; only `list_delivering` looks


class EndpointChange(msgspec.Struct, frozen=True):
    """A change of an endpoint; None leaves a value unchanged. The reason belongs to the state.

    Event types and options are compared with the row `before`, and only those that differ are written: another request
    may be changing the others at the same time.
    """

    url: str | None = None
    events: Sequence[str] | None = None
    headers: Mapping[str, str] | None = None
    options: DeliveryOptions | None = None
    state: str | None = None
    reason: str | None = None
    before: Endpoint | None = None


class EndpointNotice(msgspec.Struct, frozen=True):
    """A notice about an endpoint; `exhausted` deliveries were given up, the last one that of `event_id`."""

    event: type[EndpointEvent]
    reason: str | None
    exhausted: int | None = None
    event_id: UUID | None = None


class EndpointStateChange(msgspec.Struct, frozen=True):
    """The state of an endpoint before and after a change, and its health."""

    previous: str
    state: str
    health: HealthCounters


_OPTION_NAMES, _HEALTH_NAMES = DeliveryOptions.__struct_fields__, HealthCounters.__struct_fields__
_COLUMNS = ", ".join(
    ("channel_id, id, url, events, headers, secret, state, reason, cursor, created_at, updated_at", *_OPTION_NAMES)
)
_OPTIONS = ", ".join(f":{name}" for name in _OPTION_NAMES)
_CHANGED_OPTIONS = ", ".join(f"{name} = CASE WHEN :has_{name} THEN :{name} ELSE {name} END" for name in _OPTION_NAMES)
_ALL_COLUMNS = ", ".join((_COLUMNS, *_HEALTH_NAMES))


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
    limit: int,
    now: datetime,
    once: IdempotentRequest[Endpoint] = NEVER,
) -> Endpoint | None:
    """Insert an endpoint that gets all events from now on; None if the channel has `limit` endpoints already.

    The lock of the head makes the count exact, and no event is missed between the cursor and the first delivery.
    """
    async with db.transaction(wakes=channel_id) as conn:
        await lock_head(conn, channel_id)
        await once.check(conn, now)
        row = await conn.fetchrow(
            *statement(
                f"""INSERT INTO endpoints ({_COLUMNS})
                    SELECT :channel_id, :id, :url, :events, :headers, :secret, 'active', NULL, last_event_id,
                           :now, :now, {_OPTIONS}
                    FROM channel_heads WHERE channel_id = :channel_id
                      AND (SELECT count(*) FROM endpoints WHERE channel_id = :channel_id) < :limit
                    RETURNING {_ALL_COLUMNS}""",
                channel_id=channel_id,
                id=endpoint_id,
                url=url,
                events=list(events),
                headers=json_text(headers),
                secret=secret,
                now=now,
                limit=limit,
                **msgspec.structs.asdict(options),
            )
        )
        made = _endpoint(row) if row else None
        if made is not None:
            await renew_reads(conn, channel_id)
            await once.keep(conn, made, now)
    return made


async def get_endpoint(db: Database, channel_id: UUID, endpoint_id: UUID) -> Endpoint | None:
    """Return an endpoint of a channel."""
    row = await db.fetchrow(
        f"SELECT {_ALL_COLUMNS} FROM endpoints WHERE channel_id = $1 AND id = $2", channel_id, endpoint_id
    )
    return _endpoint(row) if row else None


async def find_endpoint(db: Database, endpoint_id: UUID) -> Endpoint | None:
    """Return an endpoint of any channel, for the operator."""
    row = await db.fetchrow(f"SELECT {_ALL_COLUMNS} FROM endpoints WHERE id = $1", endpoint_id)
    return _endpoint(row) if row else None


async def list_endpoints(db: Database, channel_id: UUID) -> list[Endpoint]:
    """Return the endpoints of a channel, oldest first."""
    rows = await db.fetch(f"SELECT {_ALL_COLUMNS} FROM endpoints WHERE channel_id = $1 ORDER BY id", channel_id)
    return [_endpoint(row) for row in rows]


async def list_delivering(db: Database, channel_ids: Sequence[UUID]) -> dict[UUID, list[Endpoint]]:
    """Return the endpoints of channels that are active or paused."""
    rows = await db.fetch(
        f"""SELECT {_ALL_COLUMNS}, (
                SELECT true FROM delivery_retries
                WHERE (channel_id, endpoint_id, event_id) >= (p.channel_id, p.id, '{ids.ZERO}') AND
                      (channel_id, endpoint_id, event_id) <= (p.channel_id, p.id, '{LAST_ID}')
                ORDER BY channel_id, endpoint_id, event_id LIMIT 1) IS NOT NULL AS has_retries
            FROM endpoints p WHERE channel_id = ANY ($1::uuid[]) AND state <> 'disabled'""",
        list(channel_ids),
    )
    found: dict[UUID, list[Endpoint]] = {}
    for row in rows:
        found.setdefault(row["channel_id"], []).append(_endpoint(row))
    return found


async def update_endpoint(
    db: Database, channel_id: UUID, endpoint_id: UUID, change: EndpointChange, now: datetime
) -> Endpoint | None:
    """Change what is given, except the state; None if there is no such endpoint.

    After a change of the URL waiting deliveries are due at once: `probe_at` tells the channel's owner.
    """
    async with db.transaction(wakes=channel_id) as conn:
        if change.url is not None:
            await schedule_work(conn, channel_id, now)
        return await _update(conn, channel_id, endpoint_id, change, now)


async def set_endpoint_state(
    db: Database, channel: ChannelRef, channel_id: UUID, endpoint_id: UUID, change: EndpointChange, now: datetime
) -> Endpoint | None:
    """Change an endpoint with its state, and emit the event; an endpoint that is enabled wakes its channel.

    A state that a user sets resets the health counters.
    """
    async with channel_transaction(db, channel, channel_id, now) as it:
        previous = await it.conn.fetchval(
            "SELECT state FROM endpoints WHERE channel_id = $1 AND id = $2 FOR UPDATE", channel_id, endpoint_id
        )
        endpoint = await _update(it.conn, channel_id, endpoint_id, change, now)
        if endpoint is not None and previous != endpoint.state:
            await renew_reads(it.conn, channel_id)
            notice = EndpointNotice(_EVENTS[previous, endpoint.state], endpoint.reason)
            change_ = EndpointStateChange(previous, endpoint.state, endpoint.health)
            it.event_buffer.add(event_of(endpoint.id, endpoint.url, change_, notice))
    return endpoint


_EVENTS: dict[tuple[str, str], type[EndpointEvent]] = {
    (ACTIVE, DISABLED): EndpointDisabled,
    (PAUSED, DISABLED): EndpointDisabled,
    (PAUSED, ACTIVE): EndpointResumed,
    (DISABLED, ACTIVE): EndpointEnabled,
}


async def _update(
    conn: "Connection[Any]", channel_id: UUID, endpoint_id: UUID, change: EndpointChange, now: datetime
) -> Endpoint | None:
    was, given = change.before, msgspec.structs.asdict(change.options) if change.options else {}
    changed = {name: value for name, value in given.items() if not was or value != getattr(was.options, name)}
    wanted, before = change.events, was.events if was else ALL_TYPES
    row = await conn.fetchrow(
        *statement(
            f"""WITH woken AS (UPDATE channel_heads SET work_at = :now
                               WHERE channel_id = :channel_id AND :state = 'active')
                UPDATE endpoints
                SET url = COALESCE(:url, url), events = ARRAY(
                        SELECT type FROM unnest(events || :added::text[]) AS one (type)
                        WHERE type <> ALL (:removed::text[])
                        GROUP BY type ORDER BY array_position(:types::text[], type)),
                    headers = COALESCE(:headers, headers), state = COALESCE(:state, state),
                    reason = CASE WHEN :state::text IS NULL THEN reason ELSE :reason END,
                    updated_at = :now,
                    failing_since = CASE WHEN :state::text IS NULL THEN failing_since END,
                    failures = CASE WHEN :state::text IS NULL THEN failures ELSE 0 END,
                    notices = CASE WHEN :state::text IS NULL THEN notices ELSE 0 END,
                    probes = CASE WHEN :state::text IS NULL THEN probes ELSE 0 END,
                    probe_at = CASE WHEN COALESCE(:state, state) <> 'disabled'
                                      AND (:state = 'active' OR :url::text <> url) THEN :now
                                    WHEN :state::text IS NULL THEN probe_at END,
                    {_CHANGED_OPTIONS}
                WHERE channel_id = :channel_id AND id = :id RETURNING {_ALL_COLUMNS}""",
            channel_id=channel_id,
            id=endpoint_id,
            url=change.url,
            types=list(ALL_TYPES),
            added=[type_ for type_ in wanted or () if not was or type_ not in before],
            removed=[] if wanted is None else [type_ for type_ in before if type_ not in wanted],
            headers=None if change.headers is None else json_text(change.headers),
            state=change.state,
            reason=change.reason,
            now=now,
            **{f"has_{name}": name in changed for name in _OPTION_NAMES},
            **{name: changed.get(name) for name in _OPTION_NAMES},
        )
    )
    return _endpoint(row) if row else None


async def replace_secret(
    db: Database, channel_id: UUID, endpoint_id: UUID, before: bytes, after: bytes, now: datetime
) -> Endpoint | None:
    """Replace the secrets that were read; None if they have changed: one of two concurrent rotations would be lost."""
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


async def delete_endpoint(db: Database, channel_id: UUID, endpoint_id: UUID) -> bool:
    """Delete an endpoint and its retries, and keep its deliveries as a log; False if there is none.

    A retry is written with the head locked and only if its endpoint exists: so none is left behind.
    """
    async with db.transaction(wakes=channel_id) as conn:
        await lock_head_exclusively(conn, channel_id)
        done = await conn.fetchval(
            """WITH retries AS (DELETE FROM delivery_retries WHERE channel_id = $1 AND endpoint_id = $2)
               DELETE FROM endpoints WHERE channel_id = $1 AND id = $2 RETURNING 1""",
            channel_id,
            endpoint_id,
        )
        await renew_reads(conn, channel_id)
    return done is not None


# -- by the deliverer: state and health ------------------------------------------------------------------------------


async def save_state_change(
    db: Database,
    lease: Lease,
    channel: ChannelRef,
    endpoint_id: UUID,
    change: EndpointStateChange,
    notices: Sequence[EndpointNotice],
    now: datetime,
) -> bool:
    """Save a change with its events; False if the state is no longer the previous one."""
    async with channel_transaction(db, channel, lease.channel_id, now, epoch=lease.epoch, sending=False) as transaction:
        reason = notices[-1].reason if change.state != ACTIVE else None
        url = await _write(transaction.conn, lease.channel_id, endpoint_id, change, reason, now)
        if url is None:
            return False
        for notice in notices:
            transaction.event_buffer.add(event_of(endpoint_id, url, change, notice))
    return True


async def _write(
    conn: "Connection[Any]",
    channel_id: UUID,
    endpoint_id: UUID,
    change: EndpointStateChange,
    reason: str | None,
    now: datetime,
) -> str | None:
    """Update the row, its reason and `updated_at` only if the state changes; return its URL."""
    url: str | None = await conn.fetchval(
        *statement(
            """UPDATE endpoints SET state = :state, failing_since = :failing_since, failures = :failures,
                      notices = :notices, succeeded_at = :succeeded_at, probes = :probes, probe_at = :probe_at,
                      reason = CASE WHEN :previous = :state THEN reason ELSE :reason END,
                      updated_at = CASE WHEN :previous = :state THEN updated_at ELSE :now END
               WHERE channel_id = :channel_id AND id = :endpoint_id AND state = :previous RETURNING url""",
            channel_id=channel_id,
            endpoint_id=endpoint_id,
            previous=change.previous,
            state=change.state,
            reason=reason,
            now=now,
            **msgspec.structs.asdict(change.health),
        )
    )
    return url


def event_of(endpoint_id: UUID, url: str, change: EndpointStateChange, notice: EndpointNotice) -> EndpointEvent:
    """Return the data of the event that reports a notice."""
    return notice.event.of(
        endpoint_id,
        url,
        change.state,
        previous=change.previous,
        reason=notice.reason,
        failing_since=change.health.failing_since,
        failures=change.health.failures,
        **({"exhausted": notice.exhausted, "event": ids.format_id("evt", notice.event_id)} if notice.event_id else {}),
    )


async def save_probe(db: Database, lease: Lease, endpoint_id: UUID, health: HealthCounters) -> None:
    """Save a failed probe and the time of the next one, if the endpoint is still paused."""
    await db.execute(
        """WITH held AS (SELECT 1 FROM channel_heads WHERE channel_id = $1 AND epoch = $2 FOR KEY SHARE)
           UPDATE endpoints SET failures = $4, failing_since = $5, probes = $6, probe_at = $7 FROM held
           WHERE channel_id = $1 AND id = $3 AND state = 'paused'""",
        lease.channel_id,
        lease.epoch,
        endpoint_id,
        health.failures,
        health.failing_since,
        health.probes,
        health.probe_at,
    )


async def clear_probe(db: Database, lease: Lease, endpoint_id: UUID, at: datetime | None) -> None:
    """Save that the waiting deliveries of a reactivated endpoint are due, unless it was reactivated again."""
    await db.execute(
        """WITH held AS (SELECT 1 FROM channel_heads WHERE channel_id = $1 AND epoch = $2 FOR KEY SHARE)
           UPDATE endpoints SET probe_at = NULL FROM held
           WHERE channel_id = $1 AND id = $3 AND state = 'active' AND probe_at = $4""",
        lease.channel_id,
        lease.epoch,
        endpoint_id,
        at,
    )


def _endpoint(row: Any) -> Endpoint:
    values = {**row, "events": tuple(row["events"]), "headers": msgspec.json.decode(row["headers"])}
    values["options"] = DeliveryOptions(**{name: values.pop(name) for name in _OPTION_NAMES})
    values["health"] = HealthCounters(**{name: values.pop(name) for name in _HEALTH_NAMES})
    return Endpoint(**values)
