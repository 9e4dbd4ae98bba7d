"""Searching by words: blocks of messages with their words, and newer messages that are not in a block yet.

    ids of a channel ──────────────────────────────────────────────►
    ┌ block ┐┌ block ┐┌ block ┐ closed · · · · · ·
      found by the index        read message by message

How blocks are written: `store/search/index.py`.

A frequent word is found in the newest blocks; the index would name nearly all blocks of the channel. Only if those few
do not contain enough matches is the index used, which finds rare words quickly (`store/search/walk.py` decides).
"""

import asyncio
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain, pairwise
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.dates import LAST_ID, IdRange
from gatepost.model.search_words import SearchQuery
from gatepost.store.pool import Connection, Database
from gatepost.store.search.walk import FIRST, SAMPLE, Walked

_MANY = 1_000  # words of one block with the same prefix, after which other tasks run
_SHORT = 100  # characters of a block's list of positions, up to which their ids come with it
_LOOKS = (24, 64)  # blocks named by the index: after how many enough is checked, and the search ends


class SearchHits(msgspec.Struct, frozen=True):
    """Messages that contain all words, and up to which id blocks were read; None: to the end."""

    ids: list[UUID]
    reached: UUID | None


async def read_indexed_end(db: Database, channel_id: UUID) -> UUID:
    """Return the newest message whose words are in a block."""
    closed = await db.fetchval("SELECT closed FROM search_progress WHERE channel_id = $1", channel_id)
    return closed or ids.ZERO


async def search_blocks(
    db: Database, channel_id: UUID, sought: SearchQuery, span: IdRange, *, limit: int
) -> SearchHits:
    """Return the newest messages of a range that contain all words: at most `limit`, from some hundred blocks."""
    # One snapshot, because a block may be written again between two statements.
    async with db.connection() as conn, conn.transaction(isolation="repeatable_read", readonly=True):
        look = _Look(conn, channel_id, sought, span, limit)
        reached = await _walk(look)
        if reached is not None and not look.walked.enough:
            reached = await _ask_index(look, IdRange(span.start, reached))
    return SearchHits(look.found, look.found[-1] if not look.missing else reached)


class _Match(msgspec.Struct, frozen=True):
    """The messages of a block that contain all words, the newest first; their ids, if they came with the positions."""

    last_id: UUID
    places: list[int]
    ids: list[UUID] | None


class _Look(msgspec.Struct):
    """One search: its conditions, and the messages found so far, the newest first."""

    conn: "Connection[Any]"
    channel_id: UUID
    sought: SearchQuery
    span: IdRange
    limit: int
    found: list[UUID] = msgspec.field(default_factory=list)
    blocks: int = 0  # that were read
    holding: int = 0  # those with all words, be it in different messages

    @property
    def missing(self) -> int:
        return self.limit - len(self.found)

    @property
    def walked(self) -> Walked:
        return Walked(self.blocks, self.holding, len(self.found), self.missing)

    @property
    def asked(self) -> tuple[UUID, list[str], str]:
        return self.channel_id, sorted(self.sought.whole), self.sought.begun

    async def take(self, blocks: Iterable[Any]) -> None:
        """Add the matches of these blocks. The ids of a block are read only if they are needed."""
        held = []
        for row in blocks:
            lists = [*row["whole"], ",".join(row["begun"])]
            self.blocks, self.holding = self.blocks + 1, self.holding + all(lists)
            if places := _common(lists):
                held.append(_Match(row["last_id"], places, row["ids"] and sorted(set(row["ids"]), reverse=True)))
            if len(row["begun"]) > _MANY:
                await asyncio.sleep(0)
        while held and self.missing:
            counts = accumulate(len(match.places) for match in held)
            some = 1 + next((i for i, count in enumerate(counts) if count >= self.missing), len(held))
            named = chain.from_iterable(await _ids_of(self, held[:some]))
            self.found += [id_ for id_ in named if self.span.start <= id_ < self.span.end][: self.missing]
            held = held[some:]


