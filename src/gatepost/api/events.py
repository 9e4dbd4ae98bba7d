"""The feed: all events of a channel, in order and without a gap. A receiver that was down catches up here."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
from litestar import Request, Response, get
from litestar.background_tasks import BackgroundTask

from gatepost.access.access_recheck import recheck_access
from gatepost.api.context import ApiContext, Context, CurrentCaller
from gatepost.api.json_body import answer
from gatepost.api.paging import check_query, read_limit
from gatepost.api.sse import KIND, write_stream
from gatepost.api.stream_response import StreamResponse
from gatepost.model import ids
from gatepost.model.errors import BadRequest, invalid_field
from gatepost.model.event import ALL_TYPES
from gatepost.services.event_waiters import EventWaiter
from gatepost.services.feed import FeedQuery, next_piece
from gatepost.store.events import FeedPage, newest_event, read_feed_page

_PATH = "/api/v1/events"
WAIT_MOST = 30  # seconds
STREAM_MOST = 3600  # seconds after which a stream may be asked to end by itself
_NOT_KEPT = (
    "This cursor is older than the {} days for which events are kept. Compare 'sequence' with the last one "
    "that you have: where it does not go on by one, the events between are gone."
)


@get(_PATH, opt={"scope": "read"}, summary="Read the event feed")
async def list_events(request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Events after a cursor, the oldest first. `paging.next` is where to go on, also when there is nothing new."""
    query = check_query(request.query_params, "after", "types", "limit", "wait")
    after, wait = query.get("after"), _wait(query.get("wait"))
    wanted = FeedQuery(caller.channel_id, _cursor("'after'", after) or ids.ZERO, _types(query.get("types")))
    limit = read_limit(query.get("limit"))
    piece = await read_feed_page(gateway.db, wanted.channel_id, wanted.after, wanted.types, limit)
    if wait and not piece.events and request.method != "HEAD":
        onward = msgspec.structs.replace(wanted, after=piece.reached)
        with gateway.waiters.watching(caller.channel_id, caller.principal.id) as watcher:
            piece = await _wait_for_piece(request, gateway, onward, watcher, limit, wait)
    following = after if piece.reached == wanted.after else ids.show("evt", piece.reached)
    events = [msgspec.Raw(event.body.encode()) for event in piece.events]
    return answer(events, old_cursor(gateway, wanted.after) or "OK", paging=following)


@get(_PATH + "/stream", opt={"scope": "read"}, summary="Follow the events as they happen")
async def stream_events(request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller) -> StreamResponse:
    """Events as they happen, as server-sent events; `Last-Event-ID` or `after` names the last one that you have.

    It has no end unless `seconds` gives it one.
    """
    query = check_query(request.query_params, "after", "types", "seconds")
    types, seconds = _types(query.get("types")), _seconds(query.get("seconds"))
    last = _cursor("'Last-Event-ID'", request.headers.get("last-event-id"))
    after = last or _cursor("'after'", query.get("after")) or await newest_event(gateway.db, caller.channel_id)
    watcher = gateway.waiters.open(caller.channel_id, caller.principal.id)
    if seconds:
        asyncio.get_running_loop().call_later(seconds, watcher.end)
    wanted, note = FeedQuery(caller.channel_id, after, types), old_cursor(gateway, after)
    pieces = write_stream(gateway, wanted, watcher, note)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "X-Content-Type-Options": "nosniff"}
    done = BackgroundTask(gateway.waiters.close, watcher)
    return StreamResponse(pieces, media_type=KIND, headers=headers, background=done)


async def _wait_for_piece(
    request: Request[Any, Any, Any], gateway: ApiContext, wanted: FeedQuery, watcher: EventWaiter, limit: int, wait: int
) -> FeedPage:
    """The next events, for somebody who is still there and whose key is still good."""
    with _ending_with(request, watcher):
        piece = await next_piece(gateway.db, wanted, watcher, limit, wait)
    await recheck_access(request.scope)
    return piece


@contextmanager
def _ending_with(request: Request[Any, Any, Any], watcher: EventWaiter) -> Iterator[None]:
    """Ends the waiting of somebody who hangs up: what they no longer wait for would count against their key."""

    async def heed() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass  # a body that nobody asked for
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
    cursor = None if text is None else ids.read("evt", text)
    if text is not None and cursor is None:
        raise BadRequest(f"{name} must be the id of an event, or 'paging.next' of the last page.", "invalid_cursor")
    return cursor


def _types(text: str | None) -> list[str] | None:
    if text is None:
        return None
    wanted = list(dict.fromkeys(name.strip() for name in text.split(",")))
    unknown = [name for name in wanted if name not in ALL_TYPES]
    if unknown:
        raise invalid_field("types", f"'{unknown[0]}' is not an event type; there are: {', '.join(ALL_TYPES)}")
    return wanted


def _wait(text: str | None) -> int:
    return 0 if text is None else _whole("wait", text, 0, WAIT_MOST)


def _seconds(text: str | None) -> int | None:
    return None if text is None else _whole("seconds", text, 1, STREAM_MOST)


def _whole(name: str, text: str, least: int, most: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) + 1 and least <= int(text) <= most):
        raise invalid_field(name, f"must be a whole number of seconds from {least} to {most}")
    return int(text)
