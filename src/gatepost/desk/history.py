"""Looking back: pages of a channel's messages, the newest first, by date, person, kind and words.

    asked ─► a place to read (channel, or one contact)  ─► rows looked at, 5,000 at most ─► page, cursor
        └──► words: what is not in blocks yet, as it is ─► blocks by their index         ─►┘

A page may be short, or empty, and still have a cursor: then as much was looked at as one answer may cost.
"""

from datetime import datetime
from uuid import UUID

import msgspec

from gatepost.model.dates import Span
from gatepost.model.words import Sought, words_of
from gatepost.store.history import Piece, Wanted, read_chosen, read_piece, read_texts
from gatepost.store.messages import StoredMessage
from gatepost.store.pool import Database
from gatepost.store.search import Hits, read_closed, search_blocks

SCAN = 5_000  # rows that one answer may look at
_WORD_SCAN, _WORD_SLICE = 1_000, 250  # messages whose words are read one by one, in all and at once
_CANDIDATES = 250  # messages with the right words that are looked at for the other filters


async def find_page(
    db: Database,
    channel_id: UUID,
    wanted: Wanted,
    sought: Sought | None,
    now: datetime,
    *,
    most: int,
) -> Piece:
    """The newest messages of the wanted span, `most` at most, and where to go on; None: that was all."""
    if sought is None:
        return await read_piece(db, channel_id, wanted, now, scan=SCAN, most=most)
    if wanted.contact_id is not None:
        return await _read_words(db, channel_id, wanted, sought, now, most)
    return await _search(db, channel_id, wanted, sought, now, most)


async def _search(db: Database, channel_id: UUID, wanted: Wanted, sought: Sought, now: datetime, most: int) -> Piece:
    """First what is in no block yet, then the blocks; rows are read only for what holds the words."""
    enough = _CANDIDATES if wanted.narrow else most
    closed = await read_closed(db, channel_id)
    behind, span = UUID(int=closed.int + 1), wanted.span
    hits = await _search_young(db, channel_id, sought, Span(max(behind, span.start), span.end), enough)
    old = Span(span.start, min(behind, span.end))
    if hits.reached is None and old.start < old.end:
        older = await search_blocks(db, channel_id, sought, old, most=enough - len(hits.ids))
        hits = Hits(hits.ids + older.ids, older.reached)
    return _cut(await read_chosen(db, channel_id, hits.ids, wanted, now), most, hits.reached)


async def _search_young(db: Database, channel_id: UUID, sought: Sought, span: Span, most: int) -> Hits:
    """Looks at each message's own words, and at nothing else of it."""
    found: list[UUID] = []
    end = span.end
    for _ in range(_WORD_SCAN // _WORD_SLICE):
        texts = await read_texts(db, channel_id, Span(span.start, end), _WORD_SLICE) if span.start < end else []
        found += [id_ for id_, content in texts if sought.fits(words_of(content))]
        if len(found) >= most:
            return Hits(found[:most], found[most - 1])
        if len(texts) < _WORD_SLICE:
            return Hits(found, None)
        end = texts[-1][0]
    return Hits(found, end)


async def _read_words(
    db: Database, channel_id: UUID, wanted: Wanted, sought: Sought, now: datetime, most: int
) -> Piece:
    """Looks at each message's own words."""
    found: list[StoredMessage] = []
    for _ in range(_WORD_SCAN // _WORD_SLICE):
        piece = await read_piece(db, channel_id, wanted, now, scan=_WORD_SLICE, most=_WORD_SLICE)
        found += [message for message in piece.messages if sought.fits(words_of(message.content))]
        if len(found) >= most:
            return _cut(found, most, piece.reached)
        if piece.reached is None:
            return Piece(found, None)
        wanted = _within(wanted, wanted.span.start, piece.reached)
    return Piece(found, wanted.span.end)


def _cut(found: list[StoredMessage], most: int, reached: UUID | None) -> Piece:
    """No more than asked for; what is cut off comes with the next page."""
    return Piece(found, reached) if len(found) <= most else Piece(found[:most], found[most - 1].id)


def _within(wanted: Wanted, start: UUID, end: UUID) -> Wanted:
    return msgspec.structs.replace(wanted, span=Span(start, end))
