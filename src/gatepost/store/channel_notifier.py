"""Notifications between nodes: "these channels have changed". They are hints; the sweep finds everything without them.
Also those about people, accounts and limits (`notifications.py`), which other modules send.

They are collected for a moment and sent outside of transactions, because NOTIFY inside one serializes commits.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol
from uuid import UUID

import asyncpg

from gatepost.background import attempt
from gatepost.model.errors import Unavailable, database_unavailable
from gatepost.store import notifications
from gatepost.store.notifications import AccountChange, LimitCounts, Presence, TextPiece, read_notice
from gatepost.store.pool import DRIVER_ERRORS, Database

_CHANNEL = "gatepost_channels"
_RELEASES = "gatepost_releases"
_REQUESTS = "gatepost_release_requests"
_GATHER = 0.02
_MAX = 200  # ids in one notification: its payload may have 8,000 bytes
# Seconds between checks of the connection: a firewall may drop it without a word, and nothing else is sent over it.
CHECK_EVERY = 15.0
CHECK_WITHIN = 5.0


class NotificationListener(Protocol):
    """Called with the notifications of all nodes."""

    def on_listening(self) -> None:
        """Called when notifications come, at the start and after an interruption: some may have been lost."""

    def on_channel(self, channel_id: UUID) -> None:
        """Called when a channel has changed."""

    def on_release(self) -> None:
        """Called when channels with work were released: they need an owner."""

    def on_release_request(self, channels: Sequence[UUID]) -> None:
        """Called when another program wants these channels: their owners release them, and nobody claims them."""

    def on_presence(self, presence: Presence) -> None:
        """Called when a person looks at a conversation, types in it or leaves it."""

    def on_account_change(self, change: AccountChange) -> None:
        """Called when an account has changed."""

    def on_limit_counts(self, counts: LimitCounts) -> None:
        """Called when the limits of a gateway have counted something."""

    def on_link_piece(self, name: str, piece: TextPiece) -> None:
        """Called with a part of a call over a link, or of the answer to one."""


class ChannelNotifier:
    """Notifies other nodes, and listens for their notifications."""

    def __init__(self, db: Database, dsn: str, listener: NotificationListener) -> None:
        self._db = db
        self._dsn = dsn
        self._listener = listener
        self._gathered: set[UUID] = set()
        self._released = False
        self._sending: asyncio.Task[None] | None = None

    def notify(self, channel_id: UUID) -> None:
        """Notify the other nodes soon."""
        self._gathered.add(channel_id)
        self._send_soon()

    def notify_released(self) -> None:
        """Notify the other nodes soon that there are channels to claim."""
        self._released = True
        self._send_soon()

    async def drain(self) -> None:
        """Wait until all notifications are sent."""
        if self._sending is not None:
            await asyncio.wait([self._sending])

    def _send_soon(self) -> None:
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send())

    async def _send(self) -> None:
        while self._gathered or self._released:
            await asyncio.sleep(_GATHER)
            if self._released:
                self._released = False
                await attempt("notification", partial(notify_release, self._db))
            gathered, self._gathered = list(self._gathered), set()
            for start in range(0, len(gathered), _MAX):
                await attempt("notification", partial(notify_now, self._db, gathered[start : start + _MAX]))

    async def listen(self) -> None:
        """Listen until the connection is lost. This is the step of a loop, which repeats it."""
        try:
            conn = await asyncpg.connect(self._dsn, timeout=5)
            lost = asyncio.Event()
            try:
                conn.add_termination_listener(lambda _: lost.set())
                await conn.add_listener(_CHANNEL, self._read_channels)
                await conn.add_listener(_RELEASES, lambda *_: self._listener.on_release())
                await conn.add_listener(_REQUESTS, self._read_requests)
                await conn.add_listener(notifications.PRESENCE, self._read_presence)
                await conn.add_listener(notifications.ACCOUNT_CHANGES, self._read_account_change)
                await conn.add_listener(notifications.LIMIT_COUNTS, self._read_limit_counts)
                await conn.add_listener(notifications.LINK_CALLS, self._read_link_piece)
                await conn.add_listener(notifications.LINK_ANSWERS, self._read_link_piece)
                self._listener.on_listening()
                while not lost.is_set():
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(lost.wait(), CHECK_EVERY)
                    await conn.execute("SELECT", timeout=CHECK_WITHIN)
            finally:
                conn.terminate()
        except (OSError, *DRIVER_ERRORS) as error:
            raise database_unavailable() from error
        raise Unavailable("The connection that notifications come over was lost.", "database_unavailable")

    def _read_channels(self, _conn: Any, _pid: int, _channel: str, payload: Any) -> None:
        for channel_id in _read_ids(payload):
            self._listener.on_channel(channel_id)

    def _read_requests(self, _conn: Any, _pid: int, _channel: str, payload: Any) -> None:
        self._listener.on_release_request(_read_ids(payload))

    def _read_presence(self, _conn: Any, _pid: int, _channel: str, payload: Any) -> None:
        if presence := read_notice(str(payload), Presence):
            self._listener.on_presence(presence)

    def _read_account_change(self, _conn: Any, _pid: int, _channel: str, payload: Any) -> None:
        if change := read_notice(str(payload), AccountChange):
            self._listener.on_account_change(change)

    def _read_limit_counts(self, _conn: Any, _pid: int, _channel: str, payload: Any) -> None:
        if counts := read_notice(str(payload), LimitCounts):
            self._listener.on_limit_counts(counts)

    def _read_link_piece(self, _conn: Any, _pid: int, channel: str, payload: Any) -> None:
        if piece := read_notice(str(payload), TextPiece):
            self._listener.on_link_piece(channel, piece)


def _read_ids(payload: Any) -> list[UUID]:
    found = []
    for text in str(payload).split(","):
        with contextlib.suppress(ValueError):
            found.append(UUID(hex=text))
    return found


async def notify_now(db: Database, channels: Sequence[UUID]) -> None:
    """Notify all nodes at once, from a program that is not a node."""
    await _notify_ids(db, _CHANNEL, channels)


async def request_release(db: Database, channels: Sequence[UUID]) -> None:
    """Ask the owners of these channels to release them, and all nodes not to claim them for some seconds."""
    await _notify_ids(db, _REQUESTS, channels)


async def _notify_ids(db: Database, name: str, channels: Sequence[UUID]) -> None:
    for start in range(0, len(channels), _MAX):
        some = channels[start : start + _MAX]
        await db.execute("SELECT pg_notify($1, $2)", name, ",".join(channel.hex for channel in some))


async def notify_release(db: Database) -> None:
    """Notify all nodes that channels with work were released."""
    await db.execute("SELECT pg_notify($1, '')", _RELEASES)
