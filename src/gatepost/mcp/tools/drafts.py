"""Drafts: messages that wait for a person, and what became of them."""

from typing import Any, Literal
from uuid import UUID

import msgspec

from gatepost.mcp.answers import Answer, Arguments, ConversationId, Cursor, Limit, words_of
from gatepost.mcp.cursors import read_cursor, show_cursor
from gatepost.mcp.outside_words import Outside, outside
from gatepost.mcp.registry import READING, tool
from gatepost.mcp.tool_call import Call
from gatepost.model import ids, times
from gatepost.model.draft import DraftState
from gatepost.model.person import shown_phone
from gatepost.model.send_request import COMMON_FIELDS
from gatepost.services.lookup import read_id
from gatepost.store import drafts as store
from gatepost.store.drafts import DraftFilter, DraftRow


class ListDrafts(Arguments, frozen=True):
    """Which drafts; all filters have to fit."""

    conversation: ConversationId | None = None
    state: Literal["waiting", "sent", "refused", "expired"] | None = None
    limit: Limit = 20
    cursor: Cursor | None = None


class DraftView(Answer, frozen=True):
    """A draft, and what became of it."""

    id: str
    state: str
    type: str
    created_at: str
    expires_at: str
    content: Outside | None = None
    conversation: str | None = None
    phone: str | None = None
    reason: str | None = None
    edited: bool = False
    comment: str | None = None
    message: str | None = None

    @classmethod
    def of(cls, row: DraftRow) -> "DraftView":
        """Return a draft with the words of its message."""
        body: dict[str, Any] = msgspec.json.decode(row.body)
        content = {name: value for name, value in body.items() if name not in COMMON_FIELDS}
        return cls(
            id=ids.format_id("drf", row.id),
            state=row.state,
            type=body.get("type", "text"),
            created_at=times.format_time(row.created_at),
            expires_at=times.format_time(row.expires_at),
            content=outside(words_of(msgspec.json.encode(content).decode())),
            conversation=ids.format_id("cv", row.contact.id) if row.contact else None,
            phone=shown_phone(row.contact.phone if row.contact else row.phone),
            reason=row.reason,
            edited=row.edited_at is not None,
            comment=row.comment,
            message=ids.message_id(row.message_id) if row.message_id else None,
        )


class Drafts(Answer, frozen=True):
    """A page of drafts."""

    drafts: list[DraftView]
    next: str | None = None


@tool("List drafts", READING, example={"state": "waiting"})
async def list_drafts(given: ListDrafts, call: Call) -> Drafts:
    """List messages that wait for a person's approval, and what became of each: sent (with `message`), refused
    (with a `comment`) or expired. The newest first."""
    before = read_cursor("list_drafts", given.cursor, UUID)
    contact_id = read_id("cv", given.conversation) if given.conversation is not None else None
    rows = await find_drafts(call, DraftFilter(given.state, contact_id), before, given.limit)
    following = show_cursor("list_drafts", rows[-1].id) if store.is_full(rows, given.limit) else None
    return Drafts([DraftView.of(row) for row in rows], following)


async def find_drafts(call: Call, filters: DraftFilter, before: UUID | None, limit: int) -> list[DraftRow]:
    """Return a page of drafts. It reveals their conversations; a draft to an unknown number is one of its own.

    So is a draft that was made because its key had read another conversation: it may have the words of that one.
    """
    rows = await store.list_drafts(call.db, call.channel_id, before=before, limit=limit, now=call.now, filter_=filters)
    call.revealed.update(row.contact.id for row in rows if row.contact)
    call.revealed_drafts.update(row.id for row in rows if row.contact is None or row.rule == "no_crossing")
    return rows


async def waiting_drafts(call: Call, contact_id: UUID, limit: int) -> tuple[DraftView, ...]:
    """Return the drafts of a conversation that wait."""
    state: DraftState = "waiting"
    rows = await find_drafts(call, DraftFilter(state, contact_id), None, limit)
    return tuple(DraftView.of(row) for row in rows)
