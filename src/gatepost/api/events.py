"""The feed: all events of a channel, in order and without a gap. A receiver that was down catches up here."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta

from gatepost.access.access_recheck import recheck_access
from gatepost.api.asgi import Request
from gatepost.api.context import ApiContext, Context, CurrentCaller
from gatepost.api.contract.events import Event
from gatepost.api.query import SECONDS, Limit, Query
from gatepost.api.responses import Page
from gatepost.api.route import get
from gatepost.api.sse import KIND, Seconds, event_stream, write_stream
from gatepost.api.stream_response import StreamResponse
from gatepost.model import ids
from gatepost.model.errors import BadRequest, invalid_field
from gatepost.model.event import ALL_TYPES
from gatepost.services.event_waiters import EventWaiter
from gatepost.services.feed import FeedQuery, next_page
from gatepost.store.events import FeedPage, newest_event, read_feed_page

_PATH = "/api/v1/events"
WAIT_MAX = 30  # seconds
_NOT_KEPT = (
    "This cursor is older than the {} days for which events are kept. Compare 'sequence' with the last one "
    "that you have: where it does not go on by one, the events between are gone."
)


After = Annotated[str, Meta(description="The id of an event: the list begins with the next one.")]
Types = Annotated[str, Meta(description=f"Event types with commas: {', '.join(ALL_TYPES)}.")]
Wait = Annotated[
    int, Meta(description="Seconds to wait for an event if there is none yet.", ge=0, le=WAIT_MAX, extra=SECONDS)
]


class FeedParameters(Query, frozen=True, kw_only=True):
    """Which events."""

    after: After | None = None
    types: Types | None = None
    limit: Limit = 20
    wait: Wait = 0


class StreamParameters(Query, frozen=True, kw_only=True):
    """Which events, and for how long."""

    after: After | None = None
    types: Types | None = None
    seconds: Seconds | None = None


@get(_PATH, scope="read", summary="Read the event feed", errors=("overloaded",))
async def list_events(query: FeedParameters, request: Request, gateway: Context, caller: CurrentCaller) -> Page[Event]:
    """Events after a cursor, the oldest first. `paging.next` is the next cursor, even if there is no new event."""
    start = FeedQuery(caller.channel_id, _cursor("'after'", query.after) or ids.ZERO, _types(query.types))
    page = await read_feed_page(gateway.db, start.channel_id, start.after, start.types, query.limit)
    if query.wait and not page.events and request.method != "HEAD":
        onward = msgspec.structs.replace(start, after=page.reached)
        with gateway.waiters.watching(caller.channel_id, caller.principal.id) as watcher:
            page = await _wait_for_page(request, gateway, onward, watcher, query.limit, query.wait)
    following = query.after if page.reached == start.after else ids.format_id("evt", page.reached)
    return Page(Event.all_of(page), following, old_cursor(gateway, start.after) or "OK")


@get(
    _PATH + "/stream",
    scope="read",
    summary="Follow the events as they happen",
    asks={"seconds": "1"},
    headers=("Last-Event-ID",),
    errors=("overloaded",),
    binary=(KIND,),
)
async def stream_events(
    query: StreamParameters, request: Request, gateway: Context, caller: CurrentCaller
) -> StreamResponse:
    """Events as they happen, as server-sent events; `Last-Event-ID` or `after` names the last one that you have.

    It has no end unless `seconds` gives it one.
    """
    types, last = _types(query.types), _cursor("'Last-Event-ID'", request.headers.get("last-event-id"))
    after = last or _cursor("'after'", query.after) or await newest_event(gateway.db, caller.channel_id)
    watcher = gateway.waiters.open(caller.channel_id, caller.principal.id)
    parts = write_stream(gateway, FeedQuery(caller.channel_id, after, types), watcher, old_cursor(gateway, after))
    close = partial(gateway.waiters.close, watcher)
    return event_stream(parts, seconds=query.seconds, end=watcher.end, close=close)


async def _wait_for_page(
    request: Request, gateway: ApiContext, feed: FeedQuery, watcher: EventWaiter, limit: int, wait: int
) -> FeedPage:
    """Return the next events, if the client is still connected and its key still valid."""
    with _ending_with(request, watcher):
        page = await next_page(gateway.db, feed, watcher, limit, wait)
    await recheck_access(request.scope)
    return page


@contextmanager
def _ending_with(request: Request, watcher: EventWaiter) -> Iterator[None]:
    """End the wait when the client disconnects: it would count against the limit of its key."""

    async def heed() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass  # a body, which this route ignores
        watcher.end()

    task = asyncio.create_task(heed())
    try:
        yield
    finally:
        task.cancel()


def old_cursor(gateway: ApiContext, cursor: UUID) -> str:
    """What to say of a cursor from before the oldest event that is kept; mostly nothing."""
    oldest = gateway.clock.now() - timedelta(days=gateway.events_days)
    return _NOT_KEPT.format(gateway.events_days) if ids.ZERO < cursor < ids.floor_id(oldest) else ""


def _cursor(name: str, text: str | None) -> UUID | None:
    cursor = None if text is None else ids.parse_id("evt", text)
    if text is not None and cursor is None:
        raise BadRequest(f"{name} must be the id of an event, or 'paging.next' of the last page.", "invalid_cursor")
    return cursor


def _types(text: str | None) -> list[str] | None:
    if text is None:
        return None
    feed = list(dict.fromkeys(name.strip() for name in text.split(",")))
    unknown = [name for name in feed if name not in ALL_TYPES]
    if unknown:
        raise invalid_field("types", f"'{unknown[0]}' is not an event type; there are: {', '.join(ALL_TYPES)}")
    return feed
