"""Requested retries: of some deliveries by a user, and of many by a recovery.

settled, or waiting for its time ─► pending, its schedule starts over ─► delivery_retries, due now ─► the owner
"""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.delivery import PENDING
from gatepost.model.endpoint import PAUSED
from gatepost.model.errors import GatepostError
from gatepost.store.channel_head import Lease, owner_transaction
from gatepost.store.deliveries.queue import retry_by_key
from gatepost.store.deliveries.record import RetryRow, save_retries, schedule_first
from gatepost.store.pool import Connection, Database, delete_in_chunks, keys_and_range
from gatepost.store.statement import statement

Key = tuple[UUID, UUID]  # endpoint and event
ATTEMPTS_MAX = 32_000  # the column is a smallint


class RetryCandidate(msgspec.Struct, frozen=True):
    """A delivery for which a retry is requested."""

    endpoint_id: UUID
    event_id: UUID
    state: int
    attempts: int
    conversation_id: UUID | None
    endpoint_state: str | None  # None: the endpoint was deleted
    reason: str | None
    ordered: bool | None
    cursor: UUID | None
    due_at: datetime | None  # in delivery_retries; infinity: it waits for an earlier one

    @property
    def key(self) -> Key:
        return self.endpoint_id, self.event_id

    @property
    def waits(self) -> bool:
        """Whether it waits for an earlier event of its conversation."""
        return self.state == PENDING and self.due_at is not None and is_infinite(self.due_at)

    @property
    def is_queued(self) -> bool:
        """Whether its first attempt is still to come: it is due already."""
        never = self.state == PENDING and self.attempts == 0 and self.due_at is None
        return never and self.cursor is not None and self.event_id > self.cursor


class RequestedRetry(msgspec.Struct, frozen=True):
    """A delivery to be made due; one that does not exist yet has no state."""

    row: RetryRow
    state: int | None

    @property
    def key(self) -> Key:
        return self.row.endpoint_id, self.row.event_id


def order_key_of(conversation_id: UUID | None, *, ordered: bool) -> UUID | None:
    """Return the key within which an ordered endpoint keeps the order of events; None if it is not ordered."""
    return (conversation_id or ids.ZERO) if ordered else None


def is_infinite(at: datetime) -> bool:
    """Return whether a time is infinity, as the driver represents it."""
    return at.year == 9999


async def retry_deliveries(
    db: Database,
    channel_id: UUID,
    keys: Sequence[Key],
    check: Callable[[RetryCandidate | None], GatepostError | None],
    now: datetime,
) -> dict[Key, GatepostError | None]:
    """Make deliveries due now, except those that `check` rejects; return the error of each, or None."""
    async with db.transaction(wakes=channel_id) as conn:
        await schedule_work(conn, channel_id, now)
        found = {one.key: one for one in await _read(conn, channel_id, sorted(set(keys)))}
        errors = {key: check(found.get(key)) for key in keys}
        accepted = [one for key, one in sorted(found.items()) if errors[key] is None]
        retries = [
            RequestedRetry(
                RetryRow(*one.key, order_key_of(one.conversation_id, ordered=bool(one.ordered)), now), one.state
            )
            for one in accepted
            if not one.waits and not one.is_queued
        ]
        await requeue(conn, channel_id, retries, now)
        # A delivery that waits keeps its place: the first one of its conversation is due now.
        waiting = {(one.endpoint_id, one.conversation_id or ids.ZERO) for one in accepted if one.waits}
        await schedule_first(conn, channel_id, waiting, now, early=True)
        await probe_now(conn, channel_id, {one.endpoint_id for one in accepted if one.endpoint_state == PAUSED}, now)
    return errors


async def schedule_work(conn: "Connection[Any]", channel_id: UUID, now: datetime) -> None:
    """Note that a channel has work for an owner. Call it first: it locks the channel's head."""
    await conn.execute("UPDATE channel_heads SET work_at = $2 WHERE channel_id = $1", channel_id, now)


_CANDIDATES = f"""SELECT k.endpoint_id, k.event_id, d.state, d.attempts, e.conversation_id, p.state AS endpoint_state,
           p.reason, p.ordered, p.cursor, r.next_at AS due_at
   FROM unnest(:endpoints::uuid[], :events::uuid[]) AS k (endpoint_id, event_id)
   CROSS JOIN LATERAL (SELECT state, attempts FROM deliveries
       WHERE channel_id = :channel_id AND endpoint_id = k.endpoint_id AND event_id = k.event_id
         AND event_id BETWEEN :first AND :last LIMIT 1) d
   CROSS JOIN LATERAL (SELECT conversation_id FROM events
       WHERE channel_id = :channel_id AND id = k.event_id AND id BETWEEN :first AND :last LIMIT 1) e
   LEFT JOIN LATERAL (SELECT state, reason, ordered, cursor FROM endpoints
       WHERE channel_id = :channel_id AND id = k.endpoint_id LIMIT 1) p ON true
   LEFT JOIN LATERAL ({retry_by_key("k.endpoint_id", "k.event_id")}) r ON true"""


async def _read(conn: "Connection[Any]", channel_id: UUID, keys: Sequence[Key]) -> list[RetryCandidate]:
    events, first, last = keys_and_range([event_id for _, event_id in keys])
    rows = await conn.fetch(
        *statement(
            _CANDIDATES,
            channel_id=channel_id,
            endpoints=[endpoint_id for endpoint_id, _ in keys],
            events=events,
            first=first,
            last=last,
        )
    )
    return [RetryCandidate(**row) for row in rows]


