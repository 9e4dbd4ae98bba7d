"""Group commit: callers await `put`, and the items that gather while one batch commits become the next batch.

    put(channel, item) ─► waiting[channel] ─► a worker takes up to `size` ─► write(channel, items): one transaction
           ▲                                                                         │
           └──────────────── each caller gets its own result or its own error ───────┘

One batch per channel is written at a time. Several channels are written concurrently or, if the writer supports it,
several in one transaction: small batches of many channels then cost little more than one large batch. With a
`patience`, they also gather while the batch of another channel is written, but not longer than that: it may wait for a
lock. If all workers may wait for locks, one more works that does not: it writes the channels that are not locked, if
need be one by one. A batch that fails as a whole is halved until the failing item is alone. Nothing here knows SQL.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Generic, TypeVar

from gatepost.background import attempt
from gatepost.model.errors import GatepostError, overloaded

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
R = TypeVar("R")

Write = Callable[[K, Sequence[T]], Awaitable[Sequence[R | Exception]]]
# Several batches in one commit, without waiting for a lock. A key that is missing in the result was not written; it is
# tried again with others, and in the end alone. A writer that leaves out some kinds of items has to write them if it
# gets a single key; `alone` should know most of them.
WriteTogether = Callable[[Mapping[K, Sequence[T]]], Awaitable[Mapping[K, Sequence[R | Exception]]]]
Entries = list[tuple[T, "asyncio.Future[R]", int]]  # each with its weight
NoteCommit = Callable[[str, int, float], None]  # stage, items, seconds

TOGETHER = 16  # most keys in one transaction
_TRIES = 3  # with others, of a key that is left out


class _Queue(Generic[T, R]):
    """What waits under a key."""

    __slots__ = ("entries", "weight")

    def __init__(self) -> None:
        self.entries: deque[tuple[T, asyncio.Future[R], int]] = deque()
        self.weight = 0

    def take(self, size: int) -> "Entries[T, R]":
        """Take the next batch: at least one item, and no more than fit."""
        if self.weight <= size:
            taken = list(self.entries)
            self.entries.clear()
            self.weight = 0
            return taken
        taken, weight = [], 0
        while self.entries and (not taken or weight + self.entries[0][2] <= size):
            taken.append(self.entries.popleft())
            weight += taken[-1][2]
        self.weight -= weight
        return taken


def note_nothing(_stage: str, _items: int, _seconds: float) -> None:
    """Measure no commits."""


class Batch(Generic[K, T, R]):
    """Gathers items by key and writes them in batches."""

    def __init__(
        self,
        write: Write[K, T, R],
        *,
        size: int = 256,
        limit: int = 20_000,
        workers: int = 4,
        linger: float = 0.0,
        weigh: Callable[[T], int] | None = None,
        together: WriteTogether[K, T, R] | None = None,
        keys: int = TOGETHER,
        again: bool = False,
        alone: Callable[[T], bool] | None = None,
        patience: float = 0.0,
        stage: str = "",
        note: NoteCommit = note_nothing,
    ) -> None:
        self._write = write
        self._together = together
        self._keys = keys  # most keys in one transaction
        self._again = again  # whether keys that are left out are also tried at once by themselves
        self._only_alone = alone  # whether an item cannot be written together with other keys
        self._size = size
        self._weigh = weigh  # how many ordinary items one item counts as
        self._limit = limit
        self._workers = workers
        self._linger = linger
        self._waiting: dict[K, _Queue[T, R]] = {}
        self._ready: deque[K] = deque()
        self._missed: dict[K, int] = {}  # how many times in a row a key was left out
        self._alone: set[K] = set()  # keys whose next batch is written alone
        self._locked: set[K] = set()  # those of them that were locked when they were tried alone
        self._running: set[asyncio.Task[None]] = set()
        self._stage, self._note = stage, note  # how its commits are measured
        self._patience = patience  # seconds after which another worker starts
        self._timer: asyncio.TimerHandle | None = None
        self._open = 0  # workers that still take keys; a task is in `_running` for a moment longer
        self._patient = 0  # workers that write a single key, and may wait for its lock
        self._gathering = False  # whether a worker waits for more keys before it takes some
        self.waiting = 0

    async def put(self, key: K, item: T) -> R:
        """Write one item in the next batch. Return when it is durable, or raise its own error."""
        return await self.enqueue(key, item)

    def enqueue(self, key: K, item: T) -> "asyncio.Future[R]":
        """Do the same and return the future, which also ends with the error if too many items wait."""
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        if self.waiting >= self._limit:
            future.set_exception(overloaded())
            return future
        queue = self._waiting.get(key)
        if queue is None:
            queue = self._waiting[key] = _Queue()
            self._ready.append(key)
        if self._ready:
            self._start_worker()
        if self._only_alone is not None and self._only_alone(item):
            self._missed[key] = _TRIES - 1  # one more: with `linger`, more items for its own batch gather meanwhile
        weight = 1 if self._weigh is None else self._weigh(item)
        queue.entries.append((item, future, weight))
        queue.weight += weight
        self.waiting += 1
        return future

    async def drain(self) -> None:
        """Return when everything put so far is written or refused."""
        while self._running:
            await asyncio.wait(self._running)

    def _start_worker(self) -> None:
        if not (self._open and self._patience):
            self._start_now()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._patience, self._start_late)

    def _start_late(self) -> None:
        """Start a worker beside those that have not finished in time, and look again later."""
        self._timer = None
        if self._ready:
            self._start_now()
            self._start_worker()

    def _start_now(self) -> None:
        if self._open < self._most_workers and not self._gathering:
            self._open += 1
            task = asyncio.create_task(self._run_worker())
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _run_worker(self) -> None:
        try:
            while self._ready and not self._gathering and self._open <= self._most_workers:
                if self._together and self._linger and self.waiting < self._size and self._ready[0] not in self._alone:
                    await self._gather()
                keys = self._next_keys()
                if not keys:
                    return  # until a worker that waits for a lock is done
                if self._ready:
                    self._start_worker()
                await attempt("batch", partial(self._serve, keys))
        finally:  # also when it is cancelled: a later `put` starts another
            self._open -= 1

    async def _gather(self) -> None:
        """Linger before keys are taken, so that those which become ready meanwhile are written in the same commit."""
        self._gathering = True
        try:
            await asyncio.sleep(self._linger)
        finally:
            self._gathering = False

    def _next_keys(self) -> list[K]:
        """Return the key that has waited longest, and those after it that fit into the same transaction.

        The additional worker gets none that was found locked.
        """
        if not self._may_wait:
            locked = 0
            while locked < len(self._ready) and self._ready[0] in self._locked:
                self._ready.rotate(-1)
                locked += 1
            if locked == len(self._ready):
                return []
        keys = [self._ready.popleft()]
        weight = self._waiting[keys[0]].weight
        while self._together and self._ready and len(keys) < self._keys and keys[0] not in self._alone:
            weight += self._waiting[self._ready[0]].weight
            if weight > self._size or self._ready[0] in self._alone:
                break
            keys.append(self._ready.popleft())
        return keys

    @property
    def _may_wait(self) -> bool:
        """Whether one more worker may wait for a lock."""
        return self._together is None or self._patient < self._workers

    @property
    def _most_workers(self) -> int:
        return self._workers if self._may_wait else self._workers + 1

    async def _serve(self, keys: list[K]) -> None:
        try:
            if self._linger and not self._together and len(self._waiting[keys[0]].entries) < self._size:
                await asyncio.sleep(self._linger)
            await self._flush(keys)
        finally:
            for key in keys:
                if self._waiting[key].entries:
                    self._ready.append(key)
                else:
                    del self._waiting[key]
                    self._missed.pop(key, None)
            for _ in range(min(len(self._ready), self._workers)):
                self._start_worker()

    async def _flush(self, keys: list[K]) -> None:
        self._alone.difference_update(keys)
        self._locked.difference_update(keys)
        taken = {key: entries for key in keys if (entries := self._take(key))}
        if len(taken) == 1 and self._may_wait:
            ((key, entries),) = taken.items()
            self._patient += 1
            if self._ready:
                self._start_worker()
            try:
                await self._write_all(key, entries)
            finally:
                self._patient -= 1
            return
        if not taken:
            return
        missing = await self._write_together(taken)
        for key in taken.keys() - missing.keys():
            self._missed.pop(key, None)
        if len(taken) == 1:  # by the additional worker
            self._locked.update(missing)
            self._alone.update(missing)
        elif self._again and len(missing) > 1 and self._alone.isdisjoint(missing):  # and it did not fail
            missing = await self._write_together(missing)
        for key, entries in missing.items():
            self._return(key, entries)

    def _return(self, key: K, entries: "Entries[T, R]") -> None:
        """Let items that were left out wait for the next batch. After some tries, it is a batch of their own."""
        missed = self._missed.pop(key, 0) + 1
        if missed == _TRIES:
            self._alone.add(key)
        elif key not in self._alone:
            self._missed[key] = missed
        self._waiting[key].entries.extendleft(reversed(entries))
        self._waiting[key].weight += sum(weight for _, _, weight in entries)
        self.waiting += len(entries)

    def _take(self, key: K) -> "Entries[T, R]":
        taken = self._waiting[key].take(self._size)
        self.waiting -= len(taken)
        return [entry for entry in taken if not entry[1].cancelled()]

    async def _write_together(self, taken: "dict[K, Entries[T, R]]") -> "dict[K, Entries[T, R]]":
        """Write the batches of several keys at once. Return those that are not written yet."""
        assert self._together
        began = time.perf_counter()
        try:
            written = await self._together({key: [item for item, _, _ in entries] for key, entries in taken.items()})
        except GatepostError as error:  # the database is unavailable: true for every item
            for entries in taken.values():
                _settle(entries, [error] * len(entries))
            return {}
        except asyncio.CancelledError:
            for entries in taken.values():
                _settle(entries, [overloaded()] * len(entries))
            raise
        except Exception:  # one item fails for all; written alone, it fails for its own key only
            self._alone.update(taken)
            return taken
        self._note(self._stage, sum(len(taken[key]) for key in written), time.perf_counter() - began)
        for key, results in written.items():
            _settle_results(taken[key], results)
        return {key: entries for key, entries in taken.items() if key not in written}

    async def _write_all(self, key: K, entries: "Entries[T, R]") -> None:
        began = time.perf_counter()
        try:
            results = await self._write(key, [item for item, _, _ in entries])
        except GatepostError as error:  # the database is unavailable: true for every item
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
            self._note(self._stage, len(entries), time.perf_counter() - began)
            _settle_results(entries, results)


def _miscounted() -> RuntimeError:
    return RuntimeError("A batch was written, but its results do not match its items.")


def _settle_results(entries: "Entries[T, R]", results: Sequence[R | Exception]) -> None:
    _settle(entries, results if len(results) == len(entries) else [_miscounted()] * len(entries))


def _settle(entries: "Entries[T, R]", results: Sequence[R | Exception]) -> None:
    for (_, future, _), result in zip(entries, results, strict=True):
        if future.done():
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
