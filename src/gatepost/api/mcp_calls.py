"""The log of what assistants called."""

from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta

from gatepost.admin.checks import read_id
from gatepost.admin.keys import get_key
from gatepost.api.context import Context, CurrentCaller
from gatepost.api.contract.mcp import McpCall
from gatepost.api.paging import read_cursor, show_cursor
from gatepost.api.query import From, Paged, To, Zone
from gatepost.api.responses import Page
from gatepost.api.route import get
from gatepost.model.dates import read_span
from gatepost.services.history_query import read_conversation
from gatepost.store.keys import list_keys
from gatepost.store.mcp.calls import CallFilter, list_calls
from gatepost.store.pool import Database


class CallQuery(Paged, frozen=True, kw_only=True):
    """Which calls; all filters have to fit."""

    key: Annotated[str, Meta(description="Only calls with this key.")] | None = None
    tool: Annotated[str, Meta(description="Only calls of this tool.")] | None = None
    outcome: (
        Annotated[
            Literal["done", "sent", "draft", "dry_run", "repeated", "refused", "failed"],
            Meta(description="Only calls that ended like this."),
        ]
        | None
    ) = None
    conversation: Annotated[str, Meta(description="Only calls about this conversation.")] | None = None
    from_: From | None = None
    to: To | None = None
    tz: Zone | None = None


@get("/api/v1/mcp/calls", scope="read", summary="List the calls of assistants")
async def list_mcp_calls(query: CallQuery, gateway: Context, caller: CurrentCaller) -> Page[McpCall]:
    """Calls of tools by assistants, the newest first: with which key, what came of it, and which rule decided."""
    filter_, before = await _filter(query, gateway.db, caller.channel_id), read_cursor(query.cursor, UUID)
    rows = await list_calls(gateway.db, caller.channel_id, before=before, limit=query.limit, filter_=filter_)
    names = {key.id: key.name for key in await list_keys(gateway.db, caller.channel_id)} if rows else {}
    following = show_cursor(rows[-1].id) if len(rows) == query.limit else None
    return Page([McpCall.of(row, names) for row in rows], following)


async def _filter(query: CallQuery, db: Database, channel_id: UUID) -> CallFilter:
    query.given()
    key = await get_key(db, channel_id, read_id("key", query.key)) if query.key is not None else None
    return CallFilter(
        span=read_span(query.from_, query.to, query.tz),
        key_id=key.id if key else None,
        tool=query.tool,
        outcome=query.outcome,
        contact_id=None if query.conversation is None else read_conversation(query.conversation),
    )