async def _walk(look: _Look) -> UUID | None:
    """Look into the newest blocks, and into more of them as long as the index would take longer."""
    end: UUID = look.span.end
    blocks = FIRST
    while True:
        rows = await _read_newest(look, IdRange(look.span.start, end), blocks)
        await look.take(rows)
        if len(rows) < blocks:
            return None
        end, walked = rows[-1]["first_id"], look.walked
        if walked.enough:
            return end
        if not walked.without_index and not walked.faster_than_index(_blocks_in(rows[0])):
            return end
        blocks = walked.next


def _blocks_in(row: Any) -> float:
    """Return about how many blocks a range has, by the time that the newest of them cover; 0 if it has few."""
    if row["sampled"] is None:
        return 0
    newest, sampled, oldest = (ids.milliseconds_of(row[name]) for name in ("last_id", "sampled", "oldest"))
    return SAMPLE * (newest - oldest) / max(1, newest - sampled)


async def _ask_index(look: _Look, span: IdRange) -> UUID | None:
    """Read the blocks that contain all words."""
    newest = await _newest_blocks(look, span, _LOOKS[-1])
    # Each block that is named for one word holds at least one message: as many blocks as messages are missing suffice.
    sure = 0 if look.sought.whole else min(look.missing, _LOOKS[0])
    for first, end in pairwise((0, *sorted({sure, *_LOOKS} - {0}))):
        if newest[first:end] and look.missing:
            await look.take(await _look_into(look, newest[first:end]))
    return await _begin(look, newest[-1]) if look.missing and len(newest) == _LOOKS[-1] else None


async def _newest_blocks(look: _Look, span: IdRange, limit: int) -> list[UUID]:
    """Return the ends of blocks that contain all words, by the index of words alone: IS TRUE excludes any other.

    They are found in about the order in which they were written, the oldest first. Sorting that way costs little;
    keeping the newest of thousands the other way costs most of a search.
    """
    found: list[UUID] = await look.conn.fetchval(
        """SELECT ends[greatest(1, cardinality(ends) + 1 - $5::int):] FROM (
               SELECT array_agg(last_id) AS ends FROM (
                   SELECT last_id FROM search_blocks
                   WHERE words @@ $2::text::tsquery
                     AND (channel_id = $1) IS TRUE AND (last_id >= $3) IS TRUE AND (first_id < $4) IS TRUE
                   ORDER BY last_id) named) a""",
        look.channel_id,
        query_text(look.channel_id, look.sought),
        span.start,
        span.end,
        limit,
    )
    return (found or [])[::-1]


async def _begin(look: _Look, last_id: UUID) -> UUID:
    """Return the first message of a block."""
    first_id: UUID = await look.conn.fetchval(
        "SELECT first_id FROM search_blocks WHERE channel_id = $1 AND last_id = $2", look.channel_id, last_id
    )
    return first_id


async def _read_newest(look: _Look, span: IdRange, limit: int) -> Sequence[Any]:
    """Return the newest blocks that cover a part of the range, with the positions of the words in them, if any.

    With them come two blocks by which the number of all is estimated.
    """
    found: Sequence[Any] = await look.conn.fetch(
        f"""SELECT b.last_id, b.first_id, NULL::uuid[] AS ids, {_places(look.sought)},
                (SELECT last_id FROM search_blocks WHERE channel_id = $1 AND last_id >= $4
                 ORDER BY last_id LIMIT 1) AS oldest,
                (SELECT last_id FROM search_blocks WHERE channel_id = $1 AND last_id >= $4 AND last_id < $5
                 ORDER BY last_id DESC OFFSET $7 LIMIT 1) AS sampled
            FROM (
                SELECT last_id, first_id, places FROM search_blocks
                WHERE channel_id = $1 AND last_id >= $4 AND first_id < $5 AND last_id <= COALESCE(
                    (SELECT last_id FROM search_blocks WHERE channel_id = $1 AND last_id >= $5
                     ORDER BY last_id LIMIT 1), '{LAST_ID}')
                ORDER BY last_id DESC LIMIT $6) b {_UNPACKED}
            ORDER BY b.last_id DESC""",
        *look.asked,
        span.start,
        span.end,
        limit,
        SAMPLE,
    )
    return found


