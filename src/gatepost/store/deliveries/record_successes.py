"""Records first attempts that succeeded, of any number of channels and endpoints: one statement, one commit.

    attempts of each endpoint ─► one row of parameters, its values joined to texts ─► the attempt log
                                            └─► the events as an array ───────────► state of the deliveries

Almost all attempts are such: they add no retry and remove none, and the rows of their deliveries all change in the
same way. Every other attempt is recorded by `record.py`, whose general statement takes one array per column; the driver
checks and encodes each element of those. A joined text is one element, and PostgreSQL splits it again. The separator
occurs in no value: ids, numbers, times and hexadecimal digits do not contain it, and JSON escapes it. What may contain
anything, the URL, is a value of its own.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from gatepost.model.delivery import DELIVERED
from gatepost.store.channel_head import Lease
from gatepost.store.deliveries.attempt_record import AttemptRecord
from gatepost.store.pool import Database
from gatepost.store.statement import SEPARATOR, statement

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


def is_first_success(attempt: AttemptRecord) -> bool:
    """Return whether an attempt was the first of its delivery, and succeeded."""
    return attempt.state == DELIVERED and attempt.number == 1 and not attempt.retried and attempt.error is None


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
