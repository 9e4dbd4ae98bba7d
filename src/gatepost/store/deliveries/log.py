"""The log of deliveries and of their attempts, newest event first.

of one endpoint       primary key (channel_id, endpoint_id, event_id), backwards
of all endpoints      the same for each of them, merged by event; deleted ones are found by skipping through the key
other conditions      checked row by row, for a limited number of rows; the next page continues from there

The events of one POST have an attempt each; that of the first event stores what all share: the response and the batch.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.dates import LAST_ID, IdRange
from gatepost.model.delivery import CANCELED, PENDING, state_now
from gatepost.store.pool import Connection, Database, keys_and_range
from gatepost.store.statement import statement

LogPosition = tuple[UUID, UUID]  # event and endpoint: what is before both is still to be read
_DELETED = 100  # how many endpoints, deleted ones included, are looked for: the newest first


class DeliveryFilter(msgspec.Struct, frozen=True):
    """Which deliveries of a channel; None: all."""

    span: IdRange = IdRange()
    endpoint_id: UUID | None = None
    states: tuple[int, ...] | None = None
    types: tuple[str, ...] | None = None
    classes: tuple[int, ...] | None = None  # of the newest attempt's HTTP status: 2 for 2xx; 0: no response
    event_ids: tuple[UUID, ...] | None = None  # a few, looked up by their keys

    @property
    def has_conditions(self) -> bool:
        """Whether rows have to be checked one by one."""
        return self.event_ids is None and (self.states, self.types, self.classes) != (None, None, None)


class LastAttempt(msgspec.Struct, frozen=True):
    """The newest attempt of a delivery."""

    number: int
    at: datetime
    latency_ms: float
    status: int | None
    error: str | None


class LoggedDelivery(msgspec.Struct, frozen=True):
    """A delivery with its event, its endpoint and its newest attempt."""

    endpoint_id: UUID
    event_id: UUID
    state: int
    attempts: int
    next_at: datetime | None
    settled_at: datetime | None
    type: str
    action: str | None
    seq: int
    message: str | None  # the id of the message that the event is about
    url: str | None  # None: the endpoint was deleted
    endpoint_state: str | None
    probe_at: datetime | None
    last: LastAttempt | None


class DeliveryPage(msgspec.Struct, frozen=True):
    """The deliveries found, and the place up to which all were checked; None: to the end."""

    found: list[LoggedDelivery]
    reached: LogPosition | None


async def read_page(
    db: Database, channel_id: UUID, filter_: DeliveryFilter, before: LogPosition | None, *, scan: int, limit: int
) -> DeliveryPage:
    """Return at most `limit` deliveries that match, newest first, among about the newest `scan` of the range."""
    async with db.connection() as conn:
        endpoints = [filter_.endpoint_id] if filter_.endpoint_id else await find_endpoints(conn, channel_id)
        ends = [_end(id_, filter_.span.end, before) for id_ in endpoints]
        each = max(limit, scan // max(1, len(endpoints)))
        deleted = await _deleted(conn, channel_id, endpoints) if filter_.states else [False] * len(endpoints)
        floor = (
            await _floor(conn, channel_id, filter_.span.start, endpoints, ends, each)
            if filter_.has_conditions
            else None
        )
        start = max(filter_.span.start, floor or ids.ZERO)
        rows = await _matching(conn, channel_id, filter_, start, endpoints, ends, deleted, limit)
        found = await _with_details(conn, channel_id, rows)
    if len(rows) == limit:
        return DeliveryPage(found, (rows[-1]["event_id"], rows[-1]["endpoint_id"]))
    return DeliveryPage(found, None if floor is None else (floor, ids.ZERO))


def _end(endpoint_id: UUID, end: UUID, before: LogPosition | None) -> UUID:
    """Return the event before which the deliveries of an endpoint are still to be read."""
    if before is None:
        return end
    event_id, after = before
    return min(end, event_id if endpoint_id >= after or event_id == LAST_ID else UUID(int=event_id.int + 1))


async def find_endpoints(conn: "Connection[Any]", channel_id: UUID) -> list[UUID]:
    """Return the endpoints that may have deliveries, deleted ones included."""
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
    """Return for each endpoint whether it is deleted."""
    rows = await conn.fetch("SELECT id FROM endpoints WHERE channel_id = $1", channel_id)
    kept = {row["id"] for row in rows}
    return [id_ not in kept for id_ in endpoints]


async def _floor(
    conn: "Connection[Any]", channel_id: UUID, start: UUID, endpoints: Sequence[UUID], ends: Sequence[UUID], each: int
) -> UUID | None:
    """Return the event down to which no endpoint has more than `each` deliveries; None if none has that many."""
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


async def _matching(
    conn: "Connection[Any]",
    channel_id: UUID,
    filter_: DeliveryFilter,
    start: UUID,
    endpoints: Sequence[UUID],
    ends: Sequence[UUID],
    deleted: Sequence[bool],
    limit: int,
) -> list[Any]:
    chosen = () if filter_.event_ids is None else (filter_.event_ids,)
    return await conn.fetch(
        f"""SELECT d.* FROM unnest($3::uuid[], $4::uuid[], $8::boolean[]) AS p (id, end_id, deleted)
           CROSS JOIN LATERAL (
               SELECT endpoint_id, event_id, state, attempts, next_at, settled_at FROM deliveries
               WHERE channel_id = $1 AND endpoint_id = p.id AND event_id >= $2 AND event_id < p.end_id
                 AND ($5::smallint[] IS NULL
                      OR CASE WHEN p.deleted AND state = {PENDING} THEN {CANCELED} ELSE state END = ANY ($5))
                 AND ($6::text[] IS NULL OR (SELECT type FROM events
                                             WHERE channel_id = $1 AND id = event_id LIMIT 1) = ANY ($6))
                 AND ($9::int[] IS NULL OR {_HTTP_CLASS} = ANY ($9))
                 {"AND event_id = ANY ($10::uuid[])" if chosen else ""}
               ORDER BY event_id DESC LIMIT $7) d
           ORDER BY d.event_id DESC, d.endpoint_id DESC LIMIT $7""",
        channel_id,
        start,
        endpoints,
        ends,
        filter_.states,
        filter_.types,
        limit,
        deleted,
        filter_.classes,
        *chosen,
    )


_HTTP_CLASS = """COALESCE((SELECT a.status / 100 FROM delivery_attempts a
                     WHERE a.channel_id = $1 AND a.endpoint_id = p.id AND a.event_id = deliveries.event_id
                     ORDER BY a.number DESC, a.at DESC LIMIT 1), 0)"""


async def get_logged(db: Database, channel_id: UUID, endpoint_id: UUID, event_id: UUID) -> LoggedDelivery | None:
    """Return a delivery; None if there is none, or if its event is past its retention."""
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
    """Return deliveries with their event, endpoint and newest attempt; without those whose event is deleted."""
    if not rows:
        return []
    keys, first, last = keys_and_range([row["event_id"] for row in rows])
    details = await conn.fetch(
        """SELECT e.type, e.seq, (e.body::json -> 'action') #>> '{}' AS action,
                  (e.body::json #> '{data,key,id}') #>> '{}' AS message, p.url,
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
    return [_logged(row, detail) for row, detail in zip(rows, details, strict=True) if detail["type"] is not None]


def _logged(row: Any, detail: Any) -> LoggedDelivery:
    fields = dict(row)
    fields["state"] = state_now(row["state"], deleted=detail["endpoint_state"] is None)
    fields["next_at"] = None if fields["state"] else detail["due_at"] or row["next_at"]
    details = {name: detail[name] for name in ("type", "action", "seq", "message", "url", "endpoint_state", "probe_at")}
    last = LastAttempt(**{name: detail[name] for name in LastAttempt.__struct_fields__}) if detail["number"] else None
    return LoggedDelivery(**fields, **details, last=last)


_ATTEMPT = """a.event_id, a.number, a.at, a.latency_ms, a.status, a.error, a.url, a.request_headers,
              coalesce(f.answer_headers, a.answer_headers) AS answer_headers,
              coalesce(f.answer_body, a.answer_body) AS answer_body"""
_FIRST_OF_BATCH = """LEFT JOIN LATERAL (
                 SELECT f.answer_headers, f.answer_body, f.batch FROM delivery_attempts f
                 WHERE f.channel_id = :channel_id AND f.endpoint_id = :endpoint_id AND f.event_id = a.batch_first
                   AND f.at = a.at
                   AND a.batch_first <> a.event_id LIMIT 1) f ON true"""


class WholeAttempt(LastAttempt, frozen=True):
    """An attempt with the headers of its request, and its response."""

    url: str
    request_headers: str
    answer_headers: str | None
    answer_body: bytes | None


class LoggedAttempt(WholeAttempt, frozen=True):
    """An attempt with its request, and the state of its delivery."""

    event_id: UUID
    request_body: str | None
    state: int
    next_at: datetime | None


class DeliveryAttempt(WholeAttempt, frozen=True):
    """An attempt of a delivery; its body is put together from the events of the POST."""

    batch: tuple[UUID, ...]  # the events of the POST, in their order; empty: only this one


async def list_attempts(
    db: Database, channel_id: UUID, endpoint_id: UUID, before: tuple[UUID, int] | None, limit: int
) -> list[LoggedAttempt]:
    """Return the attempts of an endpoint, newest event first; `LIMIT 1` makes the planner look up rows by their key."""
    event_id, number = before or (LAST_ID, 0)
    rows = await db.fetch(
        f"""SELECT {_ATTEMPT}, e.body AS request_body, d.state, d.next_at
           FROM (SELECT * FROM delivery_attempts
                 WHERE channel_id = :channel_id AND endpoint_id = :endpoint_id
                   AND (event_id, number) < (:event_id, :number)
                 ORDER BY event_id DESC, number DESC, at DESC LIMIT :limit) a
           {_FIRST_OF_BATCH}
           LEFT JOIN LATERAL (SELECT body FROM events
                              WHERE channel_id = :channel_id AND id = a.event_id LIMIT 1) e ON true
           JOIN LATERAL (SELECT state, next_at FROM deliveries
                         WHERE channel_id = :channel_id AND endpoint_id = :endpoint_id AND event_id = a.event_id
                         LIMIT 1) d ON true
           ORDER BY a.event_id DESC, a.number DESC, a.at DESC""",
        channel_id=channel_id,
        endpoint_id=endpoint_id,
        event_id=event_id,
        number=number,
        limit=limit,
    )
    return [LoggedAttempt(**row) for row in rows]


async def read_attempts(
    db: Database, channel_id: UUID, endpoint_id: UUID, event_id: UUID, limit: int
) -> tuple[list[DeliveryAttempt], dict[UUID, str]]:
    """Return the newest attempts of a delivery in their order, and the bodies of the events that they carried."""
    async with db.connection() as conn:
        rows = await conn.fetch(
            *statement(
                f"""SELECT {_ATTEMPT}, coalesce(f.batch, a.batch) AS batch
                    FROM (SELECT * FROM delivery_attempts
                          WHERE channel_id = :channel_id AND endpoint_id = :endpoint_id AND event_id = :event_id
                          ORDER BY number DESC, at DESC LIMIT :limit) a
                    {_FIRST_OF_BATCH}
                    ORDER BY a.number, a.at""",
                channel_id=channel_id,
                endpoint_id=endpoint_id,
                event_id=event_id,
                limit=limit,
            )
        )
        attempts = [_attempt(row) for row in rows]
        bodies = await _bodies(conn, channel_id, {event_id, *(id_ for one in attempts for id_ in one.batch)})
    return attempts, bodies


def _attempt(row: Any) -> DeliveryAttempt:
    fields = {name: row[name] for name in DeliveryAttempt.__struct_fields__}
    return DeliveryAttempt(**fields | {"batch": tuple(fields["batch"] or ())})


async def _bodies(conn: "Connection[Any]", channel_id: UUID, event_ids: set[UUID]) -> dict[UUID, str]:
    keys, first, last = keys_and_range(sorted(event_ids))
    rows: Sequence[Any] = await conn.fetch(
        """SELECT e.id, e.body FROM unnest($2::uuid[]) AS k (id) CROSS JOIN LATERAL (
               SELECT id, body FROM events WHERE channel_id = $1 AND id = k.id AND id BETWEEN $3 AND $4 LIMIT 1) e""",
        channel_id,
        keys,
        first,
        last,
    )
    return {row["id"]: row["body"] for row in rows}
