"""Look-ups that are trusted for a moment: keys and channels. Short enough that a revoked key dies within a second."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
_MOST = 20_000


class TimedCache(Generic[K, V]):
    """Asks `load` once per key and moment, however many requests come at once."""

    def __init__(self, load: Callable[[K], Awaitable[V]], seconds: float) -> None:
        self._load = load
        self._seconds = seconds
        self._known: dict[K, tuple[float, V]] = {}
        self._asking: dict[K, asyncio.Task[V]] = {}

    async def get(self, key: K) -> V:
        found = self._known.get(key)
        if found is not None and found[0] > time.monotonic():
            return found[1]
        asking = self._asking.get(key)
        if asking is None:
            asking = self._asking[key] = asyncio.create_task(self._ask(key))
            asking.add_done_callback(lambda task: self._answered(key, task))
        return await asyncio.shield(asking)

    async def _ask(self, key: K) -> V:
        until = time.monotonic() + self._seconds  # counted from before the question
        value = await self._load(key)
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[key] = (until, value)
        return value

    def _answered(self, key: K, task: "asyncio.Task[V]") -> None:
        self._asking.pop(key, None)
        if not task.cancelled():
            task.exception()
