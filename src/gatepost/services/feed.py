"""The event feed with waiting: the next page as soon as there is one."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from uuid import UUID

import msgspec

from gatepost.services.event_waiters import EventWaiter
from gatepost.store.events import FeedPage, read_feed_page
from gatepost.store.pool import Database

_PAGE = 100  # rows that a stream holds at once, however slow its reader is


class FeedQuery(msgspec.Struct, frozen=True):
    """Which events to read: those after a cursor, all or of some types."""

    channel_id: UUID
    after: UUID
    types: Sequence[str] | None = None


async def next_page(db: Database, query: FeedQuery, watcher: EventWaiter, limit: int, seconds: float) -> FeedPage:
    """Return the next events, waiting at limit that many seconds; without events if there were none."""
    loop, after = asyncio.get_running_loop(), query.after
    until = loop.time() + seconds
    while True:
        watcher.expect()
        page = await read_feed_page(db, query.channel_id, after, query.types, limit)
        left = until - loop.time()
        if page.events or left <= 0 or watcher.ended:
            return page
        after = page.reached
        if not page.more:
            await watcher.wait(left)


async def follow(db: Database, query: FeedQuery, watcher: EventWaiter, beat: float) -> AsyncIterator[FeedPage]:
    """Yield page after page until the watcher ends; one without events if there was none for a heartbeat."""
    after = query.after
    while not watcher.ended:
        page = await next_page(db, msgspec.structs.replace(query, after=after), watcher, _PAGE, beat)
        after = page.reached
        yield page
