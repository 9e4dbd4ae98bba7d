"""How a channel stands with its network: each change is an event, written with it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from gatepost.model import event as events
from gatepost.model.event import ChannelRef
from gatepost.store.channel_head import NOTHING, EventBuffer, WriteClause, append_events, lock_head
from gatepost.store.pool import Connection, Database


async def note_connection(
    conn: "Connection[Any]",
    channel_id: UUID,
    state: str,
    reason: str | None,
    event_buffer: EventBuffer,
    details: Mapping[str, Any] | None = None,
) -> bool:
    """Notes a state of the connection; what stood already is not told again, unless there are `details`."""
    previous = await conn.fetchrow("SELECT connection, reason FROM channels WHERE id = $1", channel_id)
    if previous is None or ((previous["connection"], previous["reason"]) == (state, reason) and not details):
        return False
    await conn.execute("UPDATE channels SET connection = $2, reason = $3 WHERE id = $1", channel_id, state, reason)
    data = events.connection_data(state, previous["connection"], reason, details)
    event_buffer.add(events.ACKNOWLEDGE, "connection", data)
    return True


async def tell_connection(
    db: Database,
    channel: ChannelRef,
    channel_id: UUID,
    state: str,
    reason: str | None,
    now: datetime,
    *,
    epoch: int | None = None,
    details: Mapping[str, Any] | None = None,
) -> bool:
    """The same in a commit of its own; with an epoch, only if that owner still owns the channel."""
    async with db.transaction(wakes=channel_id, sending=False) as conn:
        head = await lock_head(conn, channel_id, epoch)
        event_buffer = EventBuffer(head, now)
        changed = await note_connection(conn, channel_id, state, reason, event_buffer, details)
        if event_buffer.told:
            await append_events(conn, head, channel, event_buffer.told, now, with_change=WriteClause(NOTHING, ()))
    return changed
