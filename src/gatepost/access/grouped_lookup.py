"""Look-ups that are needed at the same moment are made together: an event wakes all streams of an account at once."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class GroupedLookup(Generic[K, V]):
    """Calls `load` with all keys that are asked for in the same turn of the event loop."""

    def __init__(self, load: Callable[[Sequence[K]], Awaitable[Mapping[K, V]]]) -> None:
        self._load = load
        self._keys: list[K] = []
        self._next: asyncio.Task[Mapping[K, V]] | None = None

    async def find(self, key: K) -> V | None:
        """Return what is found under a key, if anything."""
        self._keys.append(key)
        if self._next is None:
            self._next = asyncio.create_task(self._load_keys())
        return (await asyncio.shield(self._next)).get(key)

    async def _load_keys(self) -> Mapping[K, V]:
        keys, self._keys, self._next = self._keys, [], None
        return await self._load(keys)
