"""Records what came of deliveries: one commit for all that was collected on a channel.

first successes     ─► all in one statement, also of several channels
attempts            ─► the attempt log, and the state of each delivery
failed ones         ─► delivery_retries, with the time of the retry     ┐ then the first delivery of each conversation
deferred ones       ─► delivery_retries, without a time                 │ that this touches gets a time, so that no
settled ones        ─► out of delivery_retries                          ┘ conversation stops

All changes of a channel's delivery_retries go through one batch, one commit after the other: two concurrent commits
could each leave the first delivery of a conversation to the other.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeGuard
from uuid import UUID

import msgspec

from gatepost.model.delivery import DELIVERED, DeliveryState
from gatepost.store.channel_head import Lease, StaleOwner, fence_epoch, owner_transaction
from gatepost.store.deliveries.queue import first_of_conversation, retry_by_key
from gatepost.store.pool import Connection, Database
from gatepost.store.statement import SEPARATOR, columns_of, statement, statement_rows


class AttemptRecord(msgspec.Struct, frozen=True):
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
    next_at: datetime | None  # None while pending: it waits for another delivery of its conversation
    retried: bool = False  # it was in delivery_retries
    order_key: UUID | None = None  # of an ordered endpoint: its conversation
    batch_first: UUID | None = None  # of a batch: its first event
    batch: Sequence[UUID] | None = None  # at the first event of a batch: all of its events


class OrderedWait(msgspec.Struct, frozen=True):
    """A delivery that has to wait for earlier ones of its conversation."""

    endpoint_id: UUID
    event_id: UUID
    order_key: UUID


class OrphanedRetry(msgspec.Struct, frozen=True):
    """A row of delivery_retries whose delivery is settled, or whose event is deleted."""

    endpoint_id: UUID
    event_id: UUID


DeliveryRecord = AttemptRecord | OrderedWait | OrphanedRetry


async def record_attempts(db: Database, lease: Lease, records: Sequence[DeliveryRecord], now: datetime) -> None:
    """Write the attempt log, the state of each delivery, and the retries."""
    successes = _first_successes(records)
    if successes:
        if not await record_successes(db, {lease: successes}, now, wait=True):
            raise StaleOwner
        return
    await record_generally(db, lease, records, now)


async def record_together(
    db: Database, records: Mapping[Lease, Sequence[DeliveryRecord]], now: datetime
) -> Collection[Lease]:
    """Do the same for several channels in one commit. Return those that are written.

    The others have to be written alone: they contain more than first successes, their head is locked by another
    transaction, or their lease is lost.
    """
    successes = {lease: attempts for lease, some in records.items() if (attempts := _first_successes(some))}
    return await record_successes(db, successes, now, wait=False) if successes else ()


def _first_successes(records: Sequence[DeliveryRecord]) -> list[AttemptRecord]:
    """Return the records if all are first attempts that succeeded; otherwise nothing."""
    attempts = [record for record in records if is_first_success(record)]
    return attempts if len(attempts) == len(records) else []


def is_first_success(record: DeliveryRecord) -> TypeGuard[AttemptRecord]:
    """Return whether a record is that of the first attempt of a delivery, which succeeded."""
    if not isinstance(record, AttemptRecord):
        return False
    return record.state == DELIVERED and record.number == 1 and not record.retried and record.error is None


# Almost all attempts are first ones that succeeded: they add no retry and remove none, and the rows of their deliveries
# all change in the same way.
#
#     attempts of each endpoint ─► one row of parameters, its values joined to texts ─► the attempt log
#                                             └─► the events as an array ───────────► state of the deliveries
#
# The general statement (`_LOG_ATTEMPTS`) takes one array per column, and the driver checks and encodes each element. A
# joined text is one element, and PostgreSQL splits it again. The separator occurs in no value: ids, numbers, times and
# hexadecimal digits do not contain it, and JSON escapes it. What may contain anything, the URL, is a value of its own.
_SPLIT = "string_to_array({}, chr(30), '')"  # an empty value is null
_COLUMNS = ("events", "times", "latencies", "statuses", "requests", "answers", "bodies", "firsts", "batches")
_RECORD = f"""WITH held AS (
       SELECT channel_id, epoch FROM channel_heads WHERE channel_id = ANY (:channel_ids::uuid[])
       ORDER BY channel_id FOR KEY SHARE {{locked}}
   ), e AS MATERIALIZED (
       SELECT t.*, {_SPLIT.format("t.events")}::uuid[] AS event_ids
       FROM unnest(:channel_ids::uuid[], :epochs::bigint[], :endpoint_ids::uuid[], :urls::text[],
                   {", ".join(f":{name}::text[]" for name in _COLUMNS)})
         AS t (channel_id, epoch, endpoint_id, url, {", ".join(_COLUMNS)})
       JOIN held h ON h.channel_id = t.channel_id AND h.epoch = t.epoch
   ), logged AS (
       INSERT INTO delivery_attempts (channel_id, endpoint_id, event_id, number, at, latency_ms, status, url,
                                      request_headers, answer_headers, answer_body, batch_first, batch)
       SELECT e.channel_id, e.endpoint_id, a.event_id, 1, a.at::timestamptz, a.latency::real, a.status::smallint, e.url,
              a.request, a.answer, decode(a.body, 'hex'), a.batch_first::uuid, a.batch::uuid[]
       FROM e, unnest(e.event_ids, {", ".join(_SPLIT.format(f"e.{name}") for name in _COLUMNS[1:])})
         AS a (event_id, at, latency, status, request, answer, body, batch_first, batch)
       ON CONFLICT DO NOTHING
   ), updated AS (
       UPDATE deliveries d SET state = 1, attempts = 1, next_at = NULL, settled_at = :now::timestamptz FROM e
       WHERE d.channel_id = e.channel_id AND d.endpoint_id = e.endpoint_id AND d.event_id = ANY (e.event_ids)
         AND d.event_id BETWEEN :first AND :last AND d.state = 0
   )
   SELECT channel_id, epoch FROM held"""
_WAIT, _SKIP = _RECORD.format(locked=""), _RECORD.format(locked="SKIP LOCKED")


async def record_successes(
    db: Database, attempts: Mapping[Lease, Sequence[AttemptRecord]], now: datetime, *, wait: bool
) -> set[Lease]:
    """Write first attempts that succeeded, and return the leases that hold: those of the others are not written.

    With `wait`, wait for heads that are locked by others, which is safe for one channel only. Otherwise leave them out.
    """
    rows = [
        row
        for lease in sorted(attempts, key=lambda lease: lease.channel_id)
        for row in _endpoint_rows(lease, attempts[lease])
    ]
    channel_ids, epochs, endpoint_ids, urls, *columns = (list(column) for column in zip(*rows, strict=True))
    events = [attempt.event_id for some in attempts.values() for attempt in some]
    held = await db.fetch(
        *statement(
            _WAIT if wait else _SKIP,
            channel_ids=channel_ids,
            epochs=epochs,
            endpoint_ids=endpoint_ids,
            urls=urls,
            first=min(events),
            last=max(events),
            now=now,
            **dict(zip(_COLUMNS, columns, strict=True)),
        )
    )
    current = {(row["channel_id"], row["epoch"]) for row in held}
    return {lease for lease in attempts if (lease.channel_id, lease.epoch) in current}


def _endpoint_rows(lease: Lease, attempts: Sequence[AttemptRecord]) -> list[tuple[object, ...]]:
    """Return the parameters of each endpoint, in the order in which their rows are locked."""
    endpoints: dict[tuple[UUID, str], list[AttemptRecord]] = {}
    for attempt in attempts:
        endpoints.setdefault((attempt.endpoint_id, attempt.url), []).append(attempt)
    return [
        (lease.channel_id, lease.epoch, *key, *_joined(sorted(endpoints[key], key=lambda one: one.event_id)))
        for key in sorted(endpoints)
    ]


def _joined(attempts: Sequence[AttemptRecord]) -> list[str]:
    columns = (
        [attempt.event_id.hex for attempt in attempts],
        [attempt.at.isoformat() for attempt in attempts],
        [str(attempt.latency_ms) for attempt in attempts],
        [str(attempt.status) for attempt in attempts],
        [attempt.request_headers for attempt in attempts],
        [attempt.answer_headers or "" for attempt in attempts],
        [attempt.answer_body.hex() if attempt.answer_body else "" for attempt in attempts],
        [attempt.batch_first.hex if attempt.batch_first else "" for attempt in attempts],
        [f"{{{','.join(map(str, attempt.batch))}}}" if attempt.batch else "" for attempt in attempts],
    )
    return [SEPARATOR.join(column) for column in columns]


async def record_generally(db: Database, lease: Lease, records: Sequence[DeliveryRecord], now: datetime) -> None:
    """Do the same as `record_attempts`, whatever the records are."""
    records = sorted(records, key=lambda record: (record.endpoint_id, record.event_id))
    attempts = [record for record in records if isinstance(record, AttemptRecord)]
    if len(attempts) == len(records) and not any(a.state == DeliveryState.PENDING or a.retried for a in attempts):
        async with db.connection() as conn:
            await _log_attempts(conn, lease, attempts, now)
        return
    async with db.transaction() as conn:
        if attempts:
            await _log_attempts(conn, lease, attempts, now)
        else:
            await fence_epoch(conn, lease.channel_id, lease.epoch)
        repeated = [
            RetryRow(
                record.endpoint_id,
                record.event_id,
                record.order_key,
                None if isinstance(record, OrderedWait) else record.next_at,
            )
            for record in records
            if isinstance(record, OrderedWait)
            or (isinstance(record, AttemptRecord) and record.state == DeliveryState.PENDING)
        ]
        await save_retries(conn, lease.channel_id, repeated)
        changed = await _delete_retries(conn, lease.channel_id, records)
        changed |= {(record.endpoint_id, record.order_key) for record in records if isinstance(record, OrderedWait)}
        await schedule_first(conn, lease.channel_id, changed, now)


_ATTEMPT_COLUMNS = (
    *("endpoint_id", "event_id", "number", "at", "latency_ms", "status", "error", "url", "request_headers"),
    *("answer_headers", "answer_body", "state", "next_at", "batch_first"),
)
_LOG_ATTEMPTS = """WITH held AS (
       SELECT epoch FROM channel_heads WHERE channel_id = :channel_id AND epoch = :epoch FOR KEY SHARE
   ), a AS (
       SELECT * FROM unnest(:endpoint_id::uuid[], :event_id::uuid[], :number::smallint[], :at::timestamptz[],
                            :latency_ms::real[], :status::smallint[], :error::text[], :url::text[],
                            :request_headers::text[], :answer_headers::text[], :answer_body::bytea[],
                            :state::smallint[], :next_at::timestamptz[], :batch_first::uuid[], :batch::text[])
         AS t (endpoint_id, event_id, number, at, latency_ms, status, error, url, request_headers,
               answer_headers, answer_body, state, next_at, batch_first, batch)
   ), logged AS (
       INSERT INTO delivery_attempts (channel_id, endpoint_id, event_id, number, at, latency_ms, status, error, url,
                                      request_headers, answer_headers, answer_body, batch_first, batch)
       SELECT :channel_id, a.endpoint_id, a.event_id, a.number, a.at, a.latency_ms, a.status, a.error, a.url,
              a.request_headers, a.answer_headers, a.answer_body, a.batch_first, a.batch::uuid[] FROM a, held
       ON CONFLICT DO NOTHING
   ), updated AS (
       UPDATE deliveries d SET state = a.state, attempts = a.number, next_at = a.next_at,
              settled_at = CASE WHEN a.state = 0 THEN NULL ELSE :now::timestamptz END
       FROM a, held
       WHERE d.channel_id = :channel_id AND d.endpoint_id = a.endpoint_id AND d.event_id = a.event_id
         AND d.event_id = ANY (:event_id) AND d.event_id BETWEEN :first AND :last AND d.state = 0
   )
   SELECT epoch FROM held"""


async def _log_attempts(
    conn: "Connection[Any]", lease: Lease, attempts: Sequence[AttemptRecord], now: datetime
) -> None:
    """Write the attempt log and the states of the deliveries in one statement that also checks the owner's epoch."""
    held = await conn.fetchval(
        *statement(
            _LOG_ATTEMPTS,
            channel_id=lease.channel_id,
            epoch=lease.epoch,
            first=min(a.event_id for a in attempts),
            last=max(a.event_id for a in attempts),
            now=now,
            batch=[f"{{{','.join(map(str, a.batch))}}}" if a.batch else None for a in attempts],
            **columns_of(attempts, *_ATTEMPT_COLUMNS),
        )
    )
    if held is None:
        raise StaleOwner


