"""History: a channel's messages by date, person, type and words, as pages and as a file."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from gatepost.access.costly import ALWAYS
from gatepost.api.context import Context, CurrentCaller
from gatepost.api.contract.messages import Message
from gatepost.api.paging import read_cursor, show_cursor
from gatepost.api.query import Cursor, From, Limit, Phone, Query, To, Zone
from gatepost.api.responses import Page
from gatepost.api.route import get
from gatepost.api.stream_response import StreamResponse
from gatepost.model.dates import IdRange
from gatepost.model.errors import invalid_field
from gatepost.services.export import FORMATS, Render, as_csv, open_export
from gatepost.services.history import ConversationPosition, find_page, read_around, read_on
from gatepost.services.history_query import read_history_query, resolve
from gatepost.store.messages.history import HistoryFilter, HistoryPage, StoredMessage
from gatepost.store.pool import Database

_PATH = "/api/v1/messages"
_encode = msgspec.json.Encoder().encode
Direction = Annotated[
    str,
    Meta(description="Only received (`in`) or only sent (`out`) messages.", extra_json_schema={"enum": ["in", "out"]}),
]


class HistoryFilters(Query, frozen=True, kw_only=True):
    """Which messages; all filters have to fit."""

    from_: From | None = None
    to: To | None = None
    tz: Zone | None = None
    phone: Phone | None = None
    conversation: Annotated[str, Meta(description="Only messages of this conversation.")] | None = None
    direction: Direction | None = None
    status: (
        Annotated[str, Meta(description="Only items with this status, or with one of several, separated by commas.")]
        | None
    ) = None
    type: Annotated[str, Meta(description="Only messages of this type, or of several, separated by commas.")] | None = (
        None
    )
    q: Annotated[str, Meta(description="Words to search for.")] | None = None


class MessageQuery(HistoryFilters, frozen=True, kw_only=True):
    """A page of the history."""

    limit: Limit = 20
    cursor: Cursor | None = None
    around: (
        Annotated[
            str,
            Meta(description="The id of a message: this message with those before and after it in its conversation."),
        ]
        | None
    ) = None


class ExportQuery(HistoryFilters, frozen=True, kw_only=True):
    """The history as a file."""

    format: Annotated[Literal["ndjson", "csv"], Meta(description="The format of the file.")] = "ndjson"


@get(
    _PATH,
    scope="read",
    costly="q",
    summary="List messages",
    errors=("invalid_phone",),
    asks={"phone": "{{phone}}", "direction": "in", "limit": "1"},
    keeps={"incoming_id": "data[0].key.id"},
    turn=-1,
)
async def list_messages(query: MessageQuery, gateway: Context, caller: CurrentCaller) -> Page[Message]:
    """Messages of a time range, the newest first. A page that is not full may have a next one.

    With `around`, a part of one conversation: `paging.next` continues with older messages, `paging.previous` with
    newer ones.
    """
    now, before = gateway.clock.now(), _read_cursor(query.cursor)
    if query.around is not None or isinstance(before, ConversationPosition):
        return await _list_around(query, before, gateway.db, caller.channel_id, now)
    asked = read_history_query(query.given())
    filter_ = _before(await resolve(gateway.db, caller.channel_id, asked), before)
    page = HistoryPage([], None)
    if filter_:
        page = await find_page(gateway.db, caller.channel_id, filter_, asked.sought, now, most=query.limit)
    rows = [Message.of(row, now) for row in page.messages]
    return Page(rows, show_cursor(page.reached) if page.reached else None)


@get(
    _PATH + "/export",
    scope="read",
    costly=ALWAYS,
    summary="Export messages",
    errors=("invalid_phone",),
    asks={"format": "csv"},
    binary=("application/x-ndjson; charset=utf-8", "text/csv; charset=utf-8"),
)
async def export_messages(query: ExportQuery, gateway: Context, caller: CurrentCaller) -> StreamResponse:
    """All messages that match the filters, the newest first, as a stream of NDJSON or CSV."""
    asked, now = read_history_query(query.given()), gateway.clock.now()
    filter_ = await resolve(gateway.db, caller.channel_id, asked)
    render: Render = as_csv if query.format == "csv" else as_ndjson
    chunks = await open_export(gateway.db, caller.channel_id, filter_, asked.sought, render, now)
    name = f'attachment; filename="messages-{now:%Y%m%d-%H%M%S}.{query.format}"'
    headers = {"Content-Disposition": name, "X-Content-Type-Options": "nosniff"}
    return StreamResponse(chunks, media_type=FORMATS[query.format], headers=headers)


async def _list_around(
    query: MessageQuery, position: UUID | ConversationPosition | None, db: Database, channel_id: UUID, now: datetime
) -> Page[Message]:
    others = sorted(set(query.given()) - {"around"})
    if others or (query.around is not None and position is not None):
        raise invalid_field(
            "around" if query.around else others[0], "cannot be combined with other filters or a cursor"
        )
    if query.around is not None:
        part = await read_around(db, channel_id, query.around, query.limit, now)
    else:
        assert isinstance(position, ConversationPosition)
        part = await read_on(db, channel_id, position, query.limit, now)
    older, newer = (None if place is None else show_cursor(place) for place in (part.older, part.newer))
    return Page([Message.of(row, now) for row in part.messages], older, previous=newer)


def _read_cursor(text: str | None) -> UUID | ConversationPosition | None:
    found: UUID | ConversationPosition | None = read_cursor(text, UUID | ConversationPosition)  # type: ignore[arg-type]
    return found


def as_ndjson(rows: Sequence[StoredMessage], now: datetime) -> bytes:
    """Return messages as lines of JSON."""
    return b"".join(_encode(Message.of(row, now)) + b"\n" for row in rows)


def _before(filter_: HistoryFilter | None, cursor: UUID | None) -> HistoryFilter | None:
    """Return the filter for what is older than the cursor."""
    if filter_ is None or cursor is None:
        return filter_
    return msgspec.structs.replace(filter_, span=IdRange(filter_.span.start, min(filter_.span.end, cursor)))
