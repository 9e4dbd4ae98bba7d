"""Look-ups that are needed at the same moment are made together.

An event wakes all streams of an account at once, and a sweep the tasks of all channels with new events.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


_MOST = 500  # keys of one look-up


class GroupedLookup(Generic[K, V]):
    """Calls `load` with the keys that are asked for in the same turn of the event loop."""

    def __init__(self, load: Callable[[Sequence[K]], Awaitable[Mapping[K, V]]], most: int = _MOST) -> None:
        self._load = load
        self._most = most
        self._keys: list[K] = []
        self._next: asyncio.Task[Mapping[K, V]] | None = None

    async def find(self, key: K) -> V | None:
        """Return what is found under a key, if anything."""
        if self._next is None or len(self._keys) >= self._most:
            self._keys = []
            self._next = asyncio.create_task(self._load_keys(self._keys))
        self._keys.append(key)
        return (await asyncio.shield(self._next)).get(key)

    async def _load_keys(self, keys: list[K]) -> Mapping[K, V]:
        if keys is self._keys:
            self._next = None
        return await self._load(keys)
