"""One stream for all channels of the account of the person who is signed in.

retry: 2000
id: a1.…                       the cursor of the whole account: a client that reconnects sends the last one

event: message_notification    events as in the stream of one channel
data: {…}

id: a1.…                       the last event of each part carries the cursor behind all events of the part
event: ack_notification
data: {…}

event: ready                   everything up to now was sent
data: {"missed": 12, "heartbeat": 15}

event: channel_changed         a channel was created, updated or deleted
data: {"channel": {"id": "ch_…"}, "change": "updated"}

event: account_changed         something else has changed: users, keys, notes, … of the account or of a channel
data: {"resource": "notes", "channel": {"id": "ch_…"}}

event: presence                where another person is (`account_presence.py`)
data: {"user": {"id": "usr_…", "name": "Ana"}, "channel": …, "conversation": …, "state": "typing", "expires_in": 10}
"""

from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from typing import Annotated

from msgspec import Meta

from gatepost.api.asgi import Request
from gatepost.api.context import ApiContext, Context, CurrentUser
from gatepost.api.events import old_cursor
from gatepost.api.query import SECONDS, Query
from gatepost.api.route import get
from gatepost.api.sse import KIND, Seconds, error_comment, event_stream, opening
from gatepost.api.stream_response import StreamResponse
from gatepost.model import ids
from gatepost.model.account_cursor import AccountCursor, read_cursor
from gatepost.model.errors import BadRequest, GatepostError
from gatepost.services.account_feed import AccountStream, StreamBatch

BACK_MAX = 60  # seconds
_HEARTBEAT = b":\n\n"


After = Annotated[str, Meta(description="The last `id` of an earlier stream: this one continues behind it.")]

Back = Annotated[
    int,
    Meta(
        description="Seconds before now where it begins if there is no cursor.",
        ge=0,
        le=BACK_MAX,
        extra=SECONDS,
    ),
]


class AccountStreamParameters(Query, frozen=True, kw_only=True):
    """Where the stream begins, and for how long it runs."""

    after: After | None = None
    back: Back = 0
    seconds: Seconds | None = None


@get(
    "/api/v1/account/stream",
    access="session",
    summary="Follow the events of all channels",
    asks={"seconds": "1"},
    headers=("Last-Event-ID",),
    errors=("overloaded",),
    binary=(KIND,),
)
async def stream_account(
    query: AccountStreamParameters, request: Request, gateway: Context, user: CurrentUser
) -> StreamResponse:
    """The events of all channels as they happen, as server-sent events; `Last-Event-ID` or `after` is the last `id`.

    It has no end unless `seconds` gives it one. It ends with the session.
    """
    last = _cursor("'Last-Event-ID'", request.headers.get("last-event-id")) or _cursor("'after'", query.after)
    if last is None and query.back:
        last = AccountCursor(ids.floor_id(gateway.clock.now() - timedelta(seconds=query.back)))
    stream = await gateway.account_streams.open(user.account_id, user.user_id, last)
    for notice in gateway.presence.current(user.account_id, user.user_id):
        stream.put(StreamBatch([], "", (notice,)))
    note = old_cursor(gateway, last.base) if last else ""
    close = partial(gateway.account_streams.close, stream)
    return event_stream(_parts(gateway, stream, note), seconds=query.seconds, end=stream.end, close=close)


async def _parts(gateway: ApiContext, stream: AccountStream, note: str) -> AsyncIterator[bytes]:
    try:
        yield opening(stream.cursor, note)
        async for batch in stream.batches(gateway.db, gateway.heartbeat):
            yield encoded(batch)
    except GatepostError as error:
        yield error_comment(error)
    finally:
        gateway.account_streams.close(stream)


def encoded(batch: StreamBatch) -> bytes:
    """Return a batch as it is sent. It is encoded once for all streams."""
    if not batch.encoded:
        frames = [f"event: {event.type}\ndata: {event.body}\n\n" for event in batch.events]
        if frames and batch.cursor:
            frames[-1] = f"id: {batch.cursor}\n{frames[-1]}"
        frames += [f"event: {notice.name}\ndata: {notice.body}\n\n" for notice in batch.notices]
        batch.encoded = "".join(frames).encode() or _HEARTBEAT
    return batch.encoded


def _cursor(name: str, text: str | None) -> AccountCursor | None:
    cursor = None if text is None else read_cursor(text)
    if text is not None and cursor is None:
        raise BadRequest(f"{name} must be the last 'id' of an earlier stream of the account.", "invalid_cursor")
    return cursor
