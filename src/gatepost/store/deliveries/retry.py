"""Deliveries that are asked for again: by people, one or some at a time, and by a recovery, a piece at a time.

settled, or waiting for its time ─► pending, its schedule begins anew ─► a row in delivery_retries, due now ─► the owner
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
from gatepost.store.channel_head import Lease, hold_epoch
from gatepost.store.deliveries.queue import FIRST_IN_ORDER, RETRY_BY_KEY
from gatepost.store.pool import Connection, Database, keys_and_span

Key = tuple[UUID, UUID]  # endpoint and event
ATTEMPTS_MAX = 32_000  # the database counts them in a small integer: nobody may ask beyond it


class RetryCandidate(msgspec.Struct, frozen=True):
    """A delivery as it stands when somebody asks for it again."""

    endpoint_id: UUID
    event_id: UUID
    state: int
    attempts: int
    conversation_id: UUID | None
    endpoint_state: str | None  # None: the endpoint was deleted
    reason: str | None
    ordered: bool | None
    cursor: UUID | None
    due_at: datetime | None  # in delivery_retries; infinity: it waits behind another one

    @property
    def key(self) -> Key:
        return self.endpoint_id, self.event_id

    @property
    def behind(self) -> bool:
        """Whether it waits for an earlier event of its conversation."""
        return self.state == PENDING and self.due_at is not None and is_infinite(self.due_at)

    @property
    def ahead(self) -> bool:
        """Whether its first attempt is yet to come by itself: it is due already."""
        never = self.state == PENDING and self.attempts == 0 and self.due_at is None
        return never and self.cursor is not None and self.event_id > self.cursor


class RequestedRetry(msgspec.Struct, frozen=True):
    """A delivery to be made again; one that does not exist yet has no state."""

    endpoint_id: UUID
    event_id: UUID
    state: int | None
    line: UUID | None  # of an ordered endpoint: whose events keep their order
    due_at: datetime


def order_key_of(conversation_id: UUID | None, *, ordered: bool) -> UUID | None:
    """Which events an event keeps its order with; None where nobody asked for order."""
    return (conversation_id or ids.ZERO) if ordered else None


def is_infinite(at: datetime) -> bool:
    """Whether a time is infinity, as the driver shows it."""
    return at.year == 9999


async def retry_deliveries(
    db: Database,
    channel_id: UUID,
    keys: Sequence[Key],
    judge: Callable[[RetryCandidate | None], GatepostError | None],
    now: datetime,
) -> dict[Key, GatepostError | None]:
    """Makes deliveries due now, but for those that `judge` refuses; returns what became of each."""
    async with db.transaction(wakes=channel_id) as conn:
        await schedule_work(conn, channel_id, now)
        found = {one.key: one for one in await _read(conn, channel_id, sorted(set(keys)))}
        verdicts = {key: judge(found.get(key)) for key in keys}
        granted = [one for key, one in sorted(found.items()) if verdicts[key] is None]
        again = [
            RequestedRetry(*one.key, one.state, order_key_of(one.conversation_id, ordered=bool(one.ordered)), now)
            for one in granted
            if not one.behind and not one.ahead
        ]
        await requeue(conn, channel_id, again, now)
        await _make_first_due(conn, channel_id, [one for one in granted if one.behind], now)
        await probe_now(conn, channel_id, {one.endpoint_id for one in granted if one.endpoint_state == PAUSED}, now)
    return verdicts


async def schedule_work(conn: "Connection[Any]", channel_id: UUID, now: datetime) -> None:
    """There is work for an owner. It comes first: whoever changes more of the channel's things holds its head."""
    await conn.execute("UPDATE channel_heads SET work_at = $2 WHERE channel_id = $1", channel_id, now)


