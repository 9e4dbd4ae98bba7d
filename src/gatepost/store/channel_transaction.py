"""A change that people make to a channel's things: one commit that holds the change and the events that tell of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model.event import ChannelRef
from gatepost.store.channel_head import NOTHING, EventBuffer, WriteClause, append_events, lock_head
from gatepost.store.pool import Connection, Database


class ChannelTransaction(msgspec.Struct, frozen=True):
    """A transaction that holds the channel's head, and whoever notes its events."""

    conn: "Connection[Any]"
    event_buffer: EventBuffer
    channel_id: UUID
    now: datetime


@asynccontextmanager
async def channel_transaction(
    db: Database, channel: ChannelRef, channel_id: UUID, now: datetime
) -> AsyncIterator[ChannelTransaction]:
    """Makes its body the channel's only writer; what it told is written with it, and nothing where it told nothing."""
    async with db.transaction(wakes=channel_id) as conn:
        head = await lock_head(conn, channel_id)
        event_buffer = EventBuffer(head, now)
        yield ChannelTransaction(conn, event_buffer, channel_id, now)
        if event_buffer.told:
            await append_events(conn, head, channel, event_buffer.told, now, with_change=WriteClause(NOTHING, ()))