class RetryRow(msgspec.Struct, frozen=True):
    """A row of delivery_retries; without a time it waits for earlier ones of its conversation."""

    endpoint_id: UUID
    event_id: UUID
    order_key: UUID | None
    next_at: datetime | None


async def save_retries(conn: "Connection[Any]", channel_id: UUID, retries: Sequence[RetryRow]) -> None:
    """Write deliveries to be retried. An endpoint that was deleted meanwhile gets none."""
    if retries:
        await conn.execute(
            *statement(
                """INSERT INTO delivery_retries (channel_id, endpoint_id, event_id, next_at, conversation_id)
                   SELECT :channel_id, a.endpoint_id, a.event_id, COALESCE(a.next_at, 'infinity'), a.order_key
                   FROM unnest(:endpoint_id::uuid[], :event_id::uuid[], :next_at::timestamptz[], :order_key::uuid[])
                     AS a (endpoint_id, event_id, next_at, order_key)
                   WHERE EXISTS (SELECT 1 FROM endpoints WHERE channel_id = :channel_id AND id = a.endpoint_id)
                   ON CONFLICT (channel_id, endpoint_id, event_id)
                   DO UPDATE SET next_at = excluded.next_at, conversation_id = excluded.conversation_id""",
                channel_id=channel_id,
                **columns_of(retries, "endpoint_id", "event_id", "next_at", "order_key"),
            )
        )