async def _read(conn: "Connection[Any]", channel_id: UUID, keys: Sequence[Key]) -> list[RetryCandidate]:
    events, first, last = keys_and_span([event_id for _, event_id in keys])
    rows = await conn.fetch(
        f"""SELECT k.endpoint_id, k.event_id, d.state, d.attempts, e.conversation_id, p.state AS endpoint_state,
                   p.reason, p.ordered, p.cursor, r.next_at AS due_at
           FROM unnest($2::uuid[], $3::uuid[]) AS k (endpoint_id, event_id)
           CROSS JOIN LATERAL (SELECT state, attempts FROM deliveries
               WHERE channel_id = $1 AND endpoint_id = k.endpoint_id AND event_id = k.event_id
                 AND event_id BETWEEN $4 AND $5 LIMIT 1) d
           CROSS JOIN LATERAL (SELECT conversation_id FROM events
               WHERE channel_id = $1 AND id = k.event_id AND id BETWEEN $4 AND $5 LIMIT 1) e
           LEFT JOIN LATERAL (SELECT state, reason, ordered, cursor FROM endpoints
               WHERE channel_id = $1 AND id = k.endpoint_id LIMIT 1) p ON true
           LEFT JOIN LATERAL ({RETRY_BY_KEY.format(endpoint="k.endpoint_id", event="k.event_id")}) r
               ON (r.channel_id, r.endpoint_id, r.event_id) = ($1, k.endpoint_id, k.event_id)""",
        channel_id,
        [endpoint_id for endpoint_id, _ in keys],
        events,
        first,
        last,
    )
    return [RetryCandidate(**dict(row.items())) for row in rows]


async def requeue(conn: "Connection[Any]", channel_id: UUID, wanted: Sequence[RequestedRetry], now: datetime) -> int:
    """Writes deliveries as pending and due, if they still stand as they were seen; returns how many."""
    if not wanted:
        return 0
    changed = await _reset(conn, channel_id, [one for one in wanted if one.state is not None], now)
    changed |= await _insert_missing(conn, channel_id, [one for one in wanted if one.state is None], now)
    due = [one for one in wanted if (one.endpoint_id, one.event_id) in changed]
    await conn.execute(
        """INSERT INTO delivery_retries (channel_id, endpoint_id, event_id, next_at, conversation_id)
           SELECT $1, * FROM unnest($2::uuid[], $3::uuid[], $4::timestamptz[], $5::uuid[])
           ON CONFLICT (channel_id, endpoint_id, event_id)
           DO UPDATE SET next_at = excluded.next_at, conversation_id = excluded.conversation_id""",
        channel_id,
        [one.endpoint_id for one in due],
        [one.event_id for one in due],
        [one.due_at for one in due],
        [one.line for one in due],
    )
    return len(due)


async def _reset(
    conn: "Connection[Any]", channel_id: UUID, wanted: Sequence[RequestedRetry], now: datetime
) -> set[Key]:
    if not wanted:
        return set()
    events, first, last = keys_and_span([one.event_id for one in wanted])
    rows = await conn.fetch(
        """UPDATE deliveries d SET state = 0, begun = d.attempts, next_at = $5, settled_at = NULL
           FROM unnest($2::uuid[], $3::uuid[], $4::smallint[]) AS k (endpoint_id, event_id, state)
           WHERE d.channel_id = $1 AND d.endpoint_id = k.endpoint_id AND d.event_id = k.event_id
             AND d.event_id = ANY ($3) AND d.event_id BETWEEN $6 AND $7 AND d.state = k.state AND d.attempts < $8
           RETURNING d.endpoint_id, d.event_id""",
        channel_id,
        [one.endpoint_id for one in wanted],
        events,
        [one.state for one in wanted],
        now,
        first,
        last,
        ATTEMPTS_MAX,
    )
    return {(row["endpoint_id"], row["event_id"]) for row in rows}


