"""Idempotency keys: a request that creates is done once, and a repeated request gets the first answer.

key unknown          ─► done; the answer is stored in the commit of what it reports
same body, answered  ─► Replay: the first answer
same body, begun     ─► 409; when the first request has not renewed its lease for LEASE, the next one takes over
other body           ─► 422

What takes one commit calls `check` and `keep` in it, under the channel's head. What takes more than one (a call to the
network, a long table) calls `begin` in the first and `keep` in the last; between them the row has no answer. Messages
of a batch have a key each, and are looked up and stored together (`find_answers`, `store_answers`).
"""

import hashlib
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar
from uuid import UUID

import msgspec

from gatepost.model.errors import BadRequest, Conflict, GatepostError, Invalid
from gatepost.store.pool import Connection, Database, delete_in_chunks

T = TypeVar("T")
LEASE = timedelta(seconds=60)


class IdempotencyKey(msgspec.Struct, frozen=True):
    """An Idempotency-Key, the route that it was used on, and the hash of the request's body."""

    route: str
    key: str
    body_hash: bytes


def idempotency_key(header: str | None, body: bytes, route: str) -> IdempotencyKey | None:
    """Read the Idempotency-Key header of a request, bare or quoted."""
    if header is None:
        return None
    key = header[1:-1] if len(header) >= 2 and header[0] == header[-1] == '"' else header
    if not 1 <= len(key) <= 255 or not (key.isascii() and key.isprintable()) or " " in key:
        raise BadRequest("Idempotency-Key must have 1 to 255 visible ASCII characters.", "invalid_idempotency_key")
    return IdempotencyKey(route, key, hashlib.sha256(body).digest())


class Replay(Exception):
    """The request was done before: repeat its answer and do nothing else."""

    def __init__(self, answer: bytes) -> None:
        super().__init__("The request was done before.")
        self.answer = answer


class AnswerSeal(msgspec.Struct, frozen=True):
    """How an answer that holds a secret is encrypted in the database."""

    close: Callable[[bytes], bytes]
    open: Callable[[bytes], bytes]


PLAIN = AnswerSeal(lambda answer: answer, lambda kept: kept)


class IdempotentRequest(Generic[T]):
    """One request that creates, with its key. Without a key every method does nothing."""

    def __init__(
        self, channel_id: UUID, key: IdempotencyKey | None, show: Callable[[T], bytes], seal: AnswerSeal = PLAIN
    ) -> None:
        self._channel_id = channel_id
        self._key = key
        self._show = show
        self._seal = seal

    @property
    def keyed(self) -> bool:
        """Whether the request can be repeated."""
        return self._key is not None

    async def look(self, db: Database, now: datetime) -> None:
        """End a repeated request early, before anything is locked. `check` decides."""
        if self._key is not None:
            async with db.connection() as conn:
                await self.check(conn, now)

    async def check(self, conn: "Connection[Any]", now: datetime) -> bool:
        """Raise Replay or an error if the key was used before. Return whether it was begun and abandoned."""
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
        if abs(now - row["created_at"]) < LEASE:  # later than now: the clock was set back since
            raise in_progress()
        return True

    async def begin(self, conn: "Connection[Any]", now: datetime) -> None:
        """Record that the request is in progress. Call `check` first, both under the channel's head."""
        if self._key is not None:
            await self._write(conn, self._key, None, now)

    async def renew(self, db: Database, now: datetime) -> None:
        """Extend the lease of a request in progress."""
        if self._key is not None:
            async with db.connection() as conn:
                await self.begin(conn, now)

    async def keep(self, conn: "Connection[Any]", made: T, now: datetime) -> None:
        """Store the answer in the commit of what it reports."""
        if self._key is not None:
            await self._write(conn, self._key, self._seal.close(self._show(made)), now)

    async def keep_unlocked(self, conn: "Connection[Any]", made: T, now: datetime) -> None:
        """As `keep`, without the channel's head: the second of two requests waits for the first, and repeats it."""
        try:
            await self.keep(conn, made, now)
        except Conflict:
            await self.check(conn, now)
            raise

    async def forget(self, db: Database) -> None:
        """Free the key of a request that began and failed."""
        if self._key is not None:
            await db.execute(
                """DELETE FROM idempotency_keys
                   WHERE channel_id = $1 AND route = $2 AND key = $3 AND answer IS NULL""",
                *self._place(self._key),
            )

    def through(self, show: Callable[[Any], T]) -> "IdempotentRequest[Any]":
        """Return the same request for an inner function, whose result `show` turns into the outer one's."""
        outer = self._show
        return IdempotentRequest(self._channel_id, self._key, lambda made: outer(show(made)), self._seal)

    async def _write(self, conn: "Connection[Any]", key: IdempotencyKey, answer: bytes | None, now: datetime) -> None:
        """Write the row. Of two requests without a common lock the second waits here for the first."""
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


