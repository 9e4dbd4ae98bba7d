"""The delivery queue: endpoints, their due deliveries and retries, and the cursor of each endpoint."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.dates import LAST_ID
from gatepost.model.delivery import DeliveryState
from gatepost.model.endpoint import HealthCounters
from gatepost.model.event import SYSTEM
from gatepost.store.channel_head import Lease
from gatepost.store.pool import Database
from gatepost.store.statement import statement


class DueDelivery(msgspec.Struct, frozen=True):
    """An event to deliver to an endpoint."""

    event_id: UUID
    body: bytes
    attempts: int
    begun: int = 0  # attempts before the last requested retry: the schedule counts from there
    key: UUID = ids.ZERO  # its conversation; zero: the channel as a whole
    system: bool = False  # a system_notification
    retried: bool = False  # it is in delivery_retries
    blocked: bool = False  # of an ordered endpoint: earlier events of its conversation are in delivery_retries

    @property
    def tries(self) -> int:
        """Attempts since the last requested retry."""
        return self.attempts - self.begun


_NO_CONVERSATION = f"'{ids.ZERO}'"


# Both look a row up by a range of all columns of one index, and by nothing that another index could serve: on an empty
# table every index looks alike, and a plan that was made then would later read all retries of the endpoint. The range
# ends with the key, so that no row of another channel is read, or locked.
def first_of_conversation(endpoint: str, conversation: str) -> str:
    """SQL for the first retry of a conversation."""
    return f"""SELECT *, ctid AS place FROM delivery_retries WHERE conversation_id IS NOT NULL
     AND (channel_id, endpoint_id, conversation_id, event_id)
         >= (:channel_id, {endpoint}, {conversation}, '{ids.ZERO}')
     AND (channel_id, endpoint_id, conversation_id, event_id)
         <= (:channel_id, {endpoint}, {conversation}, '{LAST_ID}')
   ORDER BY channel_id, endpoint_id, conversation_id, event_id LIMIT 1"""


def retry_by_key(endpoint: str, event: str) -> str:
    """SQL for the retry with a key."""
    return f"""SELECT *, ctid AS place FROM delivery_retries
     WHERE (channel_id, endpoint_id, event_id) >= (:channel_id, {endpoint}, {event})
       AND (channel_id, endpoint_id, event_id) <= (:channel_id, {endpoint}, {event})
   ORDER BY channel_id, endpoint_id, event_id LIMIT 1"""


PENDING_AT_ONCE = 32  # endpoints whose deliveries are read by one statement
_PENDING_ROWS = 1600  # at most; many endpoints get shorter pages
# `:first` is for the planner: by it, earlier partitions are left out before the statement begins.
_PENDING = """SELECT k.place, p.*
   FROM unnest(:channel_ids::uuid[], :endpoint_ids::uuid[], :afters::uuid[], :limits::int[]) WITH ORDINALITY
        AS k (channel_id, endpoint_id, after, most, place)
   CROSS JOIN LATERAL (
       SELECT d.event_id, d.attempts, d.begun, e.body, e.type, e.conversation_id FROM deliveries d
       JOIN LATERAL (SELECT body, type, conversation_id FROM events
                     WHERE channel_id = k.channel_id AND id = d.event_id AND id > :first LIMIT 1) e ON true
       WHERE d.channel_id = k.channel_id AND d.endpoint_id = k.endpoint_id AND d.event_id > k.after
         AND d.event_id > :first AND d.state = 0 AND d.attempts = 0 AND d.next_at IS NULL
       ORDER BY d.event_id LIMIT k.most) p
   ORDER BY k.place, p.event_id"""
_PENDING_ORDERED = """SELECT d.event_id, d.attempts, d.begun, e.body, e.type, e.conversation_id{blocked}
   FROM deliveries d
   JOIN LATERAL (SELECT body, type, conversation_id FROM events
                 WHERE channel_id = :channel_id AND id = d.event_id LIMIT 1) e ON true
   WHERE d.channel_id = :channel_id AND d.endpoint_id = :endpoint_id AND d.event_id > :after AND d.state = 0
     AND d.attempts = 0 AND d.next_at IS NULL ORDER BY d.event_id LIMIT :limit"""
_KEY = f"COALESCE(e.conversation_id, {_NO_CONVERSATION})"
_BLOCKED = f""", COALESCE((
   SELECT true FROM ({first_of_conversation(":endpoint_id", _KEY)}) f), false) AS blocked"""


class PendingRead(msgspec.Struct, frozen=True):
    """The deliveries of an endpoint after a cursor, up to a number."""

    channel_id: UUID
    endpoint_id: UUID
    after: UUID
    limit: int


class PendingPage(msgspec.Struct, frozen=True):
    """The deliveries that were read. If there are as many as the limit, which may be lower than wanted, read again."""

    due: list[DueDelivery]
    limit: int


async def read_pending(db: Database, reads: Sequence[PendingRead]) -> dict[PendingRead, PendingPage]:
    """Return deliveries after the cursors that were never tried, in the order of their events."""
    most = max(1, _PENDING_ROWS // len(reads))
    pages = {read: PendingPage([], min(read.limit, most)) for read in reads}
    rows = await db.fetch(
        _PENDING,
        channel_ids=[read.channel_id for read in reads],
        endpoint_ids=[read.endpoint_id for read in reads],
        afters=[read.after for read in reads],
        limits=[pages[read].limit for read in reads],
        first=min(read.after for read in reads),
    )
    for row in rows:
        pages[reads[row["place"] - 1]].due.append(_due(row))
    return pages


async def read_pending_ordered(db: Database, read: PendingRead) -> PendingPage:
    """Do the same for an endpoint that gets the events of a conversation in order."""
    rows = await db.fetch(
        *statement(
            _PENDING_ORDERED.format(blocked=_BLOCKED),
            channel_id=read.channel_id,
            endpoint_id=read.endpoint_id,
            after=read.after,
            limit=read.limit,
        )
    )
    return PendingPage([_due(row, blocked=row["blocked"]) for row in rows], read.limit)


class RetryPage(msgspec.Struct, frozen=True):
    """Retries that are due, and orphaned ones: their delivery is settled, or their event is deleted."""

    due: list[DueDelivery]
    orphaned: list[UUID]


_AVAILABLE = """event_id <> ALL (:in_flight::uuid[])
        AND (conversation_id IS NULL OR conversation_id <> ALL (:busy::uuid[]))
        AND (:reach::uuid IS NULL OR event_id <= :reach)"""
_RETRIES = f"""SELECT r.event_id, e.body, e.type, e.conversation_id, d.attempts, d.begun, d.state{{more}} FROM
     (SELECT event_id, conversation_id FROM delivery_retries
      WHERE channel_id = :channel_id AND endpoint_id = :endpoint_id AND next_at <= :now AND {_AVAILABLE}
      ORDER BY next_at LIMIT :limit) r
   LEFT JOIN LATERAL (SELECT body, type, conversation_id FROM events
                      WHERE channel_id = :channel_id AND id = r.event_id LIMIT 1) e ON true
   LEFT JOIN LATERAL (SELECT state, attempts, begun FROM deliveries
                      WHERE channel_id = :channel_id AND endpoint_id = :endpoint_id AND event_id = r.event_id
                      LIMIT 1) d ON true"""
_BEHIND = f""", r.conversation_id IS NULL OR r.event_id > (
   SELECT f.event_id FROM ({first_of_conversation(":endpoint_id", "r.conversation_id")}) f) AS blocked"""


async def read_retries(
    db: Database,
    channel_id: UUID,
    endpoint_id: UUID,
    now: datetime,
    in_flight: Sequence[UUID],
    limit: int,
    *,
    ordered: bool = False,
    busy: Sequence[UUID] = (),
    reach: UUID | None = None,
) -> RetryPage:
    """Return retries that are due, except those in flight; `LIMIT 1` makes the planner look up each row by its key.

    For an ordered endpoint conversations that are `busy` and events beyond its `reach` are left out, and deliveries
    with earlier ones of their conversation are marked as blocked.
    """
    query = _RETRIES.format(more=_BEHIND if ordered else "")
    rows = await db.fetch(
        *statement(
            query,
            channel_id=channel_id,
            endpoint_id=endpoint_id,
            now=now,
            limit=limit,
            in_flight=list(in_flight),
            busy=list(busy),
            reach=reach,
        )
    )
    due = [_due(row, retried=True, blocked=ordered and row["blocked"]) for row in rows if _is_live(row)]
    orphaned = [row["event_id"] for row in rows if not _is_live(row)]
    return RetryPage(sorted(due, key=lambda one: one.event_id), orphaned)


def _is_live(row: Any) -> bool:
    return row["body"] is not None and row["state"] == DeliveryState.PENDING


def _due(row: Any, *, retried: bool = False, blocked: bool = False) -> DueDelivery:
    key, system = row["conversation_id"] or ids.ZERO, row["type"] == SYSTEM
    return DueDelivery(
        row["event_id"], row["body"].encode(), row["attempts"], row["begun"], key, system, retried, blocked
    )


class NextRetry(msgspec.Struct, frozen=True):
    """When the next retry is due, and whether some deliveries wait for earlier ones."""

    at: datetime | None
    waiting: bool


_NEXT_RETRY = f"""SELECT (SELECT next_at FROM delivery_retries
      WHERE channel_id = :channel_id AND endpoint_id = :endpoint_id AND next_at < 'infinity' AND {_AVAILABLE}
      ORDER BY next_at LIMIT 1) AS at,
   EXISTS (SELECT 1 FROM delivery_retries
           WHERE channel_id = :channel_id AND endpoint_id = :endpoint_id AND next_at = 'infinity') AS waiting"""


async def next_retry(
    db: Database,
    channel_id: UUID,
    endpoint_id: UUID,
    in_flight: Sequence[UUID],
    busy: Sequence[UUID] = (),
    reach: UUID | None = None,
) -> NextRetry:
    """Return when a retry is due that is not in flight, of a conversation that is not `busy`, within `reach`."""
    row: Any = await db.fetchrow(
        *statement(
            _NEXT_RETRY,
            channel_id=channel_id,
            endpoint_id=endpoint_id,
            in_flight=list(in_flight),
            busy=list(busy),
            reach=reach,
        )
    )
    return NextRetry(row["at"], row["waiting"])


class DeliveryCursor(msgspec.Struct, frozen=True):
    """The cursor and health of an endpoint in its deliverer's memory; `updated_at` is that of the row it knows."""

    cursor: UUID
    health: HealthCounters
    updated_at: datetime | None


