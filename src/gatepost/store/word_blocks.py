"""Writing the blocks of words that `store/search.py` looks into.

    messages behind the last block ── enough for one? ──► a new block
    a message that came late, or was edited ────────────► its block is written anew

A block is written once for some hundred messages, by the channel's owner: accepting a message writes no word.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.event import MESSAGE
from gatepost.model.words import words_of
from gatepost.store.heads import Lease, hold_epoch
from gatepost.store.pool import Connection, Database
from gatepost.store.search import mark_of

BLOCK = 128  # messages of a block
_FULL = 200  # with latecomers
_HEAVIEST = 500_000  # characters of a block; PostgreSQL keeps less than a megabyte of words
_EVENTS = 500


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
        [mark_of(channel_id) + word for word in places],
        "\n" + "".join(f"{word}:{','.join(at)}\n" for word, at in places.items()),
    )


def places_of(messages: Iterable[set[str]]) -> dict[str, list[str]]:
    """Every word, with the places of the messages that hold it."""
    places: dict[str, list[str]] = {}
    for place, words in enumerate(messages, 1):
        for word in words:
            places.setdefault(word, []).append(str(place))
    return places
