"""Deliveries of events to endpoints: what is to be done, and how far each endpoint is."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import IntEnum
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.endpoint import ACTIVE, DEFAULT_OPTIONS, DeliveryOptions, HealthCounters
from gatepost.model.event import OPERATIONAL
from gatepost.store.channel_head import Lease, hold_epoch
from gatepost.store.pool import Database


class DeliveryState(IntEnum):
    PENDING = 0
    DELIVERED = 1
    EXHAUSTED = 2
    DROPPED = 3


class DueDelivery(msgspec.Struct, frozen=True):
    """An event that an endpoint is to get."""

    event_id: UUID
    body: bytes
    attempts: int
    begun: int = 0  # attempts before it was last asked for again: the schedule counts from there
    key: UUID = ids.ZERO  # its conversation; zero: the channel as a whole
    operational: bool = False  # it tells of an endpoint itself
    retried: bool = False  # it stands in delivery_retries
    blocked: bool = (
        False  # of an ordered endpoint: others of its conversation go first, or it has yet to be put in line
    )

    @property
    def tries(self) -> int:
        """Attempts since it was last asked for."""
        return self.attempts - self.begun


class EndpointTarget(msgspec.Struct, frozen=True):
    """An endpoint as the courier needs it."""

    id: UUID
    url: str
    headers: dict[str, str]
    secret: bytes
    cursor: UUID
    options: DeliveryOptions = DEFAULT_OPTIONS
    state: str = ACTIVE
    health: HealthCounters = HealthCounters()
    updated_at: datetime | None = None


_MANNER, _HEALTH = DeliveryOptions.__struct_fields__, HealthCounters.__struct_fields__
_COLUMNS = ", ".join(("id", "url", "headers", "secret", "cursor", "state", "updated_at", *_MANNER, *_HEALTH))


async def read_targets(db: Database, channel_id: UUID) -> list[EndpointTarget]:
    """The endpoints of a channel that are to be delivered to, or probed."""
    async with db.connection() as conn:
        rows = await conn.fetch(
            f"SELECT {_COLUMNS} FROM endpoints WHERE channel_id = $1 AND state <> 'disabled'", channel_id
        )
    return [_target(dict(row)) for row in rows]


def _target(values: dict[str, Any]) -> EndpointTarget:
    options = DeliveryOptions(**{name: values.pop(name) for name in _MANNER})
    health = HealthCounters(**{name: values.pop(name) for name in _HEALTH})
    headers = msgspec.json.decode(values.pop("headers"), type=dict[str, str])
    return EndpointTarget(**values, headers=headers, options=options, health=health)


_PENDING = """SELECT d.event_id, d.attempts, d.begun, e.body, e.type, e.conversation_id{more} FROM deliveries d
   JOIN LATERAL (SELECT body, type, conversation_id FROM events
                 WHERE channel_id = $1 AND id = d.event_id LIMIT 1) e ON true
   WHERE d.channel_id = $1 AND d.endpoint_id = $2 AND d.event_id > $3 AND d.state = 0 AND d.attempts = 0
     AND d.next_at IS NULL ORDER BY d.event_id LIMIT $4"""
# Who stands first in a line is looked up by all columns of its index, and by nothing that another index could serve:
# on an empty table every index looks alike, and a plan that was made then would read whole lines later.
FIRST_IN_ORDER = """SELECT *, ctid AS place FROM delivery_retries WHERE conversation_id IS NOT NULL
     AND (channel_id, endpoint_id, conversation_id, event_id)
         >= ($1, {endpoint}, {conversation}, '00000000-0000-0000-0000-000000000000')
   ORDER BY channel_id, endpoint_id, conversation_id, event_id LIMIT 1"""
# One that waits, by its key, for the same reason: the index of what is due knows the endpoint too, and would read all.
RETRY_BY_KEY = """SELECT *, ctid AS place FROM delivery_retries
     WHERE (channel_id, endpoint_id, event_id) >= ($1, {endpoint}, {event})
   ORDER BY channel_id, endpoint_id, event_id LIMIT 1"""
_KEY = "COALESCE(e.conversation_id, '00000000-0000-0000-0000-000000000000')"
_BLOCKED = f""", COALESCE((
   SELECT (f.channel_id, f.endpoint_id, f.conversation_id) = ($1, $2, {_KEY})
   FROM ({FIRST_IN_ORDER.format(endpoint="$2", conversation=_KEY)}) f), false) AS blocked"""


async def read_pending(
    db: Database, channel_id: UUID, endpoint_id: UUID, after: UUID, most: int, *, ordered: bool = False
) -> list[DueDelivery]:
    """Deliveries behind the cursor that were never tried, in the order of their events."""
    query = _PENDING.format(more=_BLOCKED if ordered else "")
    async with db.connection() as conn:
        rows = await conn.fetch(query, channel_id, endpoint_id, after, most)
    return [_due(row, blocked=ordered and row["blocked"]) for row in rows]


class RetryPage(msgspec.Struct, frozen=True):
    """What is due again, and rows that lead nowhere: settled elsewhere, or their event's time is over."""

    due: list[DueDelivery]
    lost: list[UUID]


