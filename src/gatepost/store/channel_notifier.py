"""Notifications between nodes: "these channels have news". They are hints; the sweep finds everything without them.

They are collected for a moment and sent outside of transactions, because NOTIFY inside one serializes commits.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from uuid import UUID

import asyncpg

from gatepost.background import attempt
from gatepost.model.errors import Unavailable, database_unavailable
from gatepost.store.pool import DRIVER_ERRORS, Database
from gatepost.store.presence import NOTIFICATION, Presence, read_presence

_CHANNEL = "gatepost_channels"
_GATHER = 0.02
_MAX = 200  # ids in one notification: its payload may have 8,000 bytes


class ChannelNotifier:
    """Notifies other nodes, and listens for their notifications."""

    def __init__(
        self,
        db: Database,
        dsn: str,
        on_channel: Callable[[UUID], None],
        on_presence: Callable[[Presence], None] = lambda _: None,
    ) -> None:
        self._db = db
        self._dsn = dsn
        self._on_channel = on_channel
        self._on_presence = on_presence
        self._gathered: set[UUID] = set()
        self._sending: asyncio.Task[None] | None = None

    def notify(self, channel_id: UUID) -> None:
        """Notify the other nodes soon."""
        self._gathered.add(channel_id)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send())

    async def _send(self) -> None:
        await asyncio.sleep(_GATHER)
        while self._gathered:
            some = [self._gathered.pop() for _ in range(min(_MAX, len(self._gathered)))]
            await attempt("notification", partial(notify_now, self._db, some))

    async def listen(self) -> None:
        """Listen until the connection is lost. This is the step of a loop, which repeats it."""
        try:
            conn = await asyncpg.connect(self._dsn, timeout=5)
            lost = asyncio.Event()
            try:
                conn.add_termination_listener(lambda _: lost.set())
                await conn.add_listener(_CHANNEL, self._read_channels)
                await conn.add_listener(NOTIFICATION, self._read_presence)
                await lost.wait()
            finally:
                conn.terminate()
        except (OSError, *DRIVER_ERRORS) as error:
            raise database_unavailable() from error
        raise Unavailable("The connection that notifications come over was lost.", "database_unavailable")

    def _read_channels(self, _conn: Any, _pid: int, _channel: str, payload: Any) -> None:
        for text in str(payload).split(","):
            with contextlib.suppress(ValueError):
                self._on_channel(UUID(hex=text))

    def _read_presence(self, _conn: Any, _pid: int, _channel: str, payload: Any) -> None:
        presence = read_presence(str(payload))
        if presence is not None:
            self._on_presence(presence)


async def notify_now(db: Database, channels: Sequence[UUID]) -> None:
    """Notify all nodes at once, from a program that is not a node."""
    await db.execute("SELECT pg_notify($1, $2)", _CHANNEL, ",".join(channel.hex for channel in channels))
