"""Group commit: callers await `put`, and whatever gathers while one batch commits makes up the next.

    put(channel, item) ─► waiting[channel] ─► a lane takes up to `size` ─► write(channel, items): one transaction
           ▲                                                                        │
           └──────────────── each caller wakes with its own result or its own error ┘

One batch per channel is under way at a time; several channels are written side by side. A batch that fails as a whole
is cut in halves until the item that spoils it stands alone. Nothing here knows SQL.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from functools import partial
from typing import Generic, TypeVar

from gatepost.background import attempt
from gatepost.model.errors import GatepostError, overloaded

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
R = TypeVar("R")

Write = Callable[[K, Sequence[T]], Awaitable[Sequence[R | Exception]]]


class Batch(Generic[K, T, R]):
    """Gathers items by key and writes each gathering at once."""

    def __init__(
        self,
        write: Write[K, T, R],
        *,
        size: int = 256,
        limit: int = 20_000,
        lanes: int = 4,
        linger: float = 0.0,
        weigh: Callable[[T], int] | None = None,
    ) -> None:
        self._write = write
        self._size = size
        self._weigh = weigh  # how many ordinary items one item counts as, of those that a batch may have
        self._limit = limit
        self._lanes = lanes
        self._linger = linger
        self._waiting: dict[K, deque[tuple[T, asyncio.Future[R]]]] = {}
        self._ready: deque[K] = deque()
        self._running: set[asyncio.Task[None]] = set()
        self._open = 0  # lanes that still take keys: a task counts as running for a moment longer than it takes any
        self.waiting = 0

    async def put(self, key: K, item: T) -> R:
        """Writes one item together with its neighbours; returns once it is durable, or raises its own error."""
        return await self.enqueue(key, item)

    def enqueue(self, key: K, item: T) -> "asyncio.Future[R]":
        """As `put`, for a caller who collects the futures of many items."""
        if self.waiting >= self._limit:
            raise overloaded()
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        line = self._waiting.get(key)
        if line is None:
            line = self._waiting[key] = deque()
            self._ready.append(key)
        if self._ready:
            self._start_lane()
        line.append((item, future))
        self.waiting += 1
        return future

    async def drain(self) -> None:
        """Returns when everything put so far has been written or refused."""
        while self._running:
            await asyncio.wait(self._running)

    def _start_lane(self) -> None:
        if self._open < self._lanes:
            self._open += 1
            task = asyncio.create_task(self._run_lane())
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _run_lane(self) -> None:
        try:
            while self._ready:
                await attempt("batch", partial(self._serve, self._ready.popleft()))
        finally:  # also when it is cancelled: whoever puts something later starts another
            self._open -= 1

    async def _serve(self, key: K) -> None:
        try:
            if self._linger and len(self._waiting[key]) < self._size:
                await asyncio.sleep(self._linger)
            await self._flush(key)
        finally:
            if self._waiting[key]:
                self._ready.append(key)
            else:
                del self._waiting[key]

    async def _flush(self, key: K) -> None:
        line = self._waiting[key]
        taken = [line.popleft() for _ in range(self._fitting(line))]
        self.waiting -= len(taken)
        taken = [entry for entry in taken if not entry[1].cancelled()]
        if taken:
            await self._write_all(key, taken)

    def _fitting(self, line: "deque[tuple[T, asyncio.Future[R]]]") -> int:
        """How many items make up the next batch; one always does."""
        if self._weigh is None:
            return min(self._size, len(line))
        weight = 0
        for place, (item, _) in enumerate(line):
            weight += self._weigh(item)
            if weight > self._size and place:
                return place
        return len(line)

    async def _write_all(self, key: K, entries: list[tuple[T, "asyncio.Future[R]"]]) -> None:
        try:
            results = await self._write(key, [item for item, _ in entries])
        except GatepostError as error:  # the database is away: true for every item
            _settle(entries, [error] * len(entries))
        except asyncio.CancelledError:
            _settle(entries, [overloaded()] * len(entries))
            raise
        except Exception as error:
            if len(entries) == 1:
                _settle(entries, [error])
                return
            half = len(entries) // 2
            await self._write_all(key, entries[:half])
            await self._write_all(key, entries[half:])
        else:
            _settle(entries, results if len(results) == len(entries) else [_miscounted()] * len(entries))


def _miscounted() -> RuntimeError:
    return RuntimeError("A batch was written, but its results do not match its items.")


def _settle(entries: list[tuple[T, "asyncio.Future[R]"]], results: Sequence[R | Exception]) -> None:
    for (_, future), result in zip(entries, results, strict=True):
        if future.done():
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