async def requeue(conn: "Connection[Any]", channel_id: UUID, retries: Sequence[RequestedRetry], now: datetime) -> int:
    """Make deliveries pending and due if their state has not changed since it was read; return how many."""
    changed = await _reset(conn, channel_id, [one for one in retries if one.state is not None], now)
    changed |= await _insert_missing(conn, channel_id, [one for one in retries if one.state is None], now)
    due = [one.row for one in retries if one.key in changed]
    await save_retries(conn, channel_id, due)
    return len(due)


async def _reset(
    conn: "Connection[Any]", channel_id: UUID, retries: Sequence[RequestedRetry], now: datetime
) -> set[Key]:
    if not retries:
        return set()
    events, first, last = keys_and_range([one.row.event_id for one in retries])
    rows = await conn.fetch(
        *statement(
            """UPDATE deliveries d SET state = 0, begun = d.attempts, next_at = :now, settled_at = NULL
               FROM unnest(:endpoints::uuid[], :events::uuid[], :states::smallint[]) AS k (endpoint_id, event_id, state)
               WHERE d.channel_id = :channel_id AND d.endpoint_id = k.endpoint_id AND d.event_id = k.event_id
                 AND d.event_id = ANY (:events) AND d.event_id BETWEEN :first AND :last AND d.state = k.state
                 AND d.attempts < :attempts_max
               RETURNING d.endpoint_id, d.event_id""",
            channel_id=channel_id,
            endpoints=[one.row.endpoint_id for one in retries],
            events=events,
            states=[one.state for one in retries],
            now=now,
            first=first,
            last=last,
            attempts_max=ATTEMPTS_MAX,
        )
    )
    return {(row["endpoint_id"], row["event_id"]) for row in rows}


async def _insert_missing(
    conn: "Connection[Any]", channel_id: UUID, retries: Sequence[RequestedRetry], now: datetime
) -> set[Key]:
    if not retries:
        return set()
    rows = await conn.fetch(
        """INSERT INTO deliveries (channel_id, endpoint_id, event_id, next_at)
           SELECT $1, k.endpoint_id, k.event_id, $4 FROM unnest($2::uuid[], $3::uuid[]) AS k (endpoint_id, event_id)
           ON CONFLICT DO NOTHING RETURNING endpoint_id, event_id""",
        channel_id,
        [one.row.endpoint_id for one in retries],
        [one.row.event_id for one in retries],
        now,
    )
    return {(row["endpoint_id"], row["event_id"]) for row in rows}


_DELIVERIES_DUE = """UPDATE deliveries SET begun = begun + 1, next_at = :now
   WHERE channel_id = :channel_id AND endpoint_id = :endpoint_id AND event_id = ANY (:events::uuid[])
     AND event_id BETWEEN :first AND :last AND state = 0 AND begun < attempts AND attempts < :attempts_max"""
_RETRIES_DUE = f"""UPDATE delivery_retries r SET next_at = k.at
   FROM unnest(:events::uuid[], :times::timestamptz[]) AS k (event_id, at),
        LATERAL ({retry_by_key(":endpoint_id", "k.event_id")}) f
   WHERE r.ctid = f.place AND r.channel_id = :channel_id AND f.next_at < 'infinity'"""


async def make_retries_due(db: Database, lease: Lease, endpoint_id: UUID, now: datetime, *, limit: int) -> int:
    """Make retries of an endpoint due that are scheduled for later, the latest first; return how many.

    They are due since their events happened: the oldest start first. The attempt does not count in the schedule.
    """
    channel_id = lease.channel_id
    async with owner_transaction(db, lease) as conn:
        rows = await conn.fetch(
            """SELECT event_id FROM delivery_retries WHERE channel_id = $1 AND endpoint_id = $2
                 AND next_at > $3 AND next_at < 'infinity' ORDER BY next_at DESC LIMIT $4""",
            channel_id,
            endpoint_id,
            now,
            limit,
        )
        if rows:
            events, first, last = keys_and_range(sorted(row["event_id"] for row in rows))
            key = {"channel_id": channel_id, "endpoint_id": endpoint_id, "events": events}
            await conn.execute(
                *statement(_DELIVERIES_DUE, **key, now=now, first=first, last=last, attempts_max=ATTEMPTS_MAX)
            )
            times = [min(now, ids.time_of(id_)) for id_ in events]
            await conn.execute(*statement(_RETRIES_DUE, **key, times=times))
    return len(rows)


async def forget_lost_retries(db: Database, before: UUID) -> int:
    """Delete retries of events before this one, which are dropped already. Return how many.

    Those of ordered endpoints are left to their deliverer, which makes the next one due.
    """
    return await delete_in_chunks(
        db,
        """DELETE FROM delivery_retries WHERE ctid = ANY (ARRAY(
               SELECT lost.ctid FROM endpoints p, LATERAL (
                   SELECT ctid FROM delivery_retries WHERE channel_id = p.channel_id AND endpoint_id = p.id
                     AND event_id < $1 AND conversation_id IS NULL
                   ORDER BY event_id LIMIT $2) lost LIMIT $2)) RETURNING 1""",
        before,
    )


async def probe_now(conn: "Connection[Any]", channel_id: UUID, endpoint_ids: Collection[UUID], now: datetime) -> None:
    """Probe paused endpoints at once: the request suggests that they work again."""
    if endpoint_ids:
        await conn.execute(
            """UPDATE endpoints p SET probe_at = $3 FROM (
                   SELECT id FROM endpoints WHERE channel_id = $1 AND id = ANY ($2::uuid[]) AND state = 'paused'
                   ORDER BY id FOR NO KEY UPDATE) l
               WHERE p.channel_id = $1 AND p.id = l.id""",
            channel_id,
            sorted(endpoint_ids),
            now,
        )
