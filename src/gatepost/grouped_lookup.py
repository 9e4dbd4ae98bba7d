"""Look-ups that are needed at the same moment are made together.

An event wakes all streams of an account at once, and a sweep the tasks of all channels with new events. What cannot be
read fails for its own key only: the others of its group belong to other channels.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Generic, TypeVar

from gatepost.model.errors import GatepostError

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


_MOST = 500  # keys of one look-up


class GroupedLookup(Generic[K, V]):
    """Calls `load` with the keys that are asked for in the same turn of the event loop."""

    def __init__(self, load: Callable[[Sequence[K]], Awaitable[Mapping[K, V]]], most: int = _MOST) -> None:
        self._load = load
        self._most = most
        self._keys: list[K] = []
        self._next: asyncio.Task[_Group[K, V]] | None = None

    async def find(self, key: K) -> V | None:
        """Return what is found under a key, if anything."""
        if self._next is None or len(self._keys) >= self._most:
            self._keys = []
            self._next = asyncio.create_task(self._load_keys(self._keys))
        self._keys.append(key)
        group = await asyncio.shield(self._next)
        if key in group.failed:
            raise group.failed[key]
        return group.found.get(key)

    async def _load_keys(self, keys: list[K]) -> "_Group[K, V]":
        if keys is self._keys:
            self._next = None
        group: _Group[K, V] = _Group()
        await self._load_into(group, keys)
        return group

    async def _load_into(self, group: "_Group[K, V]", keys: Sequence[K]) -> None:
        """Load keys. Those that fail together are halved until the failing one is alone."""
        try:
            group.found.update(await self._load(keys))
        except GatepostError:  # the database is unavailable: true for every key
            raise
        except Exception as error:
            if len(keys) == 1:
                group.failed[keys[0]] = error
                return
            half = len(keys) // 2
            await self._load_into(group, keys[:half])
            await self._load_into(group, keys[half:])


class _Group(Generic[K, V]):
    """The result of one look-up."""

    def __init__(self) -> None:
        self.found: dict[K, V] = {}
        self.failed: dict[K, Exception] = {}
