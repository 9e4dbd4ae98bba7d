"""The log of deliveries, for people to read, the newest event first.

of one endpoint       primary key (channel_id, endpoint_id, event_id), backwards
of all endpoints      the same for each of them, merged by event; deleted ones are found by a skip from each to the next
what else is asked    looked at row by row, but only for so many rows: whoever asked goes on from there
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.dates import LAST_ID, IdRange
from gatepost.model.delivery import CANCELED, PENDING, state_now
from gatepost.store.pool import Connection, Database, keys_and_span

Place = tuple[UUID, UUID]  # event and endpoint: what comes before it, in both, is yet to be read
_DELETED = 100  # endpoints that are gone and still looked for, the youngest first


class DeliveryFilter(msgspec.Struct, frozen=True):
    """Which deliveries of a channel; None is all."""

    span: IdRange = IdRange()
    endpoint_id: UUID | None = None
    states: tuple[int, ...] | None = None
    types: tuple[str, ...] | None = None

    @property
    def has_conditions(self) -> bool:
        """Whether rows have to be looked at, beyond their place."""
        return (self.states, self.types) != (None, None)


class LastAttempt(msgspec.Struct, frozen=True):
    """The newest attempt, in short."""

    number: int
    at: datetime
    status: int | None
    error: str | None
    latency_ms: float


class LoggedDelivery(msgspec.Struct, frozen=True):
    """A delivery, with what it tells, where it goes, and how its newest attempt ended."""

    endpoint_id: UUID
    event_id: UUID
    state: int
    attempts: int
    next_at: datetime | None
    settled_at: datetime | None
    type: str
    action: str | None
    seq: int
    url: str | None  # None: the endpoint was deleted
    endpoint_state: str | None
    probe_at: datetime | None
    last: LastAttempt | None


class DeliveryPage(msgspec.Struct, frozen=True):
    """What was found, and up to where everything was looked at; None: to the end."""

    found: list[LoggedDelivery]
    reached: Place | None


async def read_page(
    db: Database, channel_id: UUID, wanted: DeliveryFilter, before: Place | None, *, scan: int, most: int
) -> DeliveryPage:
    """The newest deliveries that fit, `most` at most, among about the newest `scan` of the span."""
    async with db.connection() as conn:
        endpoints = [wanted.endpoint_id] if wanted.endpoint_id else await _endpoints(conn, channel_id)
        ends = [_end(id_, wanted.span.end, before) for id_ in endpoints]
        each = max(most, scan // max(1, len(endpoints)))
        deleted = await _deleted(conn, channel_id, endpoints) if wanted.states else [False] * len(endpoints)
        floor = (
            await _floor(conn, channel_id, wanted.span.start, endpoints, ends, each) if wanted.has_conditions else None
        )
        start = max(wanted.span.start, floor or ids.ZERO)
        rows = await _fitting(conn, channel_id, wanted, start, endpoints, ends, deleted, most)
        found = await _with_details(conn, channel_id, rows)
    if len(rows) == most:
        return DeliveryPage(found, (rows[-1]["event_id"], rows[-1]["endpoint_id"]))
    return DeliveryPage(found, None if floor is None else (floor, ids.ZERO))


def _end(endpoint_id: UUID, end: UUID, before: Place | None) -> UUID:
    """Up to where an endpoint's deliveries are yet to be read: of the event of a place, those of smaller endpoints."""
    if before is None:
        return end
    event_id, after = before
    return min(end, event_id if endpoint_id >= after or event_id == LAST_ID else UUID(int=event_id.int + 1))


async def _endpoints(conn: "Connection[Any]", channel_id: UUID) -> list[UUID]:
    """Every endpoint that there may be deliveries of: those that there are, and those that there were."""
    rows = await conn.fetch(
        """WITH RECURSIVE had AS (
               (SELECT endpoint_id AS id, 1 AS n FROM deliveries WHERE channel_id = $1
                ORDER BY endpoint_id DESC LIMIT 1)
               UNION ALL
               SELECT b.endpoint_id, had.n + 1 FROM had CROSS JOIN LATERAL (
                   SELECT endpoint_id FROM deliveries WHERE channel_id = $1 AND endpoint_id < had.id
                   ORDER BY endpoint_id DESC LIMIT 1) b
               WHERE had.n < $2)
           SELECT id FROM had UNION SELECT id FROM endpoints WHERE channel_id = $1""",
        channel_id,
        _DELETED,
    )
    return sorted(row["id"] for row in rows)


async def _deleted(conn: "Connection[Any]", channel_id: UUID, endpoints: Sequence[UUID]) -> list[bool]:
    """Which of these endpoints are gone."""
    rows = await conn.fetch("SELECT id FROM endpoints WHERE channel_id = $1", channel_id)
    kept = {row["id"] for row in rows}
    return [id_ not in kept for id_ in endpoints]