async def _look_into(look: _Look, keys: Sequence[UUID]) -> Sequence[Any]:
    """Return the positions of the words in each block, in the order of the keys.

    Of a single word the ids come with them, because each of the blocks has a message with it.
    """
    found: Sequence[Any] = await look.conn.fetch(
        f"""SELECT last_id, {"NULL::uuid[]" if look.sought.whole else _IDS_OF_ONE_WORD} AS ids, whole, begun
            FROM (SELECT wanted.id AS last_id, wanted.turn, b.ids, {_places(look.sought)}
                  FROM unnest($4::uuid[]) WITH ORDINALITY AS wanted (id, turn) CROSS JOIN LATERAL (
                      SELECT places, ids FROM search_blocks
                      WHERE channel_id = $1 AND last_id = wanted.id LIMIT 1) b {_UNPACKED} OFFSET 0) block
            ORDER BY turn""",
        *look.asked,
        list(keys),
    )
    return found


# Of few positions only: a prefix may stand for thousands of words.
_IDS_OF_ONE_WORD = f"""CASE WHEN octet_length(array_to_string(begun, ',')) <= {_SHORT} THEN
    ARRAY(SELECT ids[place] FROM unnest(string_to_array(array_to_string(begun, ','), ',')::int[]) AS place) END"""
# Unpacked once, and not again for every word.
_UNPACKED = "CROSS JOIN LATERAL (SELECT b.places || '' AS text OFFSET 0) p"


def _places(sought: SearchQuery) -> str:
    """Return the lists of positions of each whole word, and of all words with the prefix."""
    line = r"split_part(split_part(text, E'\n' || ($2::text[])[{}] || ':', 2), E'\n', 1)"
    whole = ", ".join(line.format(place) for place in range(1, len(sought.whole) + 1))
    return rf"""ARRAY[{whole}]::text[] || ($2::text[])[:0] AS whole,
        ARRAY(SELECT split_part(split_part(piece, E'\n', 1), ':', 2)
              FROM unnest((string_to_array(text, E'\n' || $3::text))[2:]) AS piece) AS begun"""


def _common(lists: Sequence[str]) -> list[int]:
    """Return the positions of a block that are in all lists, the newest first."""
    if not all(lists):
        return []
    return sorted(map(int, set.intersection(*(set(text.split(",")) for text in lists))), reverse=True)


async def _ids_of(look: _Look, matches: Sequence[_Match]) -> list[list[UUID]]:
    """Return the ids of the messages of each block: as they came with it, or else read now."""
    unread = [match for match in matches if match.ids is None]
    read = iter(await _read_ids(look, unread) if unread else ())
    return [next(read) if match.ids is None else match.ids for match in matches]


async def _read_ids(look: _Look, matches: Sequence[_Match]) -> list[list[UUID]]:
    """Return the ids at the positions of each block."""
    rows = await look.conn.fetch(
        """SELECT ARRAY(SELECT every[place] FROM unnest(wanted.places::int[]) AS place) AS ids
           FROM unnest($2::uuid[], $3::text[]) WITH ORDINALITY AS wanted (id, places, turn)
           CROSS JOIN LATERAL (
               SELECT ids FROM search_blocks WHERE channel_id = $1 AND last_id = wanted.id LIMIT 1) b
           CROSS JOIN LATERAL (SELECT b.ids || '{}'::uuid[] AS every OFFSET 0) unpacked
           ORDER BY wanted.turn""",
        look.channel_id,
        [match.last_id for match in matches],
        [f"{{{','.join(map(str, match.places))}}}" for match in matches],
    )
    return [row["ids"] for row in rows]


def query_text(channel_id: UUID, sought: SearchQuery) -> str:
    """Return the search as PostgreSQL's query text; our words hold letters and digits only."""
    mark = channel_prefix(channel_id)
    return " & ".join([*(f"'{mark}{word}'" for word in sorted(sought.whole)), f"'{mark}{sought.begun}':*"])


def channel_prefix(channel_id: UUID) -> str:
    """Return the prefix of a channel's words in the index, which has no other key."""
    return channel_id.hex[-10:] + ":"
