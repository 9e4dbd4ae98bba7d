"""The event feed as server-sent events, which browsers (EventSource) and many libraries support.

retry: 2000                    milliseconds to wait before a reconnect
id: evt_…                      the start of the stream, so that a disconnect before the first event loses nothing

id: evt_…                      an event: a client that reconnects sends this id as Last-Event-ID
event: message_notification
data: {…}

:                              heartbeat without events; with an id if there were events of other types
"""

from collections.abc import AsyncIterator
from uuid import UUID

from gatepost.api.context import ApiContext
from gatepost.model import ids
from gatepost.model.errors import GatepostError
from gatepost.services.event_waiters import EventWaiter
from gatepost.services.feed import FeedQuery, follow
from gatepost.store.events import FeedEvent, FeedPage

KIND = "text/event-stream"
RETRY = 2_000  # milliseconds


async def write_stream(
    gateway: ApiContext, query: FeedQuery, watcher: EventWaiter, note: str = ""
) -> AsyncIterator[bytes]:
    """Yield the stream until the client disconnects, the key ends (`access/access_recheck.py`), or this node stops."""
    try:
        yield _opening(query.after, note)
        sent = query.after
        async for page in follow(gateway.db, query, watcher, gateway.heartbeat):
            yield _written(page, sent)
            sent = page.reached
    except GatepostError as error:  # too late for a status: the client gets it when it reconnects
        yield f": {error.message}\n\n".encode()
    finally:
        gateway.waiters.close(watcher)


def _opening(after: UUID, note: str) -> bytes:
    comment = f": {note}\n" if note else ""
    return f"{comment}retry: {RETRY}\nid: {ids.format_id('evt', after)}\n\n".encode()


def _written(page: FeedPage, sent: UUID) -> bytes:
    if page.events:
        return b"".join(map(frame, page.events))
    moved = f"id: {ids.format_id('evt', page.reached)}\n" if page.reached != sent else ""
    return f":\n{moved}\n".encode()


def frame(event: FeedEvent) -> bytes:
    """Encode one event. Its body is a single line: the stored JSON contains no line breaks."""
    return f"id: {ids.format_id('evt', event.id)}\nevent: {event.type}\ndata: {event.body}\n\n".encode()
