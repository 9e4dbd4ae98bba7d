"""The feed for whoever waits: the next piece as soon as there is one. The same rows as in the feed without waiting."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from uuid import UUID

import msgspec

from gatepost.services.event_waiters import EventWaiter
from gatepost.store.events import FeedPage, read_feed_page
from gatepost.store.pool import Database

_PAGE = 100  # rows that a stream holds at once, however slow its reader is


class FeedQuery(msgspec.Struct, frozen=True):
    """Which events somebody reads: those behind a cursor, all or of some types."""

    channel_id: UUID
    after: UUID
    types: Sequence[str] | None = None


async def next_piece(db: Database, wanted: FeedQuery, watcher: EventWaiter, most: int, seconds: float) -> FeedPage:
    """What is there, or what comes within so many seconds; empty where nothing did."""
    loop, after = asyncio.get_running_loop(), wanted.after
    until = loop.time() + seconds
    while True:
        watcher.expect()
        piece = await read_feed_page(db, wanted.channel_id, after, wanted.types, most)
        left = until - loop.time()
        if piece.events or left <= 0 or watcher.ended:
            return piece
        after = piece.reached
        if not piece.more:
            await watcher.wait(left)


async def follow(db: Database, wanted: FeedQuery, watcher: EventWaiter, beat: float) -> AsyncIterator[FeedPage]:
    """Piece after piece until the watcher is to end; where nothing came for a beat, one with no events."""
    after = wanted.after
    while not watcher.ended:
        piece = await next_piece(db, msgspec.structs.replace(wanted, after=after), watcher, _PAGE, beat)
        after = piece.reached
        yield piece