_DELETE_RETRY = f"""DELETE FROM delivery_retries WHERE ctid = (
       SELECT place FROM ({retry_by_key(":endpoint_id", ":event_id")} FOR UPDATE) f)
   RETURNING endpoint_id, conversation_id"""


async def _delete_retries(
    conn: "Connection[Any]", channel_id: UUID, records: Sequence[DeliveryRecord]
) -> set[tuple[UUID, UUID]]:
    """Delete retries that are settled or orphaned; return the endpoints and conversations they belonged to."""
    keys = [
        {"channel_id": channel_id, "endpoint_id": record.endpoint_id, "event_id": record.event_id}
        for record in records
        if isinstance(record, OrphanedRetry)
        or (isinstance(record, AttemptRecord) and record.retried and record.state != DeliveryState.PENDING)
    ]
    rows = await conn.fetchmany(*statement_rows(_DELETE_RETRY, keys)) if keys else []
    return {(row["endpoint_id"], row["conversation_id"]) for row in rows if row["conversation_id"] is not None}


_SCHEDULE_FIRST = f"""UPDATE delivery_retries r SET next_at = :now
   FROM unnest(:endpoints::uuid[], :conversations::uuid[]) AS k (endpoint_id, conversation_id),
        LATERAL ({first_of_conversation("k.endpoint_id", "k.conversation_id")}) first
   WHERE r.ctid = first.place AND r.channel_id = :channel_id AND first.next_at {{condition}}"""


