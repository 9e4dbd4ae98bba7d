"""Waiters for a channel's events: the open streams and long polls of this node.

events of this node (notify) ─────────────┐
events of other nodes (every 250 ms) ──────┴─► wake the channel's waiters ─► each reads on after its own cursor

A wake-up carries no data and may be spurious: events are read from the table in the order of their ids. So no event
is missed or read twice, and a slow reader takes no memory.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol
from uuid import UUID

from gatepost.model.errors import LimitReached, LimitState, Unavailable
from gatepost.store.channel_head import read_log_ends
from gatepost.store.pool import Database

_LOOK = 0.25


class Waiter(Protocol):
    """What waits for events of a channel."""

    channel_id: UUID

    def wake(self) -> None:
        """Called when there may be new events."""

    def end(self) -> None:
        """Called when the node stops."""


class NewEvents:
    """Whether there is something new. A wait for it takes no task of its own, as one by `asyncio.wait_for` does."""

    def __init__(self) -> None:
        self._is_there = False
        self._waiting: asyncio.Future[None] | None = None

    def set(self) -> None:
        self._is_there = True
        self._wake()

    def clear(self) -> None:
        self._is_there = False

    async def wait(self, seconds: float) -> bool:
        """Wait at most this many seconds; return whether there is something new. One task may wait at a time."""
        if not self._is_there and seconds > 0:
            loop = asyncio.get_running_loop()
            self._waiting = loop.create_future()
            timer = loop.call_later(seconds, self._wake)
            try:
                await self._waiting
            finally:
                timer.cancel()
        return self._is_there

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


class EventWaiter:
    """A waiter for events of a channel. Call `expect`, read, and `wait` only if there was nothing to read."""

    def __init__(self, channel_id: UUID, key_id: UUID) -> None:
        self.channel_id = channel_id
        self.key_id = key_id
        self.ended = False
        self._new_events = NewEvents()

    def wake(self) -> None:
        self._new_events.set()

    def end(self) -> None:
        """End the wait."""
        self.ended = True
        self.wake()

    def expect(self) -> None:
        """Forget earlier wake-ups. Events from now on wake the waiter."""
        if not self.ended:
            self._new_events.clear()

    async def wait(self, seconds: float) -> None:
        """Wait until there may be new events, at most this many seconds."""
        await self._new_events.wait(seconds)


class EventWaiters:
    """All waiters of one process."""

    def __init__(self, db: Database, most: int) -> None:
        self._db = db
        self._most = most
        self._of: dict[UUID, set[Waiter]] = {}
        self._seen: dict[UUID, int] = {}
        self._keys: dict[UUID, int] = {}
        self._somebody = asyncio.Event()
        self._closed = False

    def open(self, channel_id: UUID, key_id: UUID) -> EventWaiter:
        """Return a new waiter, or raise if its key has too many. The caller must close it."""
        if self._closed:
            raise Unavailable("This node is about to stop. Try again in a moment.", "overloaded", retry_after=1)
        if self._keys.get(key_id, 0) >= self._most:
            raise LimitReached(
                f"{self._most} streams and waiting requests are open with this key or session already. Close one, "
                "or wait for its end.",
                retry_after=1,
                limit=LimitState("streams", self._most, 1, 0, 1),
            )
        watcher = EventWaiter(channel_id, key_id)
        self._keys[key_id] = self._keys.get(key_id, 0) + 1
        self.add(watcher)
        return watcher

    def close(self, watcher: EventWaiter) -> None:
        """Remove a waiter. Closing it twice is allowed."""
        if not self.remove(watcher):
            return
        self._keys[watcher.key_id] -= 1
        if not self._keys[watcher.key_id]:
            del self._keys[watcher.key_id]

    def add(self, waiter: Waiter) -> None:
        """Wake a waiter whenever its channel has new events."""
        self._of.setdefault(waiter.channel_id, set()).add(waiter)
        self._somebody.set()

    def remove(self, waiter: Waiter) -> bool:
        """Wake a waiter no longer. Return False if it was not woken."""
        waiting = self._of.get(waiter.channel_id, set())
        if waiter not in waiting:
            return False
        waiting.remove(waiter)
        if not waiting:
            del self._of[waiter.channel_id]
            self._seen.pop(waiter.channel_id, None)
        return True

    @contextmanager
    def watching(self, channel_id: UUID, key_id: UUID) -> Iterator[EventWaiter]:
        """Yield a waiter, and close it at the end of the block."""
        watcher = self.open(channel_id, key_id)
        try:
            yield watcher
        finally:
            self.close(watcher)

    def wake(self, channel_id: UUID) -> None:
        """Wake the waiters of a channel."""
        for watcher in self._of.get(channel_id, ()):
            watcher.wake()

    def end(self) -> None:
        """End all waits and reject new ones."""
        self._closed = True
        for waiters in self._of.values():
            for watcher in waiters:
                watcher.end()

    async def step(self) -> None:
        """Look for events of other nodes, if there is a waiter. This is the step of a loop."""
        await self._somebody.wait()
        if self._of:
            await self.look()
            await asyncio.sleep(_LOOK)
        else:
            self._somebody.clear()

    async def look(self) -> None:
        """Wake the waiters of channels with new events since the last look."""
        for channel_id, end in (await read_log_ends(self._db, list(self._of))).items():
            if channel_id in self._of and self._seen.get(channel_id) != end.seq:
                self._seen[channel_id] = end.seq
                self.wake(channel_id)

    @property
    def count(self) -> int:
        """The number of waiters."""
        return sum(self._keys.values())
