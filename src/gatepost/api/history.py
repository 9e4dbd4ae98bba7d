"""History: a channel's messages by date, person, kind and words, as pages and as a file."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec
from litestar import Request, Response, get

from gatepost.access.costly import ALWAYS
from gatepost.api.context import Context, CurrentCaller
from gatepost.api.json_body import answer
from gatepost.api.paging import read_cursor, read_limit, show_cursor
from gatepost.api.stream_response import StreamResponse
from gatepost.model.dates import IdRange
from gatepost.model.errors import invalid_field
from gatepost.services.export import FORMATS, open_export
from gatepost.services.history import find_page
from gatepost.services.history_query import FILTERS, read_history_query, read_parameters, resolve
from gatepost.services.messages import show_message
from gatepost.store.messages.history import HistoryFilter, HistoryPage

_PATH = "/api/v1/messages"


@get(_PATH, opt={"scope": "read", "costly": "q"}, summary="Look back at messages")
async def list_messages(request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Messages of a range of time, the newest first; filters combine. A short page may still have a next one."""
    given = _parameters(request, ("limit", "cursor"))
    asked, most = read_history_query(given), read_limit(given.get("limit"))
    before, now = read_cursor(given.get("cursor"), UUID), gateway.clock.now()
    wanted = _before(await resolve(gateway.db, caller.channel_id, asked), before)
    piece = HistoryPage([], None)
    if wanted:
        piece = await find_page(gateway.db, caller.channel_id, wanted, asked.sought, now, most=most)
    following = show_cursor(piece.reached) if piece.reached else None
    return answer([show_message(message, now) for message in piece.messages], paging=following)


@get(_PATH + "/export", opt={"scope": "read", "costly": ALWAYS}, summary="Export messages")
async def export_messages(request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller) -> StreamResponse:
    """All messages that fit, the newest first, as NDJSON or CSV, written while it is sent."""
    given = _parameters(request, ("format",))
    asked, format_ = read_history_query(given), given.get("format", "ndjson")
    if format_ not in FORMATS:
        raise invalid_field("format", f"must be one of {', '.join(FORMATS)}")
    wanted, now = await resolve(gateway.db, caller.channel_id, asked), gateway.clock.now()
    pieces = await open_export(gateway.db, caller.channel_id, wanted, asked.sought, format_, now)
    name = f'attachment; filename="messages-{now:%Y%m%d-%H%M%S}.{format_}"'
    headers = {"Content-Disposition": name, "X-Content-Type-Options": "nosniff"}
    return StreamResponse(pieces, media_type=FORMATS[format_], headers=headers)


def _parameters(request: Request[Any, Any, Any], further: Sequence[str]) -> dict[str, str]:
    return read_parameters(request.query_params.multi_items(), (*FILTERS, *further))


def _before(wanted: HistoryFilter | None, cursor: UUID | None) -> HistoryFilter | None:
    """Only what is older than the cursor."""
    if wanted is None or cursor is None:
        return wanted
    return msgspec.structs.replace(wanted, span=IdRange(wanted.span.start, min(wanted.span.end, cursor)))
