"""A clock that can be frozen, moved and sped up, with the timers that run on it.

at(due, fire) ─► heap ─┬─ running: one loop timer, armed for the earliest
                       └─ advance: walked in order, the clock stepping from due time to due time
"""

import asyncio
import heapq
import time
from collections.abc import Awaitable, Callable
from itertools import count

Fire = Callable[[], object]
_GRAIN = 0.004  # real seconds; timers due within one grain fire together: one wake-up for many statuses


class Clock:
    """Sandbox time in Unix seconds, and everything that waits for it."""

    def __init__(self, start: float | None = None, *, frozen: bool = False, speed: float = 1.0) -> None:
        self._base = time.time() if start is None else start
        self._anchor = time.monotonic()
        self._frozen = frozen
        self._speed = speed
        self._heap: list[tuple[float, int, Fire]] = []
        self._order = count()
        self._armed: asyncio.TimerHandle | None = None
        self._armed_due = float("inf")
        self._moving = asyncio.Lock()
        self._sleepers: set[asyncio.Event] = set()
        self._closed = False

    @property
    def frozen(self) -> bool:
        """Whether time stands still."""
        return self._frozen

    @property
    def speed(self) -> float:
        """Sandbox seconds per real second."""
        return self._speed

    @property
    def waiting(self) -> int:
        """How many timers have not fired."""
        return len(self._heap)

    def now(self) -> float:
        """The sandbox time."""
        if self._frozen:
            return self._base
        return self._base + (time.monotonic() - self._anchor) * self._speed

    def at(self, due: float, fire: Fire) -> None:
        """Call `fire` once, when the sandbox time reaches `due`."""
        heapq.heappush(self._heap, (due, next(self._order), fire))
        if due < self._armed_due:
            self._arm()

    async def sleep(self, seconds: float) -> None:
        """Wait for sandbox seconds."""
        woken = asyncio.Event()
        self._sleepers.add(woken)
        self.at(self.now() + seconds, woken.set)
        await woken.wait()
        self._sleepers.discard(woken)

    def run_at(self, *, frozen: bool, speed: float) -> None:
        """Change the pace of time without moving it."""
        self._rebase(self.now())
        self._frozen, self._speed = frozen, speed
        self._arm()

    async def move_to(self, target: float, settle: Callable[[], Awaitable[None]], *, ordered: bool = True) -> int:
        """Move time forward and fire all that falls due on the way; returns how many timers fired.

        With `ordered`, each timer's work is settled before the next one fires, so that the outside sees one order.
        """
        try:
            async with self._moving:
                return await self._walk(target, settle, ordered)
        finally:
            self._arm()

    async def _walk(self, target: float, settle: Callable[[], Awaitable[None]], ordered: bool) -> int:
        self._disarm()
        fired = 0
        await settle()
        while self._heap and self._heap[0][0] <= target:
            self._rebase(max(self.now(), self._heap[0][0] if ordered else target))
            heapq.heappop(self._heap)[2]()
            fired += 1
            if ordered or not (self._heap and self._heap[0][0] <= target):
                await settle()
        self._rebase(max(self.now(), target))
        return fired

    def close(self) -> None:
        """Forget all timers and wake whoever sleeps."""
        self._closed = True
        self._disarm()
        self._heap.clear()
        for woken in self._sleepers:
            woken.set()

    def _rebase(self, now: float) -> None:
        self._base, self._anchor = now, time.monotonic()

    def _disarm(self) -> None:
        if self._armed is not None:
            self._armed.cancel()
        self._armed, self._armed_due = None, float("inf")

    def _arm(self) -> None:
        self._disarm()
        if self._closed or not self._heap or self._moving.locked():
            return
        due = self._heap[0][0]
        wait = due - self.now()
        if wait > 0 and self._frozen:
            return
        self._armed_due = due
        self._armed = asyncio.get_running_loop().call_later(max(wait / self._speed, 0.0) + _GRAIN, self._fire_due)

    def _fire_due(self) -> None:
        self._armed, self._armed_due = None, float("-inf")
        horizon = self.now()
        try:
            while self._heap and self._heap[0][0] <= horizon:
                heapq.heappop(self._heap)[2]()
        finally:
            self._arm()
