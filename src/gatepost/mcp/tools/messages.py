"""Messages: search, and trace what became of one."""

from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from gatepost.mcp.answers import (
    Answer,
    Arguments,
    ConversationId,
    Cursor,
    Limit,
    MessageId,
    MessageView,
    Moment,
    Query,
    Zone,
)
from gatepost.mcp.cursors import read_cursor, show_cursor
from gatepost.mcp.outside_words import Outside, outside
from gatepost.mcp.registry import READING, tool
from gatepost.mcp.tool_call import Call
from gatepost.model import times
from gatepost.model.dates import IdRange
from gatepost.model.delivery import STATUSES, explain_attempt
from gatepost.model.errors import GatepostError, invalid_field
from gatepost.model.waits import words
from gatepost.outbound.wait_explanation import explain_wait
from gatepost.services.history import find_page
from gatepost.services.history_query import read_history_query, resolve
from gatepost.services.messages import access_message
from gatepost.store.messages.history import HistoryPage, StoredMessage, read_trace

_DELIVERIES_MAX = 50


class SearchMessages(Arguments, frozen=True, rename={"from_": "from"}):
    """Which messages; all filters have to fit."""

    query: Query | None = None
    from_: Moment | None = None
    to: Moment | None = None
    tz: Zone | None = None
    conversation: ConversationId | None = None
    direction: Literal["in", "out"] | None = None
    type: Annotated[str, Meta(description="Type, or several with commas: text,image.", max_length=200)] | None = None
    limit: Limit = 20
    cursor: Cursor | None = None


class FoundMessages(Answer, frozen=True):
    """A page of messages."""

    messages: list[MessageView]
    next: str | None = None


@tool(
    "Search messages",
    READING,
    example={"query": "invoice", "from": "2026-11-01", "tz": "Europe/Lisbon"},
    costly="query",
)
async def search_messages(given: SearchMessages, call: Call) -> FoundMessages:
    """Search messages by words, date, conversation, direction and type, the newest first. A page may have fewer
    messages than `limit`, and still a `next`."""
    before = read_cursor("search_messages", given.cursor, UUID)
    asked = _query(given)
    filters = await resolve(call.db, call.channel_id, asked)
    page = HistoryPage([], None)
    if filters is not None:
        if before is not None:
            span = IdRange(filters.span.start, min(filters.span.end, before))
            filters = msgspec.structs.replace(filters, span=span)
        page = await find_page(call.db, call.channel_id, filters, asked.sought, call.now, most=given.limit)
    call.revealed.update(row.contact_id for row in page.messages)
    return FoundMessages(
        [MessageView.of(row, call.now, conversation=True) for row in page.messages],
        show_cursor("search_messages", page.reached) if page.reached else None,
    )


def _query(given: SearchMessages) -> Any:
    names = {"query": "q", "from_": "from"}
    found = {
        names.get(name, name): value
        for name, value in msgspec.structs.asdict(given).items()
        if name not in ("limit", "cursor") and value is not None
    }
    try:
        return read_history_query(found)
    except GatepostError as error:
        if error.fields and error.fields[0].field == "q":
            raise invalid_field("query", error.fields[0].message, error.code) from None
        raise


class TraceMessage(Arguments, frozen=True):
    """Which message."""

    message: MessageId


class TraceStep(Answer, frozen=True):
    """A step of a message."""

    step: str
    at: str
    reason: Outside | None = None


class TraceDelivery(Answer, frozen=True):
    """A delivery of an event of the message to a webhook."""

    state: str
    attempts: int
    next_at: str | None = None
    last_status: int | None = None
    last_error: Outside | None = None


class MessageTrace(Answer, frozen=True):
    """What became of a message."""

    message: MessageView
    steps: list[TraceStep]
    waits_because: str | None = None
    waits_until: str | None = None
    webhooks: tuple[TraceDelivery, ...] = ()


@tool("Trace a message", READING, example={"message": "0199A1…"})
async def trace_message(given: TraceMessage, call: Call) -> MessageTrace:
    """Return each step of a message with its time, why it waits or failed, and whether webhooks reported it."""
    row = await access_message(call.db, call.channel_id, given.message)
    call.revealed.add(row.contact_id)
    wait = await explain_wait(call.db, call.channel_id, row, call.now)
    return MessageTrace(
        MessageView.of(row, call.now, conversation=True),
        _steps(row),
        (wait.because or words(wait.rule, ahead=wait.message_id is not None)) if wait else None,
        times.format_optional_time(wait.until) if wait else None,
        await _deliveries(call, row),
    )


def _steps(row: StoredMessage) -> list[TraceStep]:
    if row.incoming:
        return [TraceStep("received", times.format_time(row.created_at))]
    named = {
        "accepted": row.created_at,
        "sending": row.sending_at,
        "sent": row.sent_at,
        "delivered": row.delivered_at,
        "read": row.read_at,
        "played": row.played_at,
    }
    steps = [(at, TraceStep(name, times.format_time(at))) for name, at in named.items() if at]
    if row.ended_at:
        ended = TraceStep(row.state.name.lower(), times.format_time(row.ended_at), outside(row.error))
        steps.append((row.ended_at, ended))
    return [step for _, step in sorted(steps, key=lambda pair: pair[0])]


async def _deliveries(call: Call, row: StoredMessage) -> tuple[TraceDelivery, ...]:
    """Return the deliveries without the addresses of the endpoints, which may contain secrets."""
    trace = await read_trace(call.db, call.channel_id, row.event_ids)
    last = {(one.event_id, one.endpoint_id): one for one in trace.attempts}
    found = []
    for delivery in trace.deliveries[:_DELIVERIES_MAX]:
        attempt = last.get((delivery.event_id, delivery.endpoint_id))
        found.append(
            TraceDelivery(
                STATUSES[delivery.state],
                delivery.attempts,
                times.format_optional_time(delivery.next_at),
                attempt.status if attempt else None,
                outside(explain_attempt(attempt.status, attempt.error)) if attempt else None,
            )
        )
    return tuple(found)
