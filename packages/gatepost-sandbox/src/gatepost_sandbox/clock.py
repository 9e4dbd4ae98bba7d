"""A clock that can be frozen, moved and sped up, with the timers that run on it.

at(due, fire) ─► heap ─┬─ running: one loop timer, armed for the earliest
                       └─ advance: walked in order, the clock stepping from due time to due time
"""

import asyncio
import heapq
import time
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any, Protocol

Fire = Callable[[], object]
_GRAIN = 0.004  # real seconds; timers due within one grain fire together: one wake-up for many statuses


class Recorder(Protocol):
    """Records every input of the network, in order, so that a restart can replay them."""

    inline_max: int  # bytes of a body that are recorded with its request

    async def keep_file(self, content: bytes) -> str:
        """Store a large body; return its name."""

    def write(self, now: float, kind: str, values: tuple[object, ...]) -> None:
        """Record one input; when this returns, it survives a crash of the process."""


class _SleepTimer:
    """The timer of a waiting request. It belongs to a connection and is not restored after a restart."""

    def __init__(self, woken: asyncio.Event) -> None:
        self._woken = woken

    def __call__(self) -> None:
        self._woken.set()


class Clock:
    """Sandbox time in Unix seconds, and everything that waits for it.

    With a recorder, every input starts with `begin` and is written by `record`. Time is constant until the event
    loop continues, so that a replay computes the same results.
    """

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
        self._held: float | None = None
        self.recorder: Recorder | None = None
        self.replaying = False  # timers do not fire on their own

    @property
    def frozen(self) -> bool:
        """Whether the clock is stopped."""
        return self._frozen

    @property
    def speed(self) -> float:
        """Sandbox seconds per real second."""
        return self._speed

    @property
    def waiting(self) -> int:
        """The number of pending timers."""
        return len(self._heap)

    def now(self) -> float:
        """Return the sandbox time."""
        if self._held is not None:
            return self._held
        return self._running()

    def _running(self) -> float:
        if self._frozen:
            return self._base
        return self._base + (time.monotonic() - self._anchor) * self._speed

    def begin(self) -> None:
        """Start processing an input: fix its time."""
        if self.recorder is not None:
            if self._held is None:
                asyncio.get_running_loop().call_soon(self._release_time)
            self._held = self._running()

    def record(self, kind: str, *values: object) -> None:
        """Record one input with its time."""
        if self.recorder is not None:
            self.recorder.write(self.now(), kind, values)

    def replay_at(self, now: float) -> None:
        """Set the time to that of a recorded input."""
        self.replaying, self._held = True, now

    def replay_timer(self) -> None:
        """Fire the next timer."""
        heapq.heappop(self._heap)[2]()

    def replay_pace(self, *, frozen: bool, speed: float) -> None:
        """Set the recorded speed."""
        self._frozen, self._speed = frozen, speed

    def resume(self, elapsed: float) -> None:
        """Continue after a replay that ended `elapsed` real seconds ago; timers that fell due since then fire now."""
        now = self.now()
        self.replaying = False
        self._rebase(now if self._frozen else now + max(elapsed, 0.0) * self._speed)
        self._arm()

    def __getstate__(self) -> dict[str, Any]:
        """Return the time and the timers, without what belongs to this process."""
        heap = [
            entry for entry in sorted(self._heap, key=lambda entry: entry[:2]) if not isinstance(entry[2], _SleepTimer)
        ]
        return {"now": self.now(), "frozen": self._frozen, "speed": self._speed, "heap": heap}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a clock that waits for its replay to end."""
        Clock.__init__(self, state["now"], frozen=state["frozen"], speed=state["speed"])
        self._heap = [(due, next(self._order), fire) for due, _, fire in state["heap"]]
        self.replay_at(state["now"])

    def at(self, due: float, fire: Fire) -> None:
        """Call `fire` once, when the sandbox time reaches `due`."""
        heapq.heappush(self._heap, (due, next(self._order), fire))
        if due < self._armed_due:
            self._arm()

    async def sleep(self, seconds: float) -> None:
        """Wait for sandbox seconds."""
        woken = asyncio.Event()
        self._sleepers.add(woken)
        self.at(self.now() + seconds, _SleepTimer(woken))
        await woken.wait()
        self._sleepers.discard(woken)

    def run_at(self, *, frozen: bool, speed: float) -> None:
        """Change the speed without moving the time."""
        self._rebase(self._running())
        self._frozen, self._speed = frozen, speed
        self.record("pace", frozen, speed)
        self._arm()

    async def move_to(self, target: float, settle: Callable[[], Awaitable[None]], *, ordered: bool = True) -> int:
        """Move time forward and fire the timers that fall due; return how many fired.

        With `ordered`, each timer's work is settled before the next one fires, so that the order is deterministic.
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
            self._rebase(max(self._running(), self._heap[0][0] if ordered else target))
            self._fire_next()
            fired += 1
            if ordered or not (self._heap and self._heap[0][0] <= target):
                await settle()
        self._rebase(max(self._running(), target))
        self.record("pace", self._frozen, self._speed)
        return fired

    def close(self) -> None:
        """Drop all timers and wake all waiting requests."""
        self._closed = True
        self._disarm()
        self._heap.clear()
        for woken in self._sleepers:
            woken.set()

    def _rebase(self, now: float) -> None:
        self._base, self._anchor, self._held = now, time.monotonic(), None

    def _release_time(self) -> None:
        self._held = None

    def _fire_next(self) -> None:
        if self.recorder is not None and not isinstance(self._heap[0][2], _SleepTimer):
            self.begin()
            self.record("timer")
        heapq.heappop(self._heap)[2]()

    def _disarm(self) -> None:
        if self._armed is not None:
            self._armed.cancel()
        self._armed, self._armed_due = None, float("inf")

    def _arm(self) -> None:
        self._disarm()
        if self._closed or self.replaying or not self._heap or self._moving.locked():
            return
        due = self._heap[0][0]
        wait = due - self._running()
        if wait > 0 and self._frozen:
            return
        self._armed_due = due
        self._armed = asyncio.get_running_loop().call_later(max(wait / self._speed, 0.0) + _GRAIN, self._fire_due)

    def _fire_due(self) -> None:
        self._armed, self._armed_due = None, float("-inf")
        horizon = self._running()
        try:
            while self._heap and self._heap[0][0] <= horizon:
                self._fire_next()
        finally:
            self._arm()