async def _floor(
    conn: "Connection[Any]", channel_id: UUID, start: UUID, endpoints: Sequence[UUID], ends: Sequence[UUID], each: int
) -> UUID | None:
    """The event down to which no endpoint has more than `each` deliveries; None where none has so many."""
    floor: UUID | None = await conn.fetchval(
        """SELECT d.event_id FROM unnest($3::uuid[], $4::uuid[]) AS p (id, end_id) CROSS JOIN LATERAL (
               SELECT event_id FROM deliveries
               WHERE channel_id = $1 AND endpoint_id = p.id AND event_id >= $2 AND event_id < p.end_id
               ORDER BY event_id DESC OFFSET $5 LIMIT 1) d
           ORDER BY d.event_id DESC LIMIT 1""",
        channel_id,
        start,
        endpoints,
        ends,
        each - 1,
    )
    return floor


async def _fitting(
    conn: "Connection[Any]",
    channel_id: UUID,
    wanted: DeliveryFilter,
    start: UUID,
    endpoints: Sequence[UUID],
    ends: Sequence[UUID],
    deleted: Sequence[bool],
    most: int,
) -> list[Any]:
    return await conn.fetch(
        f"""SELECT d.* FROM unnest($3::uuid[], $4::uuid[], $8::boolean[]) AS p (id, end_id, deleted)
           CROSS JOIN LATERAL (
               SELECT endpoint_id, event_id, state, attempts, next_at, settled_at FROM deliveries
               WHERE channel_id = $1 AND endpoint_id = p.id AND event_id >= $2 AND event_id < p.end_id
                 AND ($5::smallint[] IS NULL
                      OR CASE WHEN p.deleted AND state = {PENDING} THEN {CANCELED} ELSE state END = ANY ($5))
                 AND ($6::text[] IS NULL OR (SELECT type FROM events
                                             WHERE channel_id = $1 AND id = event_id LIMIT 1) = ANY ($6))
               ORDER BY event_id DESC LIMIT $7) d
           ORDER BY d.event_id DESC, d.endpoint_id DESC LIMIT $7""",
        channel_id,
        start,
        endpoints,
        ends,
        wanted.states,
        wanted.types,
        most,
        deleted,
    )


async def get_logged(db: Database, channel_id: UUID, endpoint_id: UUID, event_id: UUID) -> LoggedDelivery | None:
    """One delivery; None when there is none, or when its event is past its time."""
    async with db.connection() as conn:
        rows = await conn.fetch(
            """SELECT endpoint_id, event_id, state, attempts, next_at, settled_at FROM deliveries
               WHERE channel_id = $1 AND endpoint_id = $2 AND event_id = $3""",
            channel_id,
            endpoint_id,
            event_id,
        )
        found = await _with_details(conn, channel_id, rows)
    return found[0] if found else None


async def _with_details(conn: "Connection[Any]", channel_id: UUID, rows: Sequence[Any]) -> list[LoggedDelivery]:
    """Deliveries with their event, endpoint and newest attempt, in their order; without those whose event is gone."""
    if not rows:
        return []
    keys, first, last = keys_and_span([row["event_id"] for row in rows])
    details = await conn.fetch(
        """SELECT e.type, e.seq, substring(left(e.body, 250) FROM '"action":"([^"]*)"') AS action, p.url,
                  p.state AS endpoint_state, p.probe_at, r.next_at AS due_at,
                  a.number, a.at, a.status, a.error, a.latency_ms
           FROM unnest($2::uuid[], $3::uuid[]) WITH ORDINALITY AS k (endpoint_id, event_id, n)
           LEFT JOIN LATERAL (SELECT type, seq, body FROM events
               WHERE channel_id = $1 AND id = k.event_id AND id BETWEEN $4 AND $5 LIMIT 1) e ON true
           LEFT JOIN LATERAL (SELECT number, at, status, error, latency_ms FROM delivery_attempts
               WHERE channel_id = $1 AND endpoint_id = k.endpoint_id AND event_id = k.event_id
                 AND event_id BETWEEN $4 AND $5 ORDER BY number DESC, at DESC LIMIT 1) a ON true
           LEFT JOIN LATERAL (SELECT next_at FROM delivery_retries
               WHERE channel_id = $1 AND endpoint_id = k.endpoint_id AND event_id = k.event_id LIMIT 1) r ON true
           LEFT JOIN LATERAL (SELECT url, state, probe_at FROM endpoints
               WHERE channel_id = $1 AND id = k.endpoint_id LIMIT 1) p ON true
           ORDER BY k.n""",
        channel_id,
        [row["endpoint_id"] for row in rows],
        keys,
        first,
        last,
    )
    return [_logged(row, more) for row, more in zip(rows, details, strict=True) if more["type"] is not None]


def _logged(row: Any, more: Any) -> LoggedDelivery:
    fields = dict(row.items())
    fields["state"] = state_now(row["state"], deleted=more["endpoint_state"] is None)
    fields["next_at"] = None if fields["state"] else more["due_at"] or row["next_at"]
    about = {name: more[name] for name in ("type", "action", "seq", "url", "endpoint_state", "probe_at")}
    last = LastAttempt(**{name: more[name] for name in LastAttempt.__struct_fields__}) if more["number"] else None
    return LoggedDelivery(**fields, **about, last=last)
