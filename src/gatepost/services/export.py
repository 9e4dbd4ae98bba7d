"""Export of the history as a file, read and sent page by page, so that its length takes no memory.

No connection and no lock is held between two pages. Messages that arrive meanwhile are newer than what has been
written, and are left out.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.compute import compute
from gatepost.model import ids, times
from gatepost.model.dates import IdRange
from gatepost.model.message import status_of
from gatepost.model.person import shown_phone
from gatepost.model.search_words import SearchQuery, texts
from gatepost.services.csv_cells import csv_lines, safe_cell, safe_json
from gatepost.services.history import find_page
from gatepost.store.messages.history import HistoryFilter, HistoryPage, StoredMessage
from gatepost.store.pool import Database

PAGE = 200  # messages at once: few enough that other requests wait little
FORMATS = {"ndjson": "application/x-ndjson; charset=utf-8", "csv": "text/csv"}  # a response adds utf-8 to text types
COLUMNS = (
    "id",
    "direction",
    "type",
    "status",
    "phone",
    "contact",
    "conversation",
    "text",
    "created_at",
    "sent_at",
    "delivered_at",
    "read_at",
    "client_ref",
    "network_id",
    "error",
    "content",
)
_JSON = ("error", "content")
_SAFE = [safe_json if name in _JSON else safe_cell for name in COLUMNS]

Render = Callable[[Sequence[StoredMessage], datetime], bytes]


async def open_export(
    db: Database,
    channel_id: UUID,
    filter_: HistoryFilter | None,
    sought: SearchQuery | None,
    render: Render,
    now: datetime,
) -> AsyncIterator[bytes]:
    """Return the chunks of the file. The first page is read at once, so that errors come before the response starts."""
    if filter_ is None:
        return _chunks(db, channel_id, HistoryFilter(), sought, render, now, HistoryPage([], None))
    first = await find_page(db, channel_id, filter_, sought, now, most=PAGE)
    return _chunks(db, channel_id, filter_, sought, render, now, first)


async def _chunks(
    db: Database,
    channel_id: UUID,
    filter_: HistoryFilter,
    sought: SearchQuery | None,
    render: Render,
    now: datetime,
    page: HistoryPage,
) -> AsyncIterator[bytes]:
    if render is as_csv:
        yield csv_lines([COLUMNS])
    while True:
        if page.messages:
            yield await compute(render, page.messages, now)
        if page.reached is None:
            return
        filter_ = msgspec.structs.replace(filter_, span=IdRange(filter_.span.start, page.reached))
        page = await find_page(db, channel_id, filter_, sought, now, most=PAGE)


def as_csv(messages: Sequence[StoredMessage], now: datetime) -> bytes:
    """Return messages as rows."""
    return csv_lines([_row(message, now) for message in messages])


def _row(message: StoredMessage, now: datetime) -> list[str]:
    shown: list[Any] = [
        ids.message_id(message.id),
        "in" if message.incoming else "out",
        message.type,
        status_of(message.state, message.send_at, now),
        shown_phone(message.phone),
        ids.format_id("ct", message.contact_id),
        ids.format_id("cv", message.contact_id),
        "\n".join(texts(message.content)),
        times.format_time(message.created_at),
        times.format_optional_time(message.sent_at),
        times.format_optional_time(message.delivered_at),
        times.format_optional_time(message.read_at),
        message.client_ref,
        message.network_id,
        message.error if message.state < 0 else None,
        message.content,
    ]
    return ["" if cell is None else make_safe(cell) for cell, make_safe in zip(shown, _SAFE, strict=True)]
