"""Message history: pages of a channel's messages, the newest first, by date, person, kind and words.

    query ─► rows of the channel or of one contact          ─► at most 5,000 rows checked ─► page, cursor
        └──► words: messages in no block yet, one by one    ─► blocks by their index      ─►┘

A page may be short or empty and still have a cursor: then the limit of rows that one response may check was reached.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec
import structlog

from gatepost.compute import compute
from gatepost.model import ids
from gatepost.model.dates import IdRange
from gatepost.model.search_words import SearchQuery
from gatepost.services.messages import access_message
from gatepost.store.messages.history import (
    HistoryFilter,
    HistoryPage,
    StoredMessage,
    read_contact_ids,
    read_contents,
    read_history_page,
    read_messages,
    read_newer,
    read_texts,
)
from gatepost.store.pool import Database
from gatepost.store.search.query import SearchHits, read_indexed_end, search_blocks

log = structlog.get_logger("gatepost.search")
SCAN = 5_000  # rows that one response may check
_WORD_SCAN, _WORD_SLICE = 1_000, 250  # messages whose words are read one by one, in total and at once
_SCAN_SIZE, _SLICE_SIZE = 4 * 1024 * 1024, 512 * 1024  # their maximum size in bytes
_ROUNDS = 10  # searches for contacts: how often they continue where the last one reached its limits
_CANDIDATES = 250  # messages with the right words that are checked against the other filters
_COMPARED = 25  # messages of blocks whose contents are read at once


async def find_page(
    db: Database,
    channel_id: UUID,
    wanted: HistoryFilter,
    sought: SearchQuery | None,
    now: datetime,
    *,
    most: int,
) -> HistoryPage:
    """Return the newest messages that match, at most `most`, and the cursor of the next page; None if there is none."""
    if sought is None:
        return await read_history_page(db, channel_id, wanted, now, scan=SCAN, limit=most)
    if wanted.contact_id is not None:
        hits = await _search_each(db, channel_id, wanted, sought, _enough(wanted, sought, most))
        return _cut(await read_messages(db, channel_id, hits.ids, wanted, now), most, hits.reached)
    return await _search(db, channel_id, wanted, sought, now, most)


async def _search(
    db: Database, channel_id: UUID, wanted: HistoryFilter, sought: SearchQuery, now: datetime, most: int
) -> HistoryPage:
    """Return the page of a search. Rows are read only for messages with the words."""
    hits = await _find_hits(db, channel_id, wanted, sought, _enough(wanted, sought, most))
    return _cut(await read_messages(db, channel_id, hits.ids, wanted, now), most, hits.reached)


async def find_contacts_by_words(db: Database, channel_id: UUID, sought: SearchQuery) -> list[UUID]:
    """Return the contacts of the newest messages that contain the words: of at most 250 messages."""
    found: list[UUID] = []
    span = IdRange()
    for _ in range(_ROUNDS):
        hits = await _find_hits(db, channel_id, HistoryFilter(span), sought, _CANDIDATES - len(found))
        found += hits.ids
        if hits.reached is None or len(found) >= _CANDIDATES:
            break
        span = IdRange(end=hits.reached)
    return await read_contact_ids(db, channel_id, found)


async def _find_hits(
    db: Database, channel_id: UUID, wanted: HistoryFilter, sought: SearchQuery, enough: int
) -> SearchHits:
    """Search the messages that are in no block yet, then the blocks."""
    closed = await read_indexed_end(db, channel_id)
    behind, span = UUID(int=closed.int + 1), wanted.span
    young = _within(wanted, max(behind, span.start), span.end)
    hits = await _search_each(db, channel_id, young, sought, enough)
    old = IdRange(span.start, min(behind, span.end))
    if hits.reached is None and old.start < old.end:
        older = await search_blocks(db, channel_id, sought, old, limit=enough - len(hits.ids))
        hits = SearchHits(hits.ids + await _compare(db, channel_id, older.ids, sought), older.reached)
    return hits


async def _compare(db: Database, channel_id: UUID, chosen: list[UUID], sought: SearchQuery) -> list[UUID]:
    """Return those of the messages that contain the words, if the words of the index do not suffice to know it."""
    if sought.exact is None:
        return chosen
    found: list[UUID] = []
    for start in range(0, len(chosen), _COMPARED):
        contents = await read_contents(db, channel_id, chosen[start : start + _COMPARED])
        found += await compute(matching, contents, sought)
    return sorted(found, reverse=True)


async def _search_each(
    db: Database, channel_id: UUID, wanted: HistoryFilter, sought: SearchQuery, most: int
) -> SearchHits:
    """Search messages one by one, comparing only their words."""
    found: list[UUID] = []
    scanned = size = 0
    while wanted.span.start < wanted.span.end:
        texts = await read_texts(db, channel_id, wanted, limit=_WORD_SLICE, size=_SLICE_SIZE)
        found += await compute(matching, texts.messages, sought)
        if len(found) >= most:
            return SearchHits(found[:most], found[most - 1])
        if not texts.more:
            break
        wanted = _within(wanted, wanted.span.start, texts.messages[-1][0])
        scanned, size = scanned + len(texts.messages), size + texts.size
        if scanned >= _WORD_SCAN or size >= _SCAN_SIZE:
            return SearchHits(found, wanted.span.end)
    return SearchHits(found, None)


def matching(texts: Sequence[tuple[UUID, str]], sought: SearchQuery) -> list[UUID]:
    """Return the messages that contain the words. One whose words cannot be computed does not match."""
    found = []
    for id_, content in texts:
        try:
            if sought.fits_content(content):
                found.append(id_)
        except Exception:
            log.exception("words not computed", id=ids.message_id(id_))
    return found


def _enough(wanted: HistoryFilter, sought: SearchQuery, most: int) -> int:
    """Return how many messages with the right words are checked against the other filters, or compared exactly."""
    return _CANDIDATES if wanted.narrow or sought.exact else most


def _cut(read: HistoryPage, most: int, reached: UUID | None) -> HistoryPage:
    """Cut a page to `most` messages. The rest comes with the next page."""
    found = read.messages
    return (
        HistoryPage(found, read.reached or reached)
        if len(found) <= most
        else HistoryPage(found[:most], found[most - 1].id)
    )


def _within(wanted: HistoryFilter, start: UUID, end: UUID) -> HistoryFilter:
    return msgspec.structs.replace(wanted, span=IdRange(start, end))


class ConversationPosition(msgspec.Struct, frozen=True, array_like=True):
    """A position in a conversation, and the direction to read in."""

    contact_id: UUID
    message_id: UUID
    newer: bool


class ConversationPart(msgspec.Struct, frozen=True):
    """Some messages of a conversation, the newest first, and where it continues; None: it does not."""

    messages: list[StoredMessage]
    older: ConversationPosition | None
    newer: ConversationPosition | None


async def read_around(db: Database, channel_id: UUID, text: str, limit: int, now: datetime) -> ConversationPart:
    """Return a message with its neighbours: half of the page is newer, the rest is the message and older ones."""
    message = await access_message(db, channel_id, text)
    newer = await _read_newer(db, channel_id, ConversationPosition(message.contact_id, message.id, True), limit // 2)
    behind = ConversationPosition(message.contact_id, UUID(int=message.id.int + 1), False)
    older = await _read_older(db, channel_id, behind, limit - len(newer.messages), now)
    return ConversationPart(newer.messages + older.messages, older.older, newer.newer)


async def read_on(
    db: Database, channel_id: UUID, position: ConversationPosition, limit: int, now: datetime
) -> ConversationPart:
    """Return the next messages in the direction of a position."""
    if position.newer:
        return await _read_newer(db, channel_id, position, limit)
    return await _read_older(db, channel_id, position, limit, now)


async def _read_newer(db: Database, channel_id: UUID, position: ConversationPosition, limit: int) -> ConversationPart:
    contact_id = position.contact_id
    found = await read_newer(db, channel_id, contact_id, position.message_id, limit=limit + 1)
    messages = found[:limit][::-1]
    last = messages[0].id if messages else position.message_id
    more = len(found) > limit or bool(await read_newer(db, channel_id, contact_id, last, limit=1))
    back = ConversationPosition(contact_id, messages[-1].id, False) if messages else None
    return ConversationPart(messages, back, ConversationPosition(contact_id, last, True) if more else None)


async def _read_older(
    db: Database, channel_id: UUID, position: ConversationPosition, limit: int, now: datetime
) -> ConversationPart:
    contact_id = position.contact_id
    filter_ = HistoryFilter(IdRange(end=position.message_id), contact_id)
    page = await read_history_page(db, channel_id, filter_, now, scan=limit, limit=limit)
    back = ConversationPosition(contact_id, page.messages[0].id, True) if page.messages else None
    older = None if page.reached is None else ConversationPosition(contact_id, page.reached, False)
    return ConversationPart(page.messages, older, back)
