"""Limits how many name lookups run at once, per channel and in all, so that no channel can block the others.

one channel   at most `per_channel`; its other lookups wait in their order
in all        at most `total`; a channel's second and further lookups use at most half of that, so that channels whose
              names never resolve cannot block another channel's first lookup
"""

import asyncio
from collections import deque
from collections.abc import Callable, Hashable

Waiter = asyncio.Future[None]
Changed = Callable[[int, int], None]  # how many run, how many wait


class LookupLimiter:
    """The lookup slots of one process: `acquire` one, and `release` it when the lookup has ended."""

    def __init__(self, per_channel: int, total: int, changed: Changed = lambda running, waiting: None) -> None:
        self._per_channel = per_channel
        self._total = total
        self._changed = changed
        self._held: dict[Hashable, int] = {}
        self._queues: dict[Hashable, deque[Waiter]] = {}
        self.running = 0
        self.waiting = 0

    async def acquire(self, channel: Hashable) -> None:
        """Take a slot; wait until there is one."""
        if channel not in self._queues and self._has_room(channel):
            self._take(channel)
            return
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self._enqueue(channel, waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.release(channel)  # it got a slot while it was being cancelled
            else:
                self._dequeue(channel, waiter)
            raise

    def release(self, channel: Hashable) -> None:
        """Return a slot; waiting lookups of the channels with the fewest slots get the free ones first."""
        self.running -= 1
        self._held[channel] -= 1
        if not self._held[channel]:
            del self._held[channel]
        while able := [one for one in self._queues if self._has_room(one)]:
            first = min(able, key=lambda one: self._held.get(one, 0))
            waiter = self._queues[first][0]
            self._dequeue(first, waiter)
            self._take(first)
            waiter.set_result(None)
        self._changed(self.running, self.waiting)

    def _has_room(self, channel: Hashable) -> bool:
        held = self._held.get(channel, 0)
        return held < self._per_channel and self.running < (self._total if held == 0 else self._total // 2)

    def _take(self, channel: Hashable) -> None:
        self._held[channel] = self._held.get(channel, 0) + 1
        self.running += 1
        self._changed(self.running, self.waiting)

    def _enqueue(self, channel: Hashable, waiter: Waiter) -> None:
        self._queues.setdefault(channel, deque()).append(waiter)
        self.waiting += 1
        self._changed(self.running, self.waiting)

    def _dequeue(self, channel: Hashable, waiter: Waiter) -> None:
        queue = self._queues[channel]
        queue.remove(waiter)
        if not queue:
            del self._queues[channel]
        self.waiting -= 1
        self._changed(self.running, self.waiting)
