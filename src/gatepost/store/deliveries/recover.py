"""Recoveries: events of a time range that an endpoint is to get after all.

requested ─► a row: range and filter ─► the channel's owner, chunk by chunk ─► ended
                                            │ one commit: deliveries that are due now, and the position
                                            └ not while thousands are due already, or the endpoint is disabled

The end of the range is fixed under the lock of the channel's head, so that no event is missed. A committed chunk is
never read again, whichever process continues: so each event is delivered once.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.delivery import MISSING, NOT_ARRIVED, PENDING
from gatepost.model.endpoint import DISABLED
from gatepost.model.errors import Conflict
from gatepost.store.channel_head import Lease, lock_head, owner_transaction
from gatepost.store.deliveries.queue import retry_by_key
from gatepost.store.deliveries.record import RetryRow
from gatepost.store.deliveries.retry import RequestedRetry, is_infinite, order_key_of, probe_now, requeue, schedule_work
from gatepost.store.idempotency import IdempotentRequest
from gatepost.store.pool import Connection, Database
from gatepost.store.statement import statement

CHUNK = 500  # events per commit
WAITING_MAX = 2_000  # due deliveries of the endpoint beyond which no chunk is added
RecoveryStep = Literal["more", "held", "off", "done"]


class RecoveryRow(msgspec.Struct, frozen=True):
    """A recovery and its position."""

    id: UUID
    endpoint_id: UUID
    first_id: UUID
    end_id: UUID
    types: tuple[str, ...] | None
    states: tuple[int, ...] | None
    position: UUID
    recovered: int
    created_at: datetime
    ended_at: datetime | None


class RecoveryFilter(msgspec.Struct, frozen=True):
    """Which events of an endpoint; None: all of its event types, and all that were not delivered."""

    first_id: UUID
    end_id: UUID
    types: tuple[str, ...] | None
    states: tuple[int, ...] | None


_COLUMNS = ", ".join(f"r.{name}" for name in RecoveryRow.__struct_fields__)


async def add_recovery(
    db: Database,
    channel_id: UUID,
    endpoint_id: UUID,
    filter_: RecoveryFilter,
    once: IdempotentRequest[RecoveryRow],
    now: datetime,
) -> RecoveryRow:
    """Add a recovery, up to the newest event of the channel."""
    async with db.transaction(wakes=channel_id) as conn:
        head = await lock_head(conn, channel_id)
        await once.check(conn, now)
        await _check_free(conn, channel_id, endpoint_id)
        end = min(filter_.end_id, UUID(int=head.last_event_id.int + 1))
        made = await _insert(conn, channel_id, endpoint_id, msgspec.structs.replace(filter_, end_id=end), now)
        await probe_now(conn, channel_id, [endpoint_id], now)
        await schedule_work(conn, channel_id, now)
        await once.keep(conn, made, now)
    return made


async def _check_free(conn: "Connection[Any]", channel_id: UUID, endpoint_id: UUID) -> None:
    """Allow one at a time: two over the same events would wait for each other's deliveries."""
    open_id = await conn.fetchval(
        "SELECT id FROM recoveries WHERE channel_id = $1 AND endpoint_id = $2 AND ended_at IS NULL LIMIT 1",
        channel_id,
        endpoint_id,
    )
    if open_id is not None:
        raise Conflict(
            f"The recovery {ids.format_id('rec', open_id)} of this webhook is running. Wait until it is done."
        )


async def _insert(
    conn: "Connection[Any]", channel_id: UUID, endpoint_id: UUID, filter_: RecoveryFilter, now: datetime
) -> RecoveryRow:
    row = await conn.fetchrow(
        f"""INSERT INTO recoveries AS r (channel_id, id, endpoint_id, first_id, end_id, types, states, position,
                                         created_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING {_COLUMNS}""",
        channel_id,
        ids.new_id(now),
        endpoint_id,
        filter_.first_id,
        filter_.end_id,
        filter_.types,
        filter_.states,
        UUID(int=max(0, filter_.first_id.int - 1)),
        now,
    )
    return _recovery(row)


async def get_recovery(db: Database, channel_id: UUID, endpoint_id: UUID, recovery_id: UUID) -> RecoveryRow | None:
    """Return a recovery of an endpoint."""
    row = await db.fetchrow(
        f"SELECT {_COLUMNS} FROM recoveries r WHERE channel_id = $1 AND id = $2 AND endpoint_id = $3",
        channel_id,
        recovery_id,
        endpoint_id,
    )
    return _recovery(row) if row else None


async def list_recoveries(
    db: Database, channel_id: UUID, endpoint_id: UUID, before: UUID | None, limit: int
) -> list[RecoveryRow]:
    """Return the recoveries of an endpoint, newest first."""
    rows = await db.fetch(
        f"""SELECT {_COLUMNS} FROM recoveries r
            WHERE channel_id = $1 AND endpoint_id = $2 AND ($3::uuid IS NULL OR id < $3)
            ORDER BY id DESC LIMIT $4""",
        channel_id,
        endpoint_id,
        before,
        limit,
    )
    return [_recovery(row) for row in rows]


async def open_recoveries(db: Database, channel_ids: Sequence[UUID]) -> dict[UUID, list[UUID]]:
    """Return the recoveries of channels that are not done: at most one for each endpoint."""
    rows = await db.fetch(
        """SELECT channel_id, id FROM recoveries WHERE channel_id = ANY ($1::uuid[]) AND ended_at IS NULL
           ORDER BY channel_id, endpoint_id, id""",
        list(channel_ids),
    )
    found: dict[UUID, list[UUID]] = {}
    for row in rows:
        found.setdefault(row["channel_id"], []).append(row["id"])
    return found


