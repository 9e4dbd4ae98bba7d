"""The event feed as server-sent events, which browsers (EventSource) and many libraries support.

retry: 2000                    milliseconds to wait before a reconnect
id: evt_…                      the start of the stream, so that a disconnect before the first event loses nothing

id: evt_…                      an event: a client that reconnects sends this id as Last-Event-ID
event: message_notification
data: {…}

:                              heartbeat without events; with an id if there were events of other types
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Annotated
from uuid import UUID

from msgspec import Meta

from gatepost.api.context import ApiContext
from gatepost.api.query import SECONDS
from gatepost.api.stream_response import StreamResponse
from gatepost.model import ids
from gatepost.model.errors import GatepostError
from gatepost.services.event_waiters import EventWaiter
from gatepost.services.feed import FeedQuery, follow
from gatepost.store.events import FeedEvent, FeedPage

KIND = "text/event-stream"
STREAM_MAX = 3600  # seconds after which a stream may be asked to end
_RETRY = 2_000  # milliseconds
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "X-Content-Type-Options": "nosniff"}

Seconds = Annotated[
    int,
    Meta(
        description="Seconds after which the stream ends. By default it does not end.",
        ge=1,
        le=STREAM_MAX,
        extra=SECONDS,
    ),
]


def event_stream(
    parts: AsyncIterator[bytes], *, seconds: int | None, end: Callable[[], None], close: Callable[[], None]
) -> StreamResponse:
    """Return the response of a stream. `end` ends it after some seconds; `close` removes it, also if it never began."""
    timer = asyncio.get_running_loop().call_later(seconds, end) if seconds else None

    def finish() -> None:
        if timer is not None:
            timer.cancel()  # it would keep a stream that ended early in memory
        close()

    return StreamResponse(parts, media_type=KIND, headers=_HEADERS, on_end=finish)


def opening(last_id: str, note: str) -> bytes:
    """Encode the start of a stream, with a comment if there is a note."""
    comment = f": {note}\n" if note else ""
    return f"{comment}retry: {_RETRY}\nid: {last_id}\n\n".encode()


def error_comment(error: GatepostError) -> bytes:
    """Encode why a stream ends. It is too late for a status: the client gets it when it reconnects."""
    return f": {error.message}\n\n".encode()


async def write_stream(
    gateway: ApiContext, query: FeedQuery, watcher: EventWaiter, note: str = ""
) -> AsyncIterator[bytes]:
    """Yield the stream until the client disconnects, the key ends (`access/access_recheck.py`), or this node stops."""
    try:
        yield opening(ids.format_id("evt", query.after), note)
        sent = query.after
        async for page in follow(gateway.db, query, watcher, gateway.heartbeat):
            yield _written(page, sent)
            sent = page.reached
    except GatepostError as error:
        yield error_comment(error)
    finally:
        gateway.waiters.close(watcher)


def _written(page: FeedPage, sent: UUID) -> bytes:
    if page.events:
        return b"".join(map(frame, page.events))
    moved = f"id: {ids.format_id('evt', page.reached)}\n" if page.reached != sent else ""
    return f":\n{moved}\n".encode()


def frame(event: FeedEvent) -> bytes:
    """Encode one event. Its body is a single line: the stored JSON contains no line breaks."""
    return f"id: {ids.format_id('evt', event.id)}\nevent: {event.type}\ndata: {event.body}\n\n".encode()
