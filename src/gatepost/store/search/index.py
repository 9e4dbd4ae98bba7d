"""Writing the blocks of words that `store/search/query.py` reads.

    messages after the last block ── enough for one? ──► a new block
    a message that came late, or was edited ───────────► its block is written again

The channel's owner writes a block once for some hundred messages: accepting a message writes no words. What is to be
indexed is read first, in one snapshot; the words are computed with no transaction open
(`services/search_indexing.py`); then each block is written in a transaction of its own, and the progress is saved last:
interrupted work is repeated. A message that changes in between has an event, and the next step finds it.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.event.parts import MESSAGE
from gatepost.store.channel_head import Lease, owner_transaction
from gatepost.store.pool import UNFIT_DATA, Connection, Database, delete_in_chunks
from gatepost.store.search.query import channel_prefix

BLOCK = 128  # messages of a block
FULL = 200  # with latecomers
HEAVIEST = 500_000  # bytes of a block's words; PostgreSQL keeps less than a megabyte of them
FAILURES = 2  # after which a message is skipped
_EVENTS = 1000  # that are read in one step
_SAVED = 500  # events after which the progress is saved


class SizedMessage(msgspec.Struct, frozen=True):
    """A message and the size of its content in bytes."""

    id: UUID
    size: int


class StaleBlock(msgspec.Struct, frozen=True):
    """A block to be written again: its end, and the messages that it covers now."""

    last_id: UUID
    messages: list[SizedMessage]


class PendingIndex(msgspec.Struct, frozen=True):
    """What is to be indexed next."""

    closed: UUID
    seen: UUID
    found: bool  # there are new events
    behind: bool  # there are more events than one step reads
    again: list[StaleBlock]
    fresh: list[SizedMessage]  # the messages of the next block; empty if there are not enough
    set_aside: frozenset[UUID]

    @property
    def more(self) -> bool:
        return self.behind or bool(self.fresh)


class WordBlock(msgspec.Struct, frozen=True):
    """A block as it is stored."""

    last_id: UUID
    ids: list[UUID]
    words: list[str]
    places: str


def build_block(channel_id: UUID, last_id: UUID, found: Mapping[UUID, set[str]]) -> WordBlock:
    """Return the block of these messages, in the order of their ids."""
    places = places_of(found.values())
    lines = "".join(f"{word}:{','.join(at)}\n" for word, at in places.items())
    return WordBlock(last_id, list(found), [channel_prefix(channel_id) + word for word in places], "\n" + lines)


def places_of(messages: Iterable[set[str]]) -> dict[str, list[str]]:
    """Return every word with the positions of the messages that contain it."""
    places: dict[str, list[str]] = {}
    for place, words in enumerate(messages, 1):
        for word in words:
            places.setdefault(word, []).append(str(place))
    return places


# -- reading -----------------------------------------------------------------------------------------------------------


async def find_unindexed(db: Database, channel_ids: Sequence[UUID]) -> dict[UUID, bool]:
    """Return those of the channels for which `read_pending` finds something to write."""
    rows = await db.fetch(_UNINDEXED, list(channel_ids), ids.ZERO, BLOCK - 1, _SAVED)
    return {row["channel_id"]: True for row in rows}


# A block of new messages; or, after the first block, a late message, or enough events to save the progress.
_UNINDEXED = f"""SELECT k.channel_id FROM unnest($1::uuid[]) AS k (channel_id)
    LEFT JOIN LATERAL (
        SELECT closed, seen FROM search_progress WHERE channel_id = k.channel_id AND closed <> $2 LIMIT 1) p ON true
    WHERE (SELECT id FROM messages WHERE channel_id = k.channel_id AND id > COALESCE(p.closed, $2)
           ORDER BY id OFFSET $3 LIMIT 1) IS NOT NULL
       OR (SELECT count(*) = $4 OR bool_or(type = '{MESSAGE}' AND message_id <= p.closed) FROM (
               SELECT type, message_id FROM events WHERE channel_id = k.channel_id AND id > p.seen
               ORDER BY id LIMIT $4) e)"""


async def read_pending(db: Database, lease: Lease) -> PendingIndex:
    """Read what is to be indexed, in one snapshot: a message that changes later has a later event."""
    channel_id = lease.channel_id
    async with db.connection() as conn, conn.transaction(isolation="repeatable_read", readonly=True):
        closed, seen = await _progress(conn, channel_id)
        events = await _new_events(conn, channel_id, seen, closed)
        spans = await _spans_of(conn, channel_id, events.late) if events.late else []
        again = [StaleBlock(upper, await _covered(conn, channel_id, lower, upper)) for lower, upper in spans]
        behind = events.count == _EVENTS
        # Only after all events: else the messages of this block would be taken for late ones.
        fresh = [] if behind else await _next_block(conn, channel_id, closed)
        looked_at = [message.id for messages in (*(one.messages for one in again), fresh) for message in messages]
        set_aside = await _set_aside(conn, channel_id, looked_at) if looked_at else frozenset()
    return PendingIndex(closed, events.last or seen, events.count > 0, behind, again, fresh, set_aside)


async def _progress(conn: "Connection[Any]", channel_id: UUID) -> tuple[UUID, UUID]:
    """Return the progress; before the first block no message is late."""
    row = await conn.fetchrow("SELECT closed, seen FROM search_progress WHERE channel_id = $1", channel_id)
    if row is not None and row["closed"] != ids.ZERO:
        return row["closed"], row["seen"]
    seen = await conn.fetchval("SELECT last_event_id FROM channel_heads WHERE channel_id = $1", channel_id)
    return ids.ZERO, seen or ids.ZERO


class _NewEvents(msgspec.Struct, frozen=True):
    """The next events: how many, the last one, and the messages they report that belong to an existing block."""

    count: int
    last: UUID | None
    late: list[UUID]


async def _new_events(conn: "Connection[Any]", channel_id: UUID, seen: UUID, closed: UUID) -> _NewEvents:
    row = await conn.fetchrow(
        f"""WITH e AS MATERIALIZED (
               SELECT id, type, message_id FROM events WHERE channel_id = $1 AND id > $2 ORDER BY id LIMIT $3)
           SELECT (SELECT count(*) FROM e) AS count, (SELECT id FROM e ORDER BY id DESC LIMIT 1) AS last,
                  ARRAY(SELECT DISTINCT message_id FROM e WHERE type = '{MESSAGE}' AND message_id <= $4 ORDER BY 1)
                    AS late""",
        channel_id,
        seen,
        _EVENTS,
        closed,
    )
    assert row is not None  # counts always give a row
    return _NewEvents(row["count"], row["last"], row["late"])


async def _spans_of(conn: "Connection[Any]", channel_id: UUID, late: Sequence[UUID]) -> list[tuple[UUID, UUID]]:
    """Return what the blocks of these messages cover: from the block before to their own end."""
    rows = await conn.fetch(
        """SELECT DISTINCT before.last_id AS lower, own.last_id AS upper FROM unnest($2::uuid[]) AS late (id)
           CROSS JOIN LATERAL (SELECT last_id FROM search_blocks WHERE channel_id = $1 AND last_id >= late.id
                               ORDER BY last_id LIMIT 1) own
           LEFT JOIN LATERAL (SELECT last_id FROM search_blocks WHERE channel_id = $1 AND last_id < late.id
                              ORDER BY last_id DESC LIMIT 1) before ON true""",
        channel_id,
        list(late),
    )
    return [(row["lower"] or ids.ZERO, row["upper"]) for row in rows]


async def _covered(conn: "Connection[Any]", channel_id: UUID, lower: UUID, upper: UUID) -> list[SizedMessage]:
    rows = await conn.fetch(
        """SELECT id, octet_length(content) AS size FROM messages
           WHERE channel_id = $1 AND id > $2 AND id <= $3 ORDER BY id""",
        channel_id,
        lower,
        upper,
    )
    return [SizedMessage(row["id"], row["size"]) for row in rows]


async def _next_block(conn: "Connection[Any]", channel_id: UUID, closed: UUID) -> list[SizedMessage]:
    """Return the messages of the next block, if there are enough."""
    last = await conn.fetchval(
        "SELECT id FROM messages WHERE channel_id = $1 AND id > $2 ORDER BY id OFFSET $3 LIMIT 1",
        channel_id,
        closed,
        BLOCK - 1,
    )
    return [] if last is None else await _covered(conn, channel_id, closed, last)


async def _set_aside(conn: "Connection[Any]", channel_id: UUID, messages: Sequence[UUID]) -> frozenset[UUID]:
    """Return those of the messages that failed too often."""
    rows = await conn.fetch(
        """SELECT message_id FROM search_failures
           WHERE channel_id = $1 AND message_id = ANY ($2::uuid[]) AND failures >= $3""",
        channel_id,
        list(messages),
        FAILURES,
    )
    return frozenset(row["message_id"] for row in rows)


# -- writing -----------------------------------------------------------------------------------------------------------


async def replace_block(db: Database, lease: Lease, last_id: UUID, blocks: Sequence[WordBlock]) -> None:
    """Replace a block by one or several. Only the owner of the channel may."""
    async with owner_transaction(db, lease) as conn:
        await _delete(conn, lease.channel_id, last_id)
        for block in blocks:
            await _insert(conn, lease.channel_id, block)


async def write_block(db: Database, lease: Lease, pending: PendingIndex, new: WordBlock | None) -> None:
    """Write the new block, if there is one, and the progress. Only the owner of the channel may."""
    async with owner_transaction(db, lease) as conn:
        if new:
            await _insert(conn, lease.channel_id, new)
        if pending.found or new:
            await _save_progress(conn, lease.channel_id, new.last_id if new else pending.closed, pending.seen)


async def _delete(conn: "Connection[Any]", channel_id: UUID, last_id: UUID) -> None:
    await conn.execute("DELETE FROM search_blocks WHERE channel_id = $1 AND last_id = $2", channel_id, last_id)


async def _insert(conn: "Connection[Any]", channel_id: UUID, block: WordBlock) -> None:
    await conn.execute(
        """INSERT INTO search_blocks (channel_id, last_id, first_id, ids, words, places)
           VALUES ($1, $2, $3, $4, array_to_tsvector($5::text[]), $6)""",
        channel_id,
        block.last_id,
        block.ids[0],
        block.ids,
        block.words,
        block.places,
    )


async def _save_progress(conn: "Connection[Any]", channel_id: UUID, closed: UUID, seen: UUID) -> None:
    await conn.execute(
        """INSERT INTO search_progress (channel_id, closed, seen) VALUES ($1, $2, $3)
           ON CONFLICT (channel_id) DO UPDATE SET closed = $2, seen = $3""",
        channel_id,
        closed,
        seen,
    )


async def block_fits(db: Database, channel_id: UUID, block: WordBlock) -> bool:
    """Whether PostgreSQL accepts a block; it is not stored."""
    try:
        async with db.connection() as conn:
            trial = conn.transaction()
            await trial.start()
            try:
                await _delete(conn, channel_id, block.last_id)
                await _insert(conn, channel_id, block)
            finally:
                await trial.rollback()
    except UNFIT_DATA:
        return False
    return True


async def count_failures(db: Database, lease: Lease, messages: Sequence[UUID]) -> list[UUID]:
    """Count a failure for each of the messages. Return those that are skipped from now on."""
    async with owner_transaction(db, lease) as conn:
        rows = await conn.fetch(
            """INSERT INTO search_failures AS f (channel_id, message_id, failures)
               SELECT $1, id, 1 FROM unnest($2::uuid[]) AS failed (id) ORDER BY id
               ON CONFLICT (channel_id, message_id) DO UPDATE SET failures = f.failures + 1
               RETURNING message_id, failures""",
            lease.channel_id,
            list(messages),
        )
    return [row["message_id"] for row in rows if row["failures"] == FAILURES]


async def forget_blocks(db: Database, now: datetime, days: int) -> None:
    """Delete blocks and failures of messages that are no longer kept, a chunk at a time: there may be millions."""
    first = ids.floor_id(now - timedelta(days=days))
    await delete_in_chunks(
        db,
        """DELETE FROM search_blocks WHERE ctid = ANY (ARRAY(
               SELECT old.ctid FROM channels c, LATERAL (
                   SELECT ctid FROM search_blocks WHERE channel_id = c.id AND last_id < $1
                   ORDER BY last_id LIMIT $2) old LIMIT $2)) RETURNING 1""",
        first,
    )
    async with db.connection() as conn:
        await conn.execute(
            "DELETE FROM search_failures f USING channels c WHERE f.channel_id = c.id AND f.message_id < $1", first
        )