# Each row is looked up by its key: a join of the lists would compare each row of one with each of the other.
_SAVE = """WITH given AS MATERIALIZED (
       SELECT c.* FROM unnest(:channel_ids::uuid[], :epochs::bigint[], :ids::uuid[], :cursors::uuid[],
                              :known::timestamptz[], :failing_since::timestamptz[], :failures::int[],
                              :notices::smallint[], :succeeded_at::timestamptz[])
         AS c (channel_id, epoch, id, cursor, known, failing_since, failures, notices, succeeded_at)
       CROSS JOIN LATERAL (
           SELECT 1 FROM channel_heads WHERE channel_id = c.channel_id AND epoch = c.epoch FOR KEY SHARE {locked}) h
       CROSS JOIN LATERAL (
           SELECT 1 FROM endpoints WHERE channel_id = c.channel_id AND id = c.id FOR NO KEY UPDATE {locked}) e
   )
   UPDATE endpoints p SET cursor = c.cursor,
          failing_since = CASE WHEN p.updated_at = c.known THEN c.failing_since ELSE p.failing_since END,
          failures = CASE WHEN p.updated_at = c.known THEN c.failures ELSE p.failures END,
          notices = CASE WHEN p.updated_at = c.known THEN c.notices ELSE p.notices END,
          succeeded_at = GREATEST(p.succeeded_at, c.succeeded_at)
   FROM given c WHERE p.channel_id = c.channel_id AND p.id = c.id
   RETURNING p.id"""
