"""Delivery of updates to the number's callback address, at least once.

put ─► gather (batch_max > 1) ─► queue ─► workers ─► POST ─► 200: done
                                   ▲                   │
                                   └── retry[n] s ◄────┴─ anything else; after the last: abandoned
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import msgspec

from gatepost_sandbox.clock import Clock
from gatepost_sandbox.ledger import Ledger
from gatepost_sandbox.settings import Callbacks, NumberSpec
from gatepost_sandbox.wire import Update, signature, webhook_body

Post = Callable[[str, bytes, str, float], Awaitable[tuple[int | None, str | None]]]
_NO_ADDRESS = "no_address"
Address = Callable[[NumberSpec, str], str | None]  # returns the callback address of a number for a field


class Delivery(msgspec.Struct, gc=False):
    """One callback with its body and the number of attempts."""

    number: int
    updates: list[Update]
    body: bytes
    attempts: int = 0


class Outbox:
    """The callbacks of one number; a failing address does not delay other numbers."""

    def __init__(self, clock: Clock, ledger: Ledger, post: Post, address: Address) -> None:
        self._clock = clock
        self._ledger = ledger
        self._post = post
        self._address = address
        self._batch: list[Update] = []
        self._queue: deque[Delivery] = deque()
        self._in_flight: dict[int, Delivery] = {}
        self._workers: set[asyncio.Task[None]] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._deliveries = 0
        self._closed = False

    def configure(self, spec: NumberSpec, callbacks: Callbacks) -> None:
        """Set the registration and the callback settings, from the next attempt on."""
        self._spec, self._callbacks = spec, callbacks
        self._id, self._secret = spec.phone_number_id, spec.app_secret.encode()

    def put(self, update: Update) -> None:
        """Queue an update."""
        if self._closed:
            return
        self._ledger.count(self._id, f"updates.{update.label}")
        if self._callbacks.batch_max <= 1:
            self._enqueue(self._wrap([update]))
            return
        self._batch.append(update)
        if len(self._batch) >= self._callbacks.batch_max:
            self._flush(self._batch)
        elif len(self._batch) == 1:
            self._clock.at(self._clock.now() + self._callbacks.batch_wait, partial(self._flush, self._batch))

    async def settled(self) -> None:
        """Wait until nothing is queued or in flight; scheduled retries do not count."""
        await self._idle.wait()

    def stop(self) -> None:
        """Stop posting; pending callbacks are lost unless they were recorded."""
        self._closed = True
        self._queue.clear()
        for worker in self._workers:
            worker.cancel()

    async def close(self) -> None:
        """Stop, and wait for the requests in flight."""
        self.stop()
        await asyncio.gather(*self._workers, return_exceptions=True)

    def replay(self, number: int, status: int | None, error: str | None) -> None:
        """Apply the recorded outcome of an attempt."""
        for delivery in self._queue:
            if delivery.number == number:
                self._queue.remove(delivery)
                self._finish(delivery, status, error)
                return

    def resume(self) -> None:
        """Post the callbacks that a replay left in the queue."""
        for _ in range(min(len(self._queue), 1 if self._clock.frozen else self._callbacks.connections)):
            self._start_worker()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state; callbacks in flight are queued again."""
        ours = ("_in_flight", "_workers", "_idle")
        kept = {name: value for name, value in vars(self).items() if name not in ours}
        return {**kept, "_queue": deque([*self._in_flight.values(), *self._queue])}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state, with nothing in flight."""
        vars(self).update(state, _in_flight={}, _workers=set(), _idle=asyncio.Event())
        self._idle.set()

    def _flush(self, batch: list[Update]) -> None:
        if batch is self._batch:  # otherwise it was full and has been sent
            self._batch = []
            self._enqueue(self._wrap(batch))

    def _wrap(self, updates: list[Update]) -> Delivery:
        self._deliveries += 1
        return Delivery(
            self._deliveries, updates, webhook_body(self._spec.waba_id, self._spec.phone, self._id, updates)
        )

    def _enqueue(self, delivery: Delivery) -> None:
        if self._closed:
            return
        if self._address(self._spec, delivery.updates[0].field) is None:
            self._ledger.count(self._id, "callbacks.no_address")
            return
        self._queue.append(delivery)
        if self._clock.replaying:
            return
        # On a frozen clock one worker alone: the receiver sees one order, the same in every run.
        if len(self._workers) < (1 if self._clock.frozen else self._callbacks.connections):
            self._start_worker()

    def _start_worker(self) -> None:
        self._idle.clear()
        worker = asyncio.create_task(self._work())
        self._workers.add(worker)
        worker.add_done_callback(self._worker_done)

    async def _work(self) -> None:
        while self._queue:
            await self._attempt(self._queue.popleft())

    def _worker_done(self, worker: asyncio.Task[None]) -> None:
        self._workers.discard(worker)
        if self._queue and not self._workers:  # queued since the worker looked last
            self._start_worker()
        elif not self._workers:
            self._idle.set()

    async def _attempt(self, delivery: Delivery) -> None:
        url = self._address(self._spec, delivery.updates[0].field)
        status: int | None = None
        error: str | None = _NO_ADDRESS
        if url is not None:
            self._in_flight[delivery.number] = delivery
            signed = signature(self._secret, delivery.body)
            status, error = await self._post(url, delivery.body, signed, self._callbacks.timeout)
            del self._in_flight[delivery.number]
        self._clock.begin()
        self._clock.record("posted", self._id, delivery.number, status, error)
        self._finish(delivery, status, error)

    def _finish(self, delivery: Delivery, status: int | None, error: str | None) -> None:
        if error == _NO_ADDRESS:
            self._ledger.count(self._id, "callbacks.no_address")
            return
        delivery.attempts += 1
        self._record(delivery, status, error)
        if status != 200:
            self._retry(delivery)

    def _retry(self, delivery: Delivery) -> None:
        if delivery.attempts > len(self._callbacks.retry):
            self._ledger.count(self._id, "callbacks.abandoned")
            return
        due = self._clock.now() + self._callbacks.retry[delivery.attempts - 1]
        self._clock.at(due, partial(self._enqueue, delivery))

    def _record(self, delivery: Delivery, status: int | None, error: str | None) -> None:
        self._ledger.count(self._id, "callbacks.delivered" if status == 200 else "callbacks.failed_attempts")
        person = delivery.updates[0].person if len(delivery.updates) == 1 else None
        updates = [(update.wamid, update.label) for update in delivery.updates]
        self._ledger.put(
            "callback",
            (self._clock.now(), self._id, person, delivery.number, delivery.attempts, status, error, updates),
        )