async def _insert_missing(
    conn: "Connection[Any]", channel_id: UUID, wanted: Sequence[RequestedRetry], now: datetime
) -> set[Key]:
    if not wanted:
        return set()
    rows = await conn.fetch(
        """INSERT INTO deliveries (channel_id, endpoint_id, event_id, next_at)
           SELECT $1, k.endpoint_id, k.event_id, $4 FROM unnest($2::uuid[], $3::uuid[]) AS k (endpoint_id, event_id)
           ON CONFLICT DO NOTHING RETURNING endpoint_id, event_id""",
        channel_id,
        [one.endpoint_id for one in wanted],
        [one.event_id for one in wanted],
        now,
    )
    return {(row["endpoint_id"], row["event_id"]) for row in rows}


async def make_retries_due(db: Database, lease: Lease, endpoint_id: UUID, now: datetime, most: int) -> int:
    """Makes retries of an endpoint due that have a time ahead, the furthest first, `most` at once; returns how many.

    They are due since their events happened, so that the oldest go first; the try does not count in the schedule.
    """
    async with db.transaction() as conn:
        await hold_epoch(conn, lease.channel_id, lease.epoch)
        rows = await conn.fetch(
            """SELECT event_id FROM delivery_retries WHERE channel_id = $1 AND endpoint_id = $2
                 AND next_at > $3 AND next_at < 'infinity' ORDER BY next_at DESC LIMIT $4""",
            lease.channel_id,
            endpoint_id,
            now,
            most,
        )
        if rows:
            events, first, last = keys_and_span(sorted(row["event_id"] for row in rows))
            await conn.execute(
                """UPDATE deliveries SET begun = begun + 1, next_at = $7
                   WHERE channel_id = $1 AND endpoint_id = $2 AND event_id = ANY ($3::uuid[])
                     AND event_id BETWEEN $4 AND $5 AND state = 0 AND begun < attempts AND attempts < $6""",
                lease.channel_id,
                endpoint_id,
                events,
                first,
                last,
                ATTEMPTS_MAX,
                now,
            )
            await conn.execute(
                f"""UPDATE delivery_retries r SET next_at = k.at
                    FROM unnest($3::uuid[], $4::timestamptz[]) AS k (event_id, at),
                         LATERAL ({RETRY_BY_KEY.format(endpoint="$2", event="k.event_id")}) f
                    WHERE r.ctid = f.place AND r.channel_id = $1
                      AND (f.channel_id, f.endpoint_id, f.event_id) = ($1, $2, k.event_id)
                      AND f.next_at < 'infinity'""",
                lease.channel_id,
                endpoint_id,
                events,
                [min(now, ids.time_of(id_)) for id_ in events],
            )
    return len(rows)


async def _make_first_due(
    conn: "Connection[Any]", channel_id: UUID, behind: Sequence[RetryCandidate], now: datetime
) -> None:
    """What waits behind another event keeps its place: the one at the head of its line is tried now."""
    lines = sorted({(one.endpoint_id, one.conversation_id or ids.ZERO) for one in behind})
    if not lines:
        return
    await conn.execute(
        f"""UPDATE delivery_retries r SET next_at = $4
           FROM unnest($2::uuid[], $3::uuid[]) AS k (endpoint_id, conversation_id),
                LATERAL ({FIRST_IN_ORDER.format(endpoint="k.endpoint_id", conversation="k.conversation_id")}) first
           WHERE r.ctid = first.place AND r.channel_id = $1
             AND (first.channel_id, first.endpoint_id, first.conversation_id) = ($1, k.endpoint_id, k.conversation_id)
             AND first.next_at > $4""",
        channel_id,
        [endpoint_id for endpoint_id, _ in lines],
        [conversation_id for _, conversation_id in lines],
        now,
    )


async def probe_now(conn: "Connection[Any]", channel_id: UUID, endpoint_ids: Collection[UUID], now: datetime) -> None:
    """Paused endpoints are tried at once: somebody says that they work again."""
    if endpoint_ids:
        await conn.execute(
            "UPDATE endpoints SET probe_at = $3 WHERE channel_id = $1 AND id = ANY ($2::uuid[]) AND state = 'paused'",
            channel_id,
            sorted(endpoint_ids),
            now,
        )
