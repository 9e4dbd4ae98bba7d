"""The event feed: pages of events, with waiting for the next one."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from uuid import UUID

import msgspec

from gatepost.services.event_waiters import EventWaiter
from gatepost.store.events import FeedPage, read_feed_page
from gatepost.store.pool import Database

_PAGE = 100  # maximum rows that a stream holds in memory, however slow its client is


class FeedQuery(msgspec.Struct, frozen=True):
    """Which events to read: those after a cursor, all or of some types."""

    channel_id: UUID
    after: UUID
    types: Sequence[str] | None = None


async def next_page(db: Database, query: FeedQuery, watcher: EventWaiter, limit: int, seconds: float) -> FeedPage:
    """Return the next page of events. Wait at most `seconds` for one; without any, return an empty page."""
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
    """Yield pages until the waiter ends. If there is no event for `beat` seconds, yield an empty page."""
    after = query.after
    while not watcher.ended:
        page = await next_page(db, msgspec.structs.replace(query, after=after), watcher, _PAGE, beat)
        after = page.reached
        yield page
