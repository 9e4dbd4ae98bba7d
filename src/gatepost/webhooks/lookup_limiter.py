"""Limits how many name lookups run at once, per channel and in all, so that no channel can block the others.

one channel   at most `per_channel`; its other lookups wait in their order
in all        at most `total`; a channel's second and further lookups use at most half of that, so that channels whose
              names never resolve cannot block another channel's first lookup
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable

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
        # The channels that wait, by the number of their slots: many channels may wait for a name server that is down.
        self._by_slots: list[OrderedDict[Hashable, None]] = [OrderedDict() for _ in range(per_channel + 1)]
        self.running = 0
        self.waiting = 0

    async def acquire(self, channel: Hashable) -> None:
        """Take a slot; wait until there is one."""
        if channel not in self._queues and self._has_room(channel):
            self._hold(channel, 1)
            self._changed(self.running, self.waiting)
            return
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self._enqueue(channel, waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.release(channel)  # it got a slot while it was being cancelled
            elif waiter in self._queues.get(channel, ()):
                self._dequeue(channel, waiter)
                self._changed(self.running, self.waiting)
            raise

    def release(self, channel: Hashable) -> None:
        """Return a slot; waiting lookups of the channels with the fewest slots get the free ones first."""
        self._hold(channel, -1)
        while able := self._able():
            first = next(iter(able))
            waiter = self._queues[first][0]
            self._dequeue(first, waiter)
            if not waiter.done():  # one that is done was cancelled, and its task has not run yet
                self._hold(first, 1)
                waiter.set_result(None)
        self._changed(self.running, self.waiting)

    def _able(self) -> Iterable[Hashable] | None:
        """Return the waiting channels with the fewest slots, if they may have one more."""
        if self.running < self._total and self._by_slots[0]:
            return self._by_slots[0]
        if self.running < self._total // 2:
            return next((waiting for waiting in self._by_slots[1:-1] if waiting), None)
        return None

    def _has_room(self, channel: Hashable) -> bool:
        held = self._held.get(channel, 0)
        return held < self._per_channel and self.running < (self._total if held == 0 else self._total // 2)

    def _hold(self, channel: Hashable, change: int) -> None:
        """Count a slot that a channel gets or returns."""
        held = self._held.get(channel, 0)
        self.running += change
        self._held[channel] = held + change
        if not self._held[channel]:
            del self._held[channel]
        if channel in self._queues:
            del self._by_slots[held][channel]
            self._by_slots[held + change][channel] = None

    def _enqueue(self, channel: Hashable, waiter: Waiter) -> None:
        if channel not in self._queues:
            self._queues[channel] = deque()
            self._by_slots[self._held.get(channel, 0)][channel] = None
        self._queues[channel].append(waiter)
        self.waiting += 1
        self._changed(self.running, self.waiting)

    def _dequeue(self, channel: Hashable, waiter: Waiter) -> None:
        queue = self._queues[channel]
        queue.remove(waiter)
        if not queue:
            del self._queues[channel]
            del self._by_slots[self._held.get(channel, 0)][channel]
        self.waiting -= 1
