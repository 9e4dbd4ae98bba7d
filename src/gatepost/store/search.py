"""Searching by words: blocks of messages with the words in them, and the end behind which there are none yet.

    ids of a channel ──────────────────────────────────────────────►
    ┌ block ┐┌ block ┐┌ block ┐ closed · · · · · ·
      found by the index        read message by message

A block is written once for some hundred messages, by the channel's owner: accepting a message writes no word. Where a
message comes late, or is edited, its block is written anew.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.dates import Span
from gatepost.model.event import MESSAGE
from gatepost.model.words import Sought, words_of
from gatepost.store.heads import Lease, hold_epoch
from gatepost.store.pool import Connection, Database

BLOCK = 128  # messages of a block
_FULL = 200  # with latecomers
_LOOKS = (0, 4, 16, 28, 40, 52, 64)  # blocks after which it is asked whether that is enough, and at the last given up
_HEAVIEST = 500_000  # characters of a block; PostgreSQL keeps less than a megabyte of words
_EVENTS = 500


class Hits(msgspec.Struct, frozen=True):
    """Messages that hold all words, and up to which id blocks were looked at; None: to the end."""

    ids: list[UUID]
    reached: UUID | None


async def read_closed(db: Database, channel_id: UUID) -> UUID:
    """The newest message whose words are in a block."""
    async with db.connection() as conn:
        closed = await conn.fetchval("SELECT closed FROM search_ends WHERE channel_id = $1", channel_id)
    return closed or ids.ZERO


async def search_blocks(db: Database, channel_id: UUID, sought: Sought, span: Span, *, most: int) -> Hits:
    """The newest messages of a span that hold all words: `most` of them at most, from 64 blocks at most."""
    found: list[UUID] = []
    # One look at everything, for a block may be written anew between two.
    async with db.connection() as conn, conn.transaction(isolation="repeatable_read", readonly=True):
        newest = await _newest_blocks(conn, channel_id, sought, span, _LOOKS[-1])
        for first, end in pairwise(_LOOKS):
            keys = [block["last_id"] for block in newest[first:end]]
            for held in await _look_into(conn, channel_id, sought, keys) if keys else ():
                found += [id_ for id_ in held if span.start <= id_ < span.end]
            if len(found) >= most:
                return Hits(found[:most], found[most - 1])
    return Hits(found, newest[-1]["first_id"] if len(newest) == _LOOKS[-1] else None)


async def _newest_blocks(
    conn: "Connection[Any]", channel_id: UUID, sought: Sought, span: Span, most: int
) -> Sequence[Any]:
    """Blocks that have all words, by the index of words and nothing else: only so are rare words found in no time."""
    found: Sequence[Any] = await conn.fetch(
        """WITH hit AS MATERIALIZED (
               SELECT channel_id, last_id, first_id FROM search_blocks WHERE words @@ $2::text::tsquery)
           SELECT last_id, first_id FROM hit WHERE channel_id = $1 AND last_id >= $3 AND first_id < $4
           ORDER BY last_id DESC LIMIT $5""",
        channel_id,
        query_text(channel_id, sought),
        span.start,
        span.end,
        most,
    )
    return found


async def _look_into(
    conn: "Connection[Any]", channel_id: UUID, sought: Sought, keys: Sequence[UUID]
) -> list[list[UUID]]:
    """The messages of each block that hold all words, the newest first."""
    rows = await conn.fetch(
        r"""SELECT b.ids,
                   ARRAY(SELECT split_part(split_part(b.places, E'\n' || word || ':', 2), E'\n', 1)
                         FROM unnest($3::text[]) AS word) AS whole,
                   ARRAY(SELECT m[1] FROM regexp_matches(b.places, '\n' || $4::text || '[^:]*:([0-9,]+)', 'g') m)
                       AS begun
            FROM unnest($2::uuid[]) WITH ORDINALITY AS wanted (id, turn) CROSS JOIN LATERAL (
                SELECT ids, places FROM search_blocks WHERE channel_id = $1 AND last_id = wanted.id LIMIT 1) b
            ORDER BY wanted.turn""",
        channel_id,
        list(keys),
        list(sought.whole),
        sought.begun,
    )
    return [_holding(row["ids"], [*row["whole"], ",".join(row["begun"])]) for row in rows]


def _holding(block: Sequence[UUID], lists: Sequence[str]) -> list[UUID]:
    """The messages that all lists of places name, the newest first."""
    common = set.intersection(*({int(place) for place in text.split(",") if place} for text in lists))
    return [block[place - 1] for place in sorted(common, reverse=True)]


def query_text(channel_id: UUID, sought: Sought) -> str:
    """The search in PostgreSQL's words; ours hold letters and digits only."""
    mark = _mark(channel_id)
    return " & ".join([*(f"'{mark}{word}'" for word in sorted(sought.whole)), f"'{mark}{sought.begun}':*"])


def _mark(channel_id: UUID) -> str:
    return channel_id.hex[-10:] + ":"


# -- writing blocks ---------------------------------------------------------------------------------------------------


async def index_more(db: Database, lease: Lease) -> bool:
    """One step on: latecomers into their blocks, then one new block. Whether there may be more to do."""
    async with db.transaction() as conn:
        await hold_epoch(conn, lease.channel_id, lease.epoch)
        closed, seen = await _ends(conn, lease.channel_id)
        told, late = await _latecomers(conn, lease.channel_id, seen, closed)
        for lower, upper in await _spans_of(conn, lease.channel_id, late):
            await _write_anew(conn, lease.channel_id, lower, upper)
        behind = len(told) == _EVENTS
        # Only once all is told: else the messages of this block would be taken for latecomers of it.
        new = None if behind else await _next_block(conn, lease.channel_id, closed)
        if told or new:
            await _note_ends(conn, lease.channel_id, new or closed, told[-1] if told else seen)
    return behind or new is not None