async def schedule_first(
    conn: "Connection[Any]",
    channel_id: UUID,
    conversations: Collection[tuple[UUID, UUID]],
    now: datetime,
    *,
    early: bool = False,
) -> None:
    """Make the first delivery of each conversation due if it has no time yet, or, if `early`, whatever its time is."""
    if conversations:
        keys = sorted(conversations)
        await conn.execute(
            *statement(
                _SCHEDULE_FIRST.format(condition="> :now" if early else "= 'infinity'"),
                channel_id=channel_id,
                endpoints=[endpoint_id for endpoint_id, _ in keys],
                conversations=[conversation_id for _, conversation_id in keys],
                now=now,
            )
        )


async def release_ordered_waits(db: Database, lease: Lease, endpoint_id: UUID, now: datetime, *, limit: int) -> int:
    """Make deliveries due that wait for earlier ones, of an endpoint that is no longer ordered; return how many."""
    async with owner_transaction(db, lease) as conn:
        rows = await conn.fetch(
            """UPDATE delivery_retries SET next_at = $3, conversation_id = NULL
               WHERE ctid = ANY (ARRAY(SELECT ctid FROM delivery_retries WHERE channel_id = $1 AND endpoint_id = $2
                                         AND next_at = 'infinity' LIMIT $4)) RETURNING 1""",
            lease.channel_id,
            endpoint_id,
            now,
            limit,
        )
    return len(rows)
