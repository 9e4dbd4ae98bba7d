"""A cache of look-ups (keys, channels) for up to a second, so that a revoked key stops working soon.

peek, get ─► cached? ─ yes ─► in its second half? ─► what is due and was used is looked up again, in the background
                └ no ─► look up; who asks meanwhile waits for the same look-up
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
_MAX_SIZE = 20_000
_LOOKS = 8  # per period, for what is due
_AT_ONCE = 500  # look-ups of one look, which a request waits for; what is left over is due at the next one


class _Entry(Generic[V]):
    __slots__ = ("until", "used", "value")

    def __init__(self, until: float, value: V) -> None:
        self.until = until
        self.value = value
        self.used = False


class TimedCache(Generic[K, V]):
    """Calls `load` once per key and period, also when many requests need it at once.

    If `load` is grouped, values in use are loaded together before they expire, so that requests do not wait for them
    and a thousand keys do not need a thousand statements in each period.
    """

    def __init__(
        self,
        load: Callable[[K], Awaitable[V]],
        seconds: float,
        *,
        grouped: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._load = load
        self._seconds = seconds
        self._early = seconds / 2 if grouped else 0.0
        self._monotonic = monotonic
        self._next_look = 0.0
        self._cached: dict[K, _Entry[V]] = {}  # in the order in which they expire
        self._loading: dict[K, asyncio.Task[V]] = {}

    def peek(self, key: K) -> V | None:
        """Return a cached value without looking it up; None if there is none."""
        entry = self._valid(key)
        return None if entry is None else entry.value

    async def get(self, key: K) -> V:
        """Return the value of a key, cached or looked up."""
        entry = self._valid(key)
        return entry.value if entry is not None else await asyncio.shield(self._begin(key))

    def clear(self) -> None:
        """Forget what was looked up so far, or is being looked up."""
        self._cached.clear()
        self._loading.clear()

    def _valid(self, key: K) -> _Entry[V] | None:
        """Return what is cached of a key and has not expired."""
        entry = self._cached.get(key)
        if entry is None:
            return None
        left = entry.until - self._monotonic()
        if left <= 0:
            return None
        entry.used = True
        if left < self._early:
            self._renew()
        return entry

    def _begin(self, key: K) -> "asyncio.Task[V]":
        loading = self._loading.get(key)
        if loading is None:
            loading = self._loading[key] = asyncio.create_task(self._load_now(key))
            loading.add_done_callback(lambda task: self._loaded(key, task))
        return loading

    def _renew(self) -> None:
        """Load what is in the second half of its period and was used; forget what has expired."""
        now = self._monotonic()
        if now < self._next_look:
            return
        self._next_look = now + self._seconds / _LOOKS
        due: list[K] = []
        expired = []
        for key, entry in self._cached.items():
            if entry.until - now >= self._early or len(due) == _AT_ONCE:
                break
            if entry.used:
                due.append(key)
            elif entry.until <= now:
                expired.append(key)
        for key in due:
            self._begin(key)
        for key in expired:
            del self._cached[key]

    async def _load_now(self, key: K) -> V:
        until = self._monotonic() + self._seconds  # counted from before the look-up
        value = await self._load(key)
        if self._loading.get(key) is asyncio.current_task():  # not if the cache was cleared meanwhile
            if len(self._cached) >= _MAX_SIZE:
                self._cached.clear()
            self._cached.pop(key, None)
            self._cached[key] = _Entry(until, value)
        return value

    def _loaded(self, key: K, task: "asyncio.Task[V]") -> None:
        if self._loading.get(key) is task:
            del self._loading[key]
        if not task.cancelled():
            task.exception()