_RETRIES = """SELECT r.event_id, r.conversation_id AS line, e.body, e.type, e.conversation_id, d.attempts, d.begun,
          d.state{more} FROM
     (SELECT event_id, conversation_id FROM delivery_retries
      WHERE channel_id = $1 AND endpoint_id = $2 AND next_at <= $3
        AND event_id <> ALL ($5::uuid[]) AND (conversation_id IS NULL OR conversation_id <> ALL ($6::uuid[]))
        AND ($7::uuid IS NULL OR event_id <= $7)
      ORDER BY next_at LIMIT $4) r
   LEFT JOIN LATERAL (SELECT body, type, conversation_id FROM events
                      WHERE channel_id = $1 AND id = r.event_id LIMIT 1) e ON true
   LEFT JOIN LATERAL (SELECT state, attempts, begun FROM deliveries
                      WHERE channel_id = $1 AND endpoint_id = $2 AND event_id = r.event_id LIMIT 1) d ON true"""
_BEHIND = f""", r.conversation_id IS NULL OR r.event_id > (
   SELECT f.event_id FROM ({FIRST_IN_ORDER.format(endpoint="$2", conversation="r.conversation_id")}) f) AS blocked"""


async def read_retries(
    db: Database,
    channel_id: UUID,
    endpoint_id: UUID,
    now: datetime,
    under_way: Sequence[UUID],
    most: int,
    *,
    ordered: bool = False,
    busy: Sequence[UUID] = (),
    reach: UUID | None = None,
) -> RetryPage:
    """Deliveries whose next attempt is due, but for those under way; the limits of one mean look-ups by key.

    An ordered endpoint leaves out conversations that are `busy` and events beyond its `reach`, and learns which ones
    have to stand behind others.
    """
    query = _RETRIES.format(more=_BEHIND if ordered else "")
    async with db.connection() as conn:
        rows = await conn.fetch(query, channel_id, endpoint_id, now, most, list(under_way), list(busy), reach)
    due = [_due(row, retried=True, blocked=ordered and row["blocked"]) for row in rows if _lives(row)]
    return RetryPage(sorted(due, key=lambda one: one.event_id), [row["event_id"] for row in rows if not _lives(row)])


def _lives(row: Any) -> bool:
    return row["body"] is not None and row["state"] == DeliveryState.PENDING


def _due(row: Any, *, retried: bool = False, blocked: bool = False) -> DueDelivery:
    key, operational = row["conversation_id"] or ids.ZERO, row["type"] == OPERATIONAL
    return DueDelivery(
        row["event_id"], row["body"].encode(), row["attempts"], row["begun"], key, operational, retried, blocked
    )


class NextRetry(msgspec.Struct, frozen=True):
    """When the next repeated attempt is due, and whether some wait for others to go first."""

    at: datetime | None
    waiting: bool


async def next_retry(
    db: Database,
    channel_id: UUID,
    endpoint_id: UUID,
    under_way: Sequence[UUID],
    busy: Sequence[UUID] = (),
    reach: UUID | None = None,
) -> NextRetry:
    """What waits in delivery_retries, but for deliveries under way, conversations that are busy, and beyond `reach`."""
    async with db.connection() as conn:
        row: Any = await conn.fetchrow(
            """SELECT (SELECT next_at FROM delivery_retries WHERE channel_id = $1 AND endpoint_id = $2
                         AND next_at < 'infinity' AND event_id <> ALL ($3::uuid[])
                         AND (conversation_id IS NULL OR conversation_id <> ALL ($4::uuid[]))
                         AND ($5::uuid IS NULL OR event_id <= $5)
                       ORDER BY next_at LIMIT 1) AS at,
                      EXISTS (SELECT 1 FROM delivery_retries WHERE channel_id = $1 AND endpoint_id = $2
                                AND next_at = 'infinity') AS waiting""",
            channel_id,
            endpoint_id,
            list(under_way),
            list(busy),
            reach,
        )
    return NextRetry(row["at"], row["waiting"])


class DeliveryCursor(msgspec.Struct, frozen=True):
    """How far an endpoint is and how it fares, as its round knows it; `known` is the row's state of change."""

    cursor: UUID
    health: HealthCounters
    known: datetime | None


async def save_cursors(db: Database, lease: Lease, marks: Mapping[UUID, DeliveryCursor]) -> None:
    """Notes how far each endpoint's deliveries have had their first attempt, and how they go.

    Whoever changed the endpoint meanwhile may have wiped its slate clean: then only the cursor is noted.
    """
    order = sorted(marks)
    async with db.transaction() as conn:
        await hold_epoch(conn, lease.channel_id, lease.epoch)
        await conn.execute(
            """UPDATE endpoints p SET cursor = c.cursor,
                      failing_since = CASE WHEN p.updated_at = c.known THEN c.failing_since ELSE p.failing_since END,
                      failures = CASE WHEN p.updated_at = c.known THEN c.failures ELSE p.failures END,
                      notices = CASE WHEN p.updated_at = c.known THEN c.notices ELSE p.notices END,
                      succeeded_at = GREATEST(p.succeeded_at, c.succeeded_at)
               FROM unnest($2::uuid[], $3::uuid[], $4::timestamptz[], $5::timestamptz[], $6::int[], $7::smallint[],
                           $8::timestamptz[])
                 AS c (id, cursor, known, failing_since, failures, notices, succeeded_at)
               WHERE p.channel_id = $1 AND p.id = c.id""",
            lease.channel_id,
            order,
            [marks[id_].cursor for id_ in order],
            [marks[id_].known for id_ in order],
            [marks[id_].health.failing_since for id_ in order],
            [marks[id_].health.failures for id_ in order],
            [marks[id_].health.notices for id_ in order],
            [marks[id_].health.succeeded_at for id_ in order],
        )