async def recover_next(
    db: Database, lease: Lease, recovery_id: UUID, now: datetime, *, chunk: int = CHUNK, waiting_max: int = WAITING_MAX
) -> RecoveryStep:
    """Read the next events of a recovery and make the deliveries of those that match due, in one commit."""
    async with owner_transaction(db, lease) as conn:
        row = await conn.fetchrow(
            f"""SELECT {_COLUMNS}, p.state, p.events, p.ordered FROM recoveries r
                LEFT JOIN endpoints p ON p.channel_id = $1 AND p.id = r.endpoint_id
                WHERE r.channel_id = $1 AND r.id = $2 AND r.ended_at IS NULL FOR UPDATE OF r""",
            lease.channel_id,
            recovery_id,
        )
        if row is None:
            return "done"
        recovery = _recovery(row)
        if row["state"] is None:  # the endpoint was deleted
            await _advance(conn, lease.channel_id, recovery, recovery.position, 0, now)
            return "done"
        if row["state"] == DISABLED:
            return "off"
        if await _has_backlog(conn, lease.channel_id, recovery.endpoint_id, waiting_max, now):
            return "held"
        events = await _events(conn, lease.channel_id, recovery, chunk)
        retries = _matching(recovery, events, row["events"], ordered=row["ordered"], now=now)
        recovered = await requeue(conn, lease.channel_id, retries, now)
        ended = None if len(events) == chunk else now
        position = events[-1]["id"] if events else recovery.position
        await _advance(conn, lease.channel_id, recovery, position, recovered, ended)
    db.notify(lease.channel_id, sending=False)
    return "more" if ended is None else "done"


async def _has_backlog(conn: "Connection[Any]", channel_id: UUID, endpoint_id: UUID, limit: int, now: datetime) -> bool:
    """Return whether at least `limit` deliveries of an endpoint are due; those due later do not count."""
    row = await conn.fetchrow(
        """SELECT 1 FROM delivery_retries WHERE channel_id = $1 AND endpoint_id = $2 AND next_at <= $4
           ORDER BY next_at OFFSET $3 LIMIT 1""",
        channel_id,
        endpoint_id,
        limit - 1,
        now,
    )
    return row is not None


_EVENTS = f"""SELECT e.id, e.type, e.conversation_id, d.state, r.next_at AS due_at FROM (
       SELECT id, type, conversation_id FROM events
       WHERE channel_id = :channel_id AND id > :position AND id < :end_id ORDER BY id LIMIT :limit) e
   LEFT JOIN LATERAL (SELECT state FROM deliveries
       WHERE channel_id = :channel_id AND endpoint_id = :endpoint_id AND event_id = e.id LIMIT 1) d ON true
   LEFT JOIN LATERAL ({retry_by_key(":endpoint_id", "e.id")}) r ON true
   ORDER BY e.id"""


async def _events(conn: "Connection[Any]", channel_id: UUID, recovery: RecoveryRow, limit: int) -> list[Any]:
    """Return the next events, each with the state of its delivery."""
    return await conn.fetch(
        *statement(
            _EVENTS,
            channel_id=channel_id,
            position=recovery.position,
            end_id=recovery.end_id,
            endpoint_id=recovery.endpoint_id,
            limit=limit,
        )
    )


def _matching(
    recovery: RecoveryRow, events: Sequence[Any], enabled: Sequence[str], *, ordered: bool, now: datetime
) -> list[RequestedRetry]:
    """Return the retries of events that match, due in the order of the events."""
    types = set(enabled) if recovery.types is None else set(enabled) & set(recovery.types)
    states = NOT_ARRIVED if recovery.states is None else recovery.states
    matching = [
        event
        for event in events
        if event["type"] in types
        and (MISSING if event["state"] is None else event["state"]) in states
        and (event["state"] != PENDING or _waits(event["due_at"], now))
    ]
    start = now - timedelta(microseconds=len(matching))
    return [
        RequestedRetry(
            RetryRow(
                recovery.endpoint_id,
                event["id"],
                order_key_of(event["conversation_id"], ordered=ordered),
                start + timedelta(microseconds=i),
            ),
            event["state"],
        )
        for i, event in enumerate(matching)
    ]


def _waits(due_at: datetime | None, now: datetime) -> bool:
    """Return whether a pending delivery is due later: any other is due, or waits for one that is."""
    return due_at is not None and not is_infinite(due_at) and due_at > now


async def _advance(
    conn: "Connection[Any]", channel_id: UUID, recovery: RecoveryRow, position: UUID, more: int, ended: datetime | None
) -> None:
    await conn.execute(
        """UPDATE recoveries SET position = $3, recovered = recovered + $4, ended_at = $5
           WHERE channel_id = $1 AND id = $2""",
        channel_id,
        recovery.id,
        position,
        more,
        ended,
    )


async def delete_old_recoveries(db: Database, now: datetime, days: int) -> None:
    """Delete recoveries that ended long ago, like the events they were about."""
    await db.execute("DELETE FROM recoveries WHERE ended_at < $1", now - timedelta(days=days))


def _recovery(row: Any) -> RecoveryRow:
    fields = {name: row[name] for name in RecoveryRow.__struct_fields__}
    for name in ("types", "states"):
        fields[name] = None if fields[name] is None else tuple(fields[name])
    return RecoveryRow(**fields)
