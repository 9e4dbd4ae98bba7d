"""What every attempt came to, and who waits for what: one commit for all that gathered on a channel.

attempts            ─► the log, and each delivery's state
those that failed   ─► delivery_retries, with their time       ┐
those put in line   ─► delivery_retries, with no time          ├ and of each conversation that this touches, the first
those that settled  ─► out of delivery_retries                 ┘ in line gets a time: so a line never stands still

Attempts, and all else that moves a line, go through one batch per channel, one commit after the other: two that looked
at a line side by side could each leave it to the other.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.store.channel_head import Lease, StaleOwner, hold_epoch
from gatepost.store.deliveries.queue import FIRST_IN_ORDER, RETRY_BY_KEY, DeliveryState
from gatepost.store.pool import Connection, Database


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
    next_at: datetime | None  # none while it is pending: it stands behind another of its conversation
    retried: bool = False  # it stood in delivery_retries
    line: UUID | None = None  # of an ordered endpoint: its conversation
    batch_first: UUID | None = None  # of one POST with several: the first of them
    batch: Sequence[UUID] | None = None  # at the first: all of them


class OrderedWait(msgspec.Struct, frozen=True):
    """A delivery that has to wait until others of its conversation are done."""

    endpoint_id: UUID
    event_id: UUID
    line: UUID


class OrphanedRetry(msgspec.Struct, frozen=True):
    """A row of delivery_retries that leads nowhere."""

    endpoint_id: UUID
    event_id: UUID


DeliveryRecord = AttemptRecord | OrderedWait | OrphanedRetry


async def record_attempts(db: Database, lease: Lease, notes: Sequence[DeliveryRecord], now: datetime) -> None:
    """Writes the log, the state of each delivery, and when to try again."""
    notes = sorted(notes, key=lambda note: (note.endpoint_id, note.event_id))
    attempts = [note for note in notes if isinstance(note, AttemptRecord)]
    if len(attempts) == len(notes) and not any(a.state == DeliveryState.PENDING or a.retried for a in attempts):
        async with db.connection() as conn:
            await _log_attempts(conn, lease, attempts, now)
        return
    async with db.transaction() as conn:
        if attempts:
            await _log_attempts(conn, lease, attempts, now)
        else:
            await hold_epoch(conn, lease.channel_id, lease.epoch)
        await _put_in_line(conn, lease.channel_id, [note for note in notes if not isinstance(note, OrphanedRetry)])
        lines = await _take_out(conn, lease.channel_id, notes)
        lines |= {(note.endpoint_id, note.line) for note in notes if isinstance(note, OrderedWait)}
        if lines:
            await _move_up(conn, lease.channel_id, sorted(lines), now)


async def _log_attempts(
    conn: "Connection[Any]", lease: Lease, attempts: Sequence[AttemptRecord], now: datetime
) -> None:
    """One statement, held against a change of owner: the log's rows and the deliveries' states."""
    held = await conn.fetchval(
        """WITH held AS (
               SELECT epoch FROM channel_heads WHERE channel_id = $1 AND epoch = $2 FOR KEY SHARE
           ), a AS (
               SELECT * FROM unnest($5::uuid[], $6::uuid[], $7::smallint[], $8::timestamptz[], $9::real[],
                                    $10::smallint[], $11::text[], $12::text[], $13::text[], $14::text[], $15::bytea[],
                                    $16::smallint[], $17::timestamptz[], $19::uuid[], $20::text[])
                 AS t (endpoint_id, event_id, number, at, latency_ms, status, error, url, request_headers,
                       answer_headers, answer_body, state, next_at, batch_first, batch)
           ), logged AS (
               INSERT INTO delivery_attempts (channel_id, endpoint_id, event_id, number, at, latency_ms, status, error,
                                              url, request_headers, answer_headers, answer_body, batch_first, batch)
               SELECT $1, a.endpoint_id, a.event_id, a.number, a.at, a.latency_ms, a.status, a.error, a.url,
                      a.request_headers, a.answer_headers, a.answer_body, a.batch_first, a.batch::uuid[] FROM a, held
               ON CONFLICT DO NOTHING
           ), updated AS (
               UPDATE deliveries d SET state = a.state, attempts = a.number, next_at = a.next_at,
                      settled_at = CASE WHEN a.state = 0 THEN NULL ELSE $18::timestamptz END
               FROM a, held
               WHERE d.channel_id = $1 AND d.endpoint_id = a.endpoint_id AND d.event_id = a.event_id
                 AND d.event_id = ANY ($6) AND d.event_id BETWEEN $3 AND $4 AND d.state = 0
           )
           SELECT epoch FROM held""",
        lease.channel_id,
        lease.epoch,
        min(a.event_id for a in attempts),
        max(a.event_id for a in attempts),
        [a.endpoint_id for a in attempts],
        [a.event_id for a in attempts],
        [a.number for a in attempts],
        [a.at for a in attempts],
        [a.latency_ms for a in attempts],
        [a.status for a in attempts],
        [a.error for a in attempts],
        [a.url for a in attempts],
        [a.request_headers for a in attempts],
        [a.answer_headers for a in attempts],
        [a.answer_body for a in attempts],
        [a.state for a in attempts],
        [a.next_at for a in attempts],
        now,
        [a.batch_first for a in attempts],
        [f"{{{','.join(map(str, a.batch))}}}" if a.batch else None for a in attempts],
    )
    if held is None:
        raise StaleOwner


async def _put_in_line(conn: "Connection[Any]", channel_id: UUID, notes: Sequence[AttemptRecord | OrderedWait]) -> None:
    """Those that are to be tried again. An endpoint that was deleted meanwhile leaves none behind."""
    again = [note for note in notes if isinstance(note, OrderedWait) or note.state == DeliveryState.PENDING]
    if again:
        await conn.execute(
            """INSERT INTO delivery_retries (channel_id, endpoint_id, event_id, next_at, conversation_id)
               SELECT $1, a.endpoint_id, a.event_id, COALESCE(a.next_at, 'infinity'), a.conversation_id
               FROM unnest($2::uuid[], $3::uuid[], $4::timestamptz[], $5::uuid[])
                 AS a (endpoint_id, event_id, next_at, conversation_id)
               WHERE EXISTS (SELECT 1 FROM endpoints WHERE channel_id = $1 AND id = a.endpoint_id)
               ON CONFLICT (channel_id, endpoint_id, event_id)
               DO UPDATE SET next_at = excluded.next_at, conversation_id = excluded.conversation_id""",
            channel_id,
            [note.endpoint_id for note in again],
            [note.event_id for note in again],
            [None if isinstance(note, OrderedWait) else note.next_at for note in again],
            [note.line for note in again],
        )


async def _take_out(
    conn: "Connection[Any]", channel_id: UUID, notes: Sequence[DeliveryRecord]
) -> set[tuple[UUID, UUID]]:
    """Those that are done or lost; returns the lines that they stood in."""
    over = [
        note
        for note in notes
        if isinstance(note, OrphanedRetry)
        or (isinstance(note, AttemptRecord) and note.retried and note.state != DeliveryState.PENDING)
    ]
    if not over:
        return set()
    rows = await conn.fetchmany(
        f"""DELETE FROM delivery_retries WHERE ctid = (
               SELECT place FROM ({RETRY_BY_KEY.format(endpoint="$2", event="$3")} FOR UPDATE) f
               WHERE (f.channel_id, f.endpoint_id, f.event_id) = ($1, $2, $3))
           RETURNING endpoint_id, conversation_id""",
        [(channel_id, note.endpoint_id, note.event_id) for note in over],
    )
    return {(row["endpoint_id"], row["conversation_id"]) for row in rows if row["conversation_id"] is not None}


async def _move_up(
    conn: "Connection[Any]", channel_id: UUID, lines: Sequence[tuple[UUID, UUID]], now: datetime
) -> None:
    """Whoever stands first in a line and has no time yet is due now."""
    await conn.execute(
        f"""UPDATE delivery_retries r SET next_at = $4
           FROM unnest($2::uuid[], $3::uuid[]) AS l (endpoint_id, conversation_id),
                LATERAL ({FIRST_IN_ORDER.format(endpoint="l.endpoint_id", conversation="l.conversation_id")}) first
           WHERE r.ctid = first.place AND r.channel_id = $1
             AND (first.channel_id, first.endpoint_id, first.conversation_id) = ($1, l.endpoint_id, l.conversation_id)
             AND first.next_at = 'infinity'""",
        channel_id,
        [endpoint_id for endpoint_id, _ in lines],
        [line for _, line in lines],
        now,
    )


async def release_ordered_waits(db: Database, lease: Lease, endpoint_id: UUID, now: datetime, most: int) -> int:
    """An endpoint that wants no order any more: those who stood in line are due now, a piece at a time."""
    async with db.transaction() as conn:
        await hold_epoch(conn, lease.channel_id, lease.epoch)
        rows = await conn.fetch(
            """UPDATE delivery_retries SET next_at = $3, conversation_id = NULL
               WHERE ctid = ANY (ARRAY(SELECT ctid FROM delivery_retries WHERE channel_id = $1 AND endpoint_id = $2
                                         AND next_at = 'infinity' LIMIT $4)) RETURNING 1""",
            lease.channel_id,
            endpoint_id,
            now,
            most,
        )
    return len(rows)