async def forget_blocks(db: Database, now: datetime, days: int) -> None:
    """Deletes blocks whose messages are no longer kept."""
    async with db.connection() as conn:
        await conn.execute(
            "DELETE FROM search_blocks b USING channels c WHERE b.channel_id = c.id AND b.last_id < $1",
            ids.floor_id(now - timedelta(days=days)),
        )


async def _ends(conn: "Connection[Any]", channel_id: UUID) -> tuple[UUID, UUID]:
    """How far it is; before the first block nobody is late, whatever has been told."""
    row = await conn.fetchrow("SELECT closed, seen FROM search_ends WHERE channel_id = $1", channel_id)
    if row is not None and row["closed"] != ids.ZERO:
        return row["closed"], row["seen"]
    seen = await conn.fetchval("SELECT last_event_id FROM channel_heads WHERE channel_id = $1", channel_id)
    return ids.ZERO, seen or ids.ZERO


async def _note_ends(conn: "Connection[Any]", channel_id: UUID, closed: UUID, seen: UUID) -> None:
    await conn.execute(
        """INSERT INTO search_ends (channel_id, closed, seen) VALUES ($1, $2, $3)
           ON CONFLICT (channel_id) DO UPDATE SET closed = $2, seen = $3""",
        channel_id,
        closed,
        seen,
    )


class _Key(msgspec.Struct):
    id: str


class _Data(msgspec.Struct):
    key: _Key


class _Told(msgspec.Struct):
    data: _Data


_told = msgspec.json.Decoder(_Told)


async def _latecomers(
    conn: "Connection[Any]", channel_id: UUID, seen: UUID, closed: UUID
) -> tuple[list[UUID], list[UUID]]:
    """The next events, and the messages they tell of that belong into a block that is written already."""
    rows = await conn.fetch(
        """SELECT id, CASE WHEN type = $3 THEN body END AS body FROM events
           WHERE channel_id = $1 AND id > $2 ORDER BY id LIMIT $4""",
        channel_id,
        seen,
        MESSAGE,
        _EVENTS,
    )
    named = {_message_of(row["body"]) for row in rows if row["body"] is not None}
    return [row["id"] for row in rows], sorted(id_ for id_ in named if id_ is not None and id_ <= closed)


def _message_of(body: str) -> UUID | None:
    try:
        return ids.read("", _told.decode(body).data.key.id)
    except msgspec.MsgspecError:
        return None


async def _spans_of(conn: "Connection[Any]", channel_id: UUID, late: Sequence[UUID]) -> list[tuple[UUID, UUID]]:
    """What the blocks of these messages cover: from the block before, to their own end."""
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


async def _write_anew(conn: "Connection[Any]", channel_id: UUID, lower: UUID, upper: UUID) -> None:
    """Writes what one block covers as one block again, or as several where it has become too much."""
    await conn.execute("DELETE FROM search_blocks WHERE channel_id = $1 AND last_id = $2", channel_id, upper)
    while lower < upper:
        found = await _read(conn, channel_id, lower, upper, _FULL + 1)
        whole = len(found) <= _FULL
        fitting = _light(found if whole else dict(list(found.items())[:BLOCK]))
        end = upper if whole and len(fitting) == len(found) else max(fitting)
        if fitting:
            await _insert(conn, channel_id, end, fitting)
        lower = end


async def _next_block(conn: "Connection[Any]", channel_id: UUID, closed: UUID) -> UUID | None:
    """Writes the next block where there are enough messages for one; returns its end."""
    rows = await conn.fetch(
        "SELECT id FROM messages WHERE channel_id = $1 AND id > $2 ORDER BY id OFFSET $3 LIMIT 1",
        channel_id,
        closed,
        BLOCK - 1,
    )
    if not rows:
        return None
    fitting = _light(await _read(conn, channel_id, closed, rows[0]["id"], _FULL))
    await _insert(conn, channel_id, max(fitting), fitting)
    return max(fitting)


async def _read(conn: "Connection[Any]", channel_id: UUID, lower: UUID, upper: UUID, most: int) -> dict[UUID, set[str]]:
    rows = await conn.fetch(
        "SELECT id, content FROM messages WHERE channel_id = $1 AND id > $2 AND id <= $3 ORDER BY id LIMIT $4",
        channel_id,
        lower,
        upper,
        most,
    )
    return {row["id"]: words_of(row["content"]) for row in rows}


def _light(found: Mapping[UUID, set[str]]) -> dict[UUID, set[str]]:
    """As many of them, from the oldest on, as a block can carry; one always fits."""
    fitting: dict[UUID, set[str]] = {}
    weight = 0
    for id_, words in found.items():
        if fitting and weight > _HEAVIEST:
            break
        fitting[id_] = words
        weight += sum(len(word.encode()) + 16 for word in words)
    return fitting


async def _insert(conn: "Connection[Any]", channel_id: UUID, last_id: UUID, found: Mapping[UUID, set[str]]) -> None:
    places = places_of(found.values())
    await conn.execute(
        """INSERT INTO search_blocks (channel_id, last_id, first_id, ids, words, places)
           VALUES ($1, $2, $3, $4, array_to_tsvector($5::text[]), $6)""",
        channel_id,
        last_id,
        min(found),
        list(found),
        [_mark(channel_id) + word for word in places],
        "\n" + "".join(f"{word}:{','.join(at)}\n" for word, at in places.items()),
    )


def places_of(messages: Iterable[set[str]]) -> dict[str, list[str]]:
    """Every word, with the places of the messages that hold it."""
    places: dict[str, list[str]] = {}
    for place, words in enumerate(messages, 1):
        for word in words:
            places.setdefault(word, []).append(str(place))
    return places
