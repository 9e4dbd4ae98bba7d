"""A cache of look-ups (keys, channels) for up to a second, so that a revoked key stops working soon."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
_MAX_SIZE = 20_000


class TimedCache(Generic[K, V]):
    """Calls `load` once per key and period, also when many requests need it at once."""

    def __init__(self, load: Callable[[K], Awaitable[V]], seconds: float) -> None:
        self._load = load
        self._seconds = seconds
        self._cached: dict[K, tuple[float, V]] = {}
        self._loading: dict[K, asyncio.Task[V]] = {}

    def peek(self, key: K) -> V | None:
        """Return a cached value without looking it up; None if there is none."""
        found = self._cached.get(key)
        return found[1] if found is not None and found[0] > time.monotonic() else None

    async def get(self, key: K) -> V:
        """Return the value of a key, cached or looked up."""
        found = self._cached.get(key)
        if found is not None and found[0] > time.monotonic():
            return found[1]
        loading = self._loading.get(key)
        if loading is None:
            loading = self._loading[key] = asyncio.create_task(self._load_now(key))
            loading.add_done_callback(lambda task: self._loaded(key, task))
        return await asyncio.shield(loading)

    def clear(self) -> None:
        """Forget what was looked up so far."""
        self._cached.clear()

    async def _load_now(self, key: K) -> V:
        until = time.monotonic() + self._seconds  # counted from before the look-up
        value = await self._load(key)
        if len(self._cached) >= _MAX_SIZE:
            self._cached.clear()
        self._cached[key] = (until, value)
        return value

    def _loaded(self, key: K, task: "asyncio.Task[V]") -> None:
        self._loading.pop(key, None)
        if not task.cancelled():
            task.exception()
