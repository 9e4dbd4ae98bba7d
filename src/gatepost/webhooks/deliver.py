"""Delivering: each endpoint of a channel has a round of its own, so that a dead one holds nobody back.

    deliveries behind the cursor ─┐
                                  ├─► sign ─► POST through the guard ─► attempt recorded ─► settled, or again at t
    retries that are due ─────────┘

An attempt that was not recorded (a crash after the receiver's 200) is made again, under the same webhook-id.
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from datetime import datetime
from uuid import UUID

import msgspec
import structlog

from gatepost.clock import Clock
from gatepost.model import ids
from gatepost.model.errors import Unavailable
from gatepost.store.batch import Batch
from gatepost.store.deliveries import (
    Attempt,
    DeliveryState,
    Due,
    Target,
    disable_gone,
    next_retry,
    read_pending,
    read_retries,
    record_attempts,
)
from gatepost.store.heads import Lease, StaleOwner
from gatepost.store.pool import Database
from gatepost.webhooks.post import Answer, Poster
from gatepost.webhooks.retry import Outcome, Verdict, after
from gatepost.webhooks.sign import signature_headers

log = structlog.get_logger("gatepost.webhooks")
_PAGE = 200
_STATES = {
    "delivered": DeliveryState.DELIVERED,
    "retry": DeliveryState.PENDING,
    "exhausted": DeliveryState.EXHAUSTED,
    "gone": DeliveryState.DROPPED,
}
_encode = msgspec.json.Encoder().encode


class Secret(msgspec.Struct, frozen=True):
    """A key that signs, and until when: after a rotation the old one goes on beside the new one for a while."""

    key: bytes
    until: datetime | None


class Post:
    """What every round of a process shares: the client, and the batch that records attempts."""

    def __init__(self, db: Database, clock: Clock, poster: Poster, linger: float) -> None:
        self.db = db
        self.clock = clock
        self.poster = poster
        self._batch: Batch[Lease, Attempt, None] = Batch(self._write, size=500, limit=1_000_000, linger=linger)

    async def record(self, lease: Lease, attempt: Attempt) -> None:
        await self._batch.put(lease, attempt)

    async def _write(self, lease: Lease, attempts: Sequence[Attempt]) -> list[Exception | None]:
        await record_attempts(self.db, lease, attempts, self.clock.now())
        return [None] * len(attempts)


class Round:
    """The deliveries to one endpoint, while the lease of its channel holds."""

    def __init__(
        self,
        post: Post,
        lease: Lease,
        target: Target,
        open_secrets: Callable[[Target], Sequence[Secret]],
        in_flight: int,
        alive: Callable[[], bool],
    ) -> None:
        self._post = post
        self._db = post.db
        self._clock = post.clock
        self._lease = lease
        self._open_secrets = open_secrets
        self.change(target)
        self._in_flight = in_flight
        self._alive = alive
        self._read_to = target.cursor
        self._under_way: dict[UUID, asyncio.Task[None]] = {}
        self._first: set[UUID] = set()
        self._more = True
        self._next_retry: datetime | None = None
        self._retries_known = False
        self._bell = asyncio.Event()
        self._stopping = False

    def ring(self) -> None:
        """There may be something new."""
        self._more = True
        self._bell.set()

    def change(self, target: Target) -> None:
        """The endpoint's address, headers or secrets may have been changed."""
        self.target, self._secrets = target, self._open_secrets(target)

    @property
    def idle(self) -> bool:
        return not self._more and not self._under_way and self._retries_known

    @property
    def next_retry(self) -> datetime | None:
        return self._next_retry

    @property
    def cursor(self) -> UUID:
        """Every delivery up to this event has had its first attempt recorded."""
        return UUID(int=min(self._first).int - 1) if self._first else self._read_to

    async def run(self) -> None:
        """The loop: until stopped, or until the lease is lost."""
        while not self._stopping and self._alive():
            self._bell.clear()
            try:
                await self.step()
            except StaleOwner:
                break
            except Unavailable:
                asyncio.get_running_loop().call_later(0.5, self._bell.set)
            await self._wait()

    async def stop(self) -> None:
        """Starts nothing more, and waits for what is under way."""
        self._stopping = True
        self._bell.set()
        await self.settled()

    async def settled(self) -> None:
        while self._under_way:
            await asyncio.wait(self._under_way.values())

    async def step(self) -> None:
        """Starts what is due, as far as there is room."""
        if not self._retries_known:
            await self._look_at_retries()
        now = self._clock.now()
        if self._next_retry is not None and self._next_retry <= now and self._room():
            await self._start_retries(now)
        if self._more and self._room():
            await self._start_pending()

    def _room(self) -> int:
        return max(0, self._in_flight - len(self._under_way))

    async def _start_pending(self) -> None:
        self._more = False
        most = min(_PAGE, self._room())
        due = await read_pending(self._db, self._lease.channel_id, self.target.id, self._read_to, most)
        for item in due:
            self._first.add(item.event_id)
            self._start(item)
        if due:
            self._read_to = due[-1].event_id
        if len(due) == most:
            self._more = True

    async def _start_retries(self, now: datetime) -> None:
        channel_id, under_way = self._lease.channel_id, list(self._under_way)
        for item in await read_retries(self._db, channel_id, self.target.id, now, under_way, self._room()):
            self._start(item)
        await self._look_at_retries()

    async def _look_at_retries(self) -> None:
        channel_id, under_way = self._lease.channel_id, list(self._under_way)
        self._next_retry = await next_retry(self._db, channel_id, self.target.id, under_way)
        self._retries_known = True

    def _start(self, due: Due) -> None:
        task = asyncio.create_task(self._deliver(due))
        self._under_way[due.event_id] = task
        task.add_done_callback(lambda done: self._done(due.event_id, done))

    def _done(self, event_id: UUID, task: "asyncio.Task[None]") -> None:
        self._under_way.pop(event_id, None)
        self._bell.set()
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._stopping = True
            if not isinstance(error, StaleOwner):
                log.error("round broke", endpoint=self.target.url, exc_info=error)

    async def _deliver(self, due: Due) -> None:
        """One attempt, from the signature to the record of it."""
        if not self._alive():
            raise StaleOwner
        target, at, number = self.target, self._clock.now(), due.attempts + 1
        headers = {
            "content-type": "application/json",
            "user-agent": "Gatepost",
            **target.headers,
            **signature_headers(self._live_secrets(at), ids.show("evt", due.event_id), int(at.timestamp()), due.body),
        }
        answer = await self._post.poster.post(target.url, headers, due.body)
        outcome = Outcome(answer.status, answer.error_kind, _retry_after(answer))
        verdict = after(number, outcome, self._clock.now(), random.random())
        await self._record(_attempt(target, due.event_id, number, at, headers, answer, verdict))
        self._first.discard(due.event_id)
        if verdict.at is not None:
            self._next_retry = min(self._next_retry or verdict.at, verdict.at)
        if verdict.fate == "gone":
            self._stopping = True
            reason = "The endpoint answered 410 Gone"
            await disable_gone(self._db, self._lease, target.id, reason, self._clock.now())
            log.warning("endpoint disabled", endpoint=target.url, reason=reason)

    def _live_secrets(self, at: datetime) -> list[bytes]:
        return [secret.key for secret in self._secrets if secret.until is None or at < secret.until]

    async def _record(self, attempt: Attempt) -> None:
        """Writes the attempt, however long the database is away, as long as the lease holds."""
        while True:
            try:
                await self._post.record(self._lease, attempt)
                return
            except Unavailable:
                if not self._alive():
                    raise StaleOwner from None
                await asyncio.sleep(0.25)

    async def _wait(self) -> None:
        if self._bell.is_set():
            return
        handle = None
        if self._next_retry is not None and self._room():
            delay = max(0.05, (self._next_retry - self._clock.now()).total_seconds())
            handle = asyncio.get_running_loop().call_later(min(delay, 3600), self._bell.set)
        await self._bell.wait()
        if handle:
            handle.cancel()


def _attempt(
    target: Target,
    event_id: UUID,
    number: int,
    at: datetime,
    headers: dict[str, str],
    answer: Answer,
    verdict: Verdict,
) -> Attempt:
    return Attempt(
        endpoint_id=target.id,
        event_id=event_id,
        number=number,
        at=at,
        latency_ms=answer.latency_ms,
        status=answer.status,
        error=answer.error,
        url=target.url,
        request_headers=_encode(headers).decode(),
        answer_headers=_encode(answer.headers).decode().replace("\\u0000", "") if answer.headers else None,
        answer_body=answer.body or None,
        state=_STATES[verdict.fate],
        next_at=verdict.at,
    )


def _retry_after(answer: Answer) -> str | None:
    for name, value in answer.headers:
        if name.lower() == "retry-after":
            return value
    return None
