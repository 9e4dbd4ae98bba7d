"""Changes of an endpoint's state and health that its round makes, each in one commit with the event of it."""

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


class EndpointNotice(msgspec.Struct, frozen=True):
    """One thing to tell of an endpoint; `exhausted` deliveries were given up, the last that of `event_id`."""

    action: str
    reason: str | None
    exhausted: int | None = None
    event_id: UUID | None = None


class EndpointStateChange(msgspec.Struct, frozen=True):
    """An endpoint's state before and now, and how it fares."""

    previous: str
    state: str
    health: HealthCounters


async def save_state_change(
    db: Database,
    lease: Lease,
    channel: ChannelRef,
    endpoint_id: UUID,
    change: EndpointStateChange,
    told: Sequence[EndpointNotice],
    now: datetime,
) -> bool:
    """Writes how an endpoint stands, with the events of it; False when its state is not what it was any more."""
    async with db.transaction(wakes=lease.channel_id, sending=False) as conn:
        head = await lock_head(conn, lease.channel_id, lease.epoch)
        reason = told[-1].reason if change.state != ACTIVE else None
        url = await _write(conn, lease.channel_id, endpoint_id, change, reason, now)
        if url is None:
            return False
        event_buffer = EventBuffer(head, now)
        for one in told:
            event_buffer.add(events.OPERATIONAL, one.action, _data(endpoint_id, url, change, one))
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
    """The row, with its reason and time of change only where the state changes; gives its URL."""
    health = change.health
    url: str | None = await conn.fetchval(
        """UPDATE endpoints SET state = $4, failing_since = $5, failures = $6, notices = $7, succeeded_at = $8,
                  probes = $9, probe_at = $10,
                  reason = CASE WHEN $3 = $4 THEN reason ELSE $11 END,
                  updated_at = CASE WHEN $3 = $4 THEN updated_at ELSE $12 END
           WHERE channel_id = $1 AND id = $2 AND state = $3 RETURNING url""",
        channel_id,
        endpoint_id,
        change.previous,
        change.state,
        health.failing_since,
        health.failures,
        health.notices,
        health.succeeded_at,
        health.probes,
        health.probe_at,
        reason,
        now,
    )
    return url


def _data(endpoint_id: UUID, url: str, change: EndpointStateChange, told: EndpointNotice) -> dict[str, Any]:
    return events.endpoint_data(
        endpoint_id,
        url,
        change.state,
        previous=change.previous,
        reason=told.reason,
        failing_since=change.health.failing_since,
        failures=change.health.failures,
        exhausted=told.exhausted,
        event_id=told.event_id,
    )


async def save_probe(db: Database, lease: Lease, endpoint_id: UUID, health: HealthCounters) -> None:
    """Notes a failed probe and when the next one is due, as long as the endpoint is paused."""
    async with db.connection() as conn:
        await conn.execute(
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
    """Notes that what waits at an active endpoint was made due, unless somebody asked for that again since."""
    async with db.connection() as conn:
        await conn.execute(
            """WITH held AS (SELECT 1 FROM channel_heads WHERE channel_id = $1 AND epoch = $2 FOR KEY SHARE)
               UPDATE endpoints SET probe_at = NULL FROM held
               WHERE channel_id = $1 AND id = $3 AND state = 'active' AND probe_at = $4""",
            lease.channel_id,
            lease.epoch,
            endpoint_id,
            at,
        )