async def was_used(db: Database, channel_id: UUID, key: IdempotencyKey) -> bool:
    """Return whether a key was used before, with any body."""
    found = "SELECT EXISTS (SELECT 1 FROM idempotency_keys WHERE channel_id = $1 AND route = $2 AND key = $3)"
    used: bool = await db.fetchval(found, channel_id, key.route, key.key)
    return used


NEVER: IdempotentRequest[Any] = IdempotentRequest(UUID(int=0), None, lambda _: b"")


# -- the messages of a batch ------------------------------------------------------------------------------------------


def nth(key: IdempotencyKey | None, number: int) -> IdempotencyKey | None:
    """Return the key of one item of a batch: each is stored separately, so that a refused item may be tried again."""
    return IdempotencyKey(key.route, f"{key.key}#{number}", key.body_hash) if key else None


async def check_items(db: Database, channel_id: UUID, key: IdempotencyKey, limit: int) -> None:
    """Refuse a whole batch whose key was used for another one, by the first of its items that is stored."""
    known = await db.fetchval(
        """SELECT k.body_hash FROM generate_series(0, $4::int - 1) AS item (number) CROSS JOIN LATERAL (
               SELECT body_hash FROM idempotency_keys
               WHERE channel_id = $1 AND route = $2 AND key = $3::text || '#' || item.number LIMIT 1) k
           LIMIT 1""",
        channel_id,
        key.route,
        key.key,
        limit,
    )
    if known is not None and known != key.body_hash:
        raise reused()


async def find_answers(
    conn: "Connection[Any]", channel_id: UUID, keys: Sequence[IdempotencyKey | None]
) -> list[bytes | GatepostError | None]:
    """Return for each key its stored answer, or its error, or None when it is new. Call under the channel's head."""
    found: list[bytes | GatepostError | None] = [None] * len(keys)
    keyed = [(i, key) for i, key in enumerate(keys) if key]
    if not keyed:
        return found
    rows = await conn.fetch(
        """SELECT k.* FROM unnest($2::text[], $3::text[]) AS asked (route, key) CROSS JOIN LATERAL (
               SELECT route, key, body_hash, answer FROM idempotency_keys
               WHERE channel_id = $1 AND route = asked.route AND key = asked.key LIMIT 1) k""",
        channel_id,
        [key.route for _, key in keyed],
        [key.key for _, key in keyed],
    )
    known = {(row["route"], row["key"]): row for row in rows}
    new = set()
    for i, key in keyed:
        row = known.get((key.route, key.key))
        if row is not None:
            found[i] = row["answer"] if row["body_hash"] == key.body_hash else reused()
        elif (key.route, key.key) in new:
            found[i] = in_progress()
        new.add((key.route, key.key))
    return found


async def store_answers(
    conn: "Connection[Any]", channel_id: UUID, answers: Sequence[tuple[IdempotencyKey, bytes]], now: datetime
) -> None:
    """Store the answers under their new keys."""
    if answers:
        await conn.execute(
            """INSERT INTO idempotency_keys (channel_id, route, key, body_hash, answer, created_at)
               SELECT $1, *, $6 FROM unnest($2::text[], $3::text[], $4::bytea[], $5::bytea[])""",
            channel_id,
            [key.route for key, _ in answers],
            [key.key for key, _ in answers],
            [key.body_hash for key, _ in answers],
            [answer for _, answer in answers],
            now,
        )


async def forget_idempotency_keys(db: Database, now: datetime, days: int) -> int:
    """Delete expired keys, a chunk at a time, and return how many."""
    return await delete_in_chunks(
        db,
        """DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(
               SELECT ctid FROM idempotency_keys WHERE created_at < $1 LIMIT $2)) RETURNING 1""",
        now - timedelta(days=days),
    )


def reused() -> Invalid:
    """Return the error of a key that was used with another body."""
    return Invalid(
        "This Idempotency-Key was used before with another body. Use a new key for a new request.",
        "idempotency_key_reused",
    )


def in_progress() -> Conflict:
    """Return the error of a key whose first request has not ended."""
    return Conflict(
        "A request with this Idempotency-Key is in progress. Try again in a second.",
        "idempotency_in_progress",
        retry_after=1,
    )
