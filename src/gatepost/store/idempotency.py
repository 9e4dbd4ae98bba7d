"""A request that creates, under its Idempotency-Key: done once, and its answer kept for whoever asks again.

key unknown          ─► done; the answer is kept in the commit of what it tells of
same body, answered  ─► Replay: the first answer
same body, begun     ─► 409; once whoever began it has been silent for LEASE, whoever asks takes it over
other body           ─► 422

What takes one commit calls `check` and `keep` in it, under the channel's head. What goes through more than one (a call
to the network, a long table) calls `begin` in the first and `keep` in the last; between them the row has no answer.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar
from uuid import UUID

import msgspec

from gatepost.model.errors import Conflict, Invalid
from gatepost.store.pool import Connection, Database

T = TypeVar("T")
LEASE = timedelta(seconds=60)


class IdempotencyKey(msgspec.Struct, frozen=True):
    """An Idempotency-Key, and what it was used for."""

    route: str
    key: str
    body_hash: bytes


class Replay(Exception):
    """The request was done before. Nothing is to be done but to give its answer again."""

    def __init__(self, answer: bytes) -> None:
        super().__init__("The request was done before.")
        self.answer = answer


class AnswerSeal(msgspec.Struct, frozen=True):
    """How an answer that holds a secret is kept."""

    close: Callable[[bytes], bytes]
    open: Callable[[bytes], bytes]


PLAIN = AnswerSeal(lambda answer: answer, lambda kept: kept)


class IdempotentRequest(Generic[T]):
    """One request that creates, with its key; without a key everything here does nothing."""

    def __init__(
        self, channel_id: UUID, key: IdempotencyKey | None, show: Callable[[T], bytes], seal: AnswerSeal = PLAIN
    ) -> None:
        self._channel_id = channel_id
        self._key = key
        self._show = show
        self._seal = seal

    @property
    def keyed(self) -> bool:
        """Whether anybody can ask for the answer again."""
        return self._key is not None

    async def look(self, db: Database, now: datetime) -> None:
        """Ends a request that needs no doing, before anything is locked or asked. `check` is what is sure."""
        if self._key is not None:
            async with db.connection() as conn:
                await self.check(conn, now)

    async def check(self, conn: "Connection[Any]", now: datetime) -> bool:
        """Raises what the key stands for already. True: it was begun and left, and is to be done to its end."""
        if self._key is None:
            return False
        row = await conn.fetchrow(
            """SELECT body_hash, answer, created_at FROM idempotency_keys
               WHERE channel_id = $1 AND route = $2 AND key = $3""",
            *self._place(self._key),
        )
        if row is None:
            return False
        if row["body_hash"] != self._key.body_hash:
            raise reused()
        if row["answer"] is not None:
            raise Replay(self._seal.open(row["answer"]))
        if now < row["created_at"] + LEASE:
            raise in_progress()
        return True

    async def begin(self, conn: "Connection[Any]", now: datetime) -> None:
        """Notes that the request is under way, or still is. `check` goes first, and both under the channel's head."""
        if self._key is not None:
            await self._write(conn, self._key, None, now)

    async def renew(self, db: Database, now: datetime) -> None:
        """Says that what was begun goes on."""
        if self._key is not None:
            async with db.connection() as conn:
                await self.begin(conn, now)

    async def keep(self, conn: "Connection[Any]", made: T, now: datetime) -> None:
        """Keeps the answer in the commit of what it tells of."""
        if self._key is not None:
            await self._write(conn, self._key, self._seal.close(self._show(made)), now)

    async def forget(self, db: Database) -> None:
        """What was begun has failed: the key is free again."""
        if self._key is not None:
            async with db.connection() as conn:
                await conn.execute(
                    """DELETE FROM idempotency_keys
                       WHERE channel_id = $1 AND route = $2 AND key = $3 AND answer IS NULL""",
                    *self._place(self._key),
                )

    def through(self, show: Callable[[Any], T]) -> "IdempotentRequest[Any]":
        """The same request for an inner part, which makes only some of what the answer tells."""
        outer = self._show
        return IdempotentRequest(self._channel_id, self._key, lambda made: outer(show(made)), self._seal)

    async def _write(self, conn: "Connection[Any]", key: IdempotencyKey, answer: bytes | None, now: datetime) -> None:
        """Two that began at once without a common lock wait for one another here; the second is told to come back."""
        written = await conn.fetchval(
            """INSERT INTO idempotency_keys AS k (channel_id, route, key, body_hash, answer, created_at)
               VALUES ($1, $2, $3, $4, $5, $6)
               ON CONFLICT (channel_id, route, key) DO UPDATE SET answer = $5, created_at = $6
               WHERE k.answer IS NULL AND k.body_hash = $4 RETURNING 1""",
            *self._place(key),
            key.body_hash,
            answer,
            now,
        )
        if written is None:
            raise in_progress()

    def _place(self, key: IdempotencyKey) -> tuple[UUID, str, str]:
        return self._channel_id, key.route, key.key


NEVER: IdempotentRequest[Any] = IdempotentRequest(UUID(int=0), None, lambda _: b"")


def nth(key: IdempotencyKey | None, number: int) -> IdempotencyKey | None:
    """The key of one item of a batch: each is remembered by itself, so that what was refused may be tried again."""
    return IdempotencyKey(key.route, f"{key.key}#{number}", key.body_hash) if key else None


async def check_items(db: Database, channel_id: UUID, key: IdempotencyKey, most: int) -> None:
    """Refuses a batch under the key of another, as a whole. The first item that was kept tells."""
    async with db.connection() as conn:
        known = await conn.fetchval(
            """SELECT k.body_hash FROM generate_series(0, $4::int - 1) AS item (number) CROSS JOIN LATERAL (
                   SELECT body_hash FROM idempotency_keys
                   WHERE channel_id = $1 AND route = $2 AND key = $3::text || '#' || item.number LIMIT 1) k
               LIMIT 1""",
            channel_id,
            key.route,
            key.key,
            most,
        )
    if known is not None and known != key.body_hash:
        raise reused()


def reused() -> Invalid:
    return Invalid(
        "This Idempotency-Key was used before with another body. Use a new key for a new request.",
        "idempotency_key_reused",
    )


def in_progress() -> Conflict:
    return Conflict(
        "A request with this Idempotency-Key is being worked on. Try again in a second.",
        "idempotency_in_progress",
        retry_after=1,
    )
