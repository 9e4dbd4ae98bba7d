"""A change that people make to a channel's things: one commit that holds the change and the events that tell of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model.event import ChannelRef
from gatepost.store.heads import NOTHING, Clause, Scribe, append_events, lock_head
from gatepost.store.pool import Connection, Database


class Change(msgspec.Struct, frozen=True):
    """A transaction that holds the channel's head, and whoever notes its events."""

    conn: "Connection[Any]"
    scribe: Scribe
    channel_id: UUID
    now: datetime


@asynccontextmanager
async def changing(db: Database, channel: ChannelRef, channel_id: UUID, now: datetime) -> AsyncIterator[Change]:
    """Makes its body the channel's only writer; what it told is written with it, and nothing where it told nothing."""
    async with db.transaction() as conn:
        head = await lock_head(conn, channel_id)
        scribe = Scribe(head, now)
        yield Change(conn, scribe, channel_id, now)
        if scribe.told:
            await append_events(conn, head, channel, scribe.told, now, with_change=Clause(NOTHING, ()))
