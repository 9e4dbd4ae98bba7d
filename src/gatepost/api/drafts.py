"""Drafts: messages that a person has to approve."""

from typing import Annotated
from uuid import UUID

from litestar.params import FromPath
from msgspec import Meta

from gatepost.api.context import Context, CurrentCaller
from gatepost.api.contract.drafts import Draft
from gatepost.api.openapi.route_docs import WaitUntil
from gatepost.api.paging import read_cursor, show_cursor
from gatepost.api.query import Paged
from gatepost.api.responses import Page
from gatepost.api.route import get
from gatepost.model.draft import DraftState
from gatepost.services.history_query import read_conversation
from gatepost.services.lookup import existing, read_id
from gatepost.store import drafts as store
from gatepost.store.drafts import DraftFilter

_PATH = "/api/v1/drafts"
_ONE = _PATH + "/{draft_id:str}"


class DraftQuery(Paged, frozen=True, kw_only=True):
    """Which drafts; all filters have to fit."""

    state: Annotated[DraftState, Meta(description="Only drafts in this state.")] | None = None
    conversation: Annotated[str, Meta(description="Only drafts to this conversation.")] | None = None


@get(_PATH, scope="read", summary="List drafts", keeps={"draft_id": "data[0].id"})
async def list_drafts(query: DraftQuery, gateway: Context, caller: CurrentCaller) -> Page[Draft]:
    """Drafts of assistants and of programs, the newest first, with what became of each."""
    query.given()
    contact_id = None if query.conversation is None else read_conversation(query.conversation)
    rows = await store.list_drafts(
        gateway.db,
        caller.channel_id,
        before=read_cursor(query.cursor, UUID),
        limit=query.limit,
        now=gateway.clock.now(),
        filter_=DraftFilter(query.state, contact_id),
    )
    return Page([Draft.of(row) for row in rows], show_cursor(rows[-1].id) if len(rows) == query.limit else None)


@get(_ONE, scope="read", summary="Get a draft", after=WaitUntil(_PATH, "data.length > 0", tries=0))
async def get_draft(draft_id: FromPath[str], gateway: Context, caller: CurrentCaller) -> Draft:
    """One draft."""
    id_, now = read_id("drf", draft_id), gateway.clock.now()
    return Draft.of(existing("drf", await store.get_draft(gateway.db, caller.channel_id, id_, now)))