_SAVE_WAITING, _SAVE_FREE = _SAVE.format(locked=""), _SAVE.format(locked="SKIP LOCKED")


async def save_cursors(
    db: Database, cursors: Mapping[Lease, Mapping[UUID, DeliveryCursor]], *, wait: bool
) -> set[UUID]:
    """Save cursors and health; return the endpoints of which they are saved: not those of a lost lease, for example.

    If a user has changed an endpoint meanwhile, only its cursor is saved. With `wait`, wait for rows that are locked by
    others, which is safe for one channel only. Otherwise leave them out.
    """
    rows = sorted(
        ((lease.channel_id, lease.epoch, id_, one) for lease, some in cursors.items() for id_, one in some.items()),
        key=lambda row: (row[0], row[2]),
    )
    if not rows:
        return set()
    channel_ids, epochs, ids_, saved = (list(column) for column in zip(*rows, strict=True))
    health = [one.health for one in saved]
    found = await db.fetch(
        _SAVE_WAITING if wait else _SAVE_FREE,
        channel_ids=channel_ids,
        epochs=epochs,
        ids=ids_,
        cursors=[one.cursor for one in saved],
        known=[one.updated_at for one in saved],
        failing_since=[one.failing_since for one in health],
        failures=[one.failures for one in health],
        notices=[one.notices for one in health],
        succeeded_at=[one.succeeded_at for one in health],
    )
    return {row["id"] for row in found}


async def count_retries(db: Database, limit: int) -> int:
    """Return how many deliveries wait for a retry, at most `limit`: a backlog may have millions."""
    count: int = await db.fetchval("SELECT count(*) FROM (SELECT FROM delivery_retries LIMIT $1) AS waiting", limit)
    return count
