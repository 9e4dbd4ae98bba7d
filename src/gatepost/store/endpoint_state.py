"""Changes of an endpoint's state and health by its deliverer, each in one commit with its events."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import event as events
from gatepost.model.endpoint import ACTIVE, HealthCounters
from gatepost.model.event import ChannelRef
from gatepost.store.channel_head import EventBuffer, Lease, append_events, lock_head
from gatepost.store.pool import Connection, Database
from gatepost.store.statement import statement


class EndpointNotice(msgspec.Struct, frozen=True):
    """A notice about an endpoint; `exhausted` deliveries were given up, the last one that of `event_id`."""

    action: str
    reason: str | None
    exhausted: int | None = None
    event_id: UUID | None = None


class EndpointStateChange(msgspec.Struct, frozen=True):
    """The state of an endpoint before and after a change, and its health."""

    previous: str
    state: str
    health: HealthCounters


async def save_state_change(
    db: Database,
    lease: Lease,
    channel: ChannelRef,
    endpoint_id: UUID,
    change: EndpointStateChange,
    notices: Sequence[EndpointNotice],
    now: datetime,
) -> bool:
    """Save a change with its events; False if the state is no longer the previous one."""
    async with db.transaction(wakes=lease.channel_id, sending=False) as conn:
        head = await lock_head(conn, lease.channel_id, lease.epoch)
        reason = notices[-1].reason if change.state != ACTIVE else None
        url = await _write(conn, lease.channel_id, endpoint_id, change, reason, now)
        if url is None:
            return False
        event_buffer = EventBuffer(head, now)
        for notice in notices:
            event_buffer.add(events.OPERATIONAL, notice.action, event_data(endpoint_id, url, change, notice))
        await append_events(conn, head, channel, event_buffer.events, now)
    return True


async def _write(
    conn: "Connection[Any]",
    channel_id: UUID,
    endpoint_id: UUID,
    change: EndpointStateChange,
    reason: str | None,
    now: datetime,
) -> str | None:
    """Update the row, its reason and `updated_at` only if the state changes; return its URL."""
    url: str | None = await conn.fetchval(
        *statement(
            """UPDATE endpoints SET state = :state, failing_since = :failing_since, failures = :failures,
                      notices = :notices, succeeded_at = :succeeded_at, probes = :probes, probe_at = :probe_at,
                      reason = CASE WHEN :previous = :state THEN reason ELSE :reason END,
                      updated_at = CASE WHEN :previous = :state THEN updated_at ELSE :now END
               WHERE channel_id = :channel_id AND id = :endpoint_id AND state = :previous RETURNING url""",
            channel_id=channel_id,
            endpoint_id=endpoint_id,
            previous=change.previous,
            state=change.state,
            reason=reason,
            now=now,
            **msgspec.structs.asdict(change.health),
        )
    )
    return url


def event_data(endpoint_id: UUID, url: str, change: EndpointStateChange, notice: EndpointNotice) -> dict[str, Any]:
    """Return the data of an event that reports a notice."""
    return events.endpoint_data(
        endpoint_id,
        url,
        change.state,
        previous=change.previous,
        reason=notice.reason,
        failing_since=change.health.failing_since,
        failures=change.health.failures,
        exhausted=notice.exhausted,
        event_id=notice.event_id,
    )


async def save_probe(db: Database, lease: Lease, endpoint_id: UUID, health: HealthCounters) -> None:
    """Save a failed probe and the time of the next one, if the endpoint is still paused."""
    await db.execute(
        """WITH held AS (SELECT 1 FROM channel_heads WHERE channel_id = $1 AND epoch = $2 FOR KEY SHARE)
           UPDATE endpoints SET failures = $4, failing_since = $5, probes = $6, probe_at = $7 FROM held
           WHERE channel_id = $1 AND id = $3 AND state = 'paused'""",
        lease.channel_id,
        lease.epoch,
        endpoint_id,
        health.failures,
        health.failing_since,
        health.probes,
        health.probe_at,
    )


async def clear_probe(db: Database, lease: Lease, endpoint_id: UUID, at: datetime | None) -> None:
    """Save that the waiting deliveries of a reactivated endpoint are due, unless it was reactivated again."""
    await db.execute(
        """WITH held AS (SELECT 1 FROM channel_heads WHERE channel_id = $1 AND epoch = $2 FOR KEY SHARE)
           UPDATE endpoints SET probe_at = NULL FROM held
           WHERE channel_id = $1 AND id = $3 AND state = 'active' AND probe_at = $4""",
        lease.channel_id,
        lease.epoch,
        endpoint_id,
        at,
    )
