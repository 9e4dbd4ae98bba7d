"""Conversations: find and read."""

import re
from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from gatepost.mcp.answers import (
    Answer,
    Arguments,
    ConversationId,
    Cursor,
    LabelId,
    LabelName,
    Limit,
    MessageId,
    MessageView,
    Moment,
    PersonView,
    Query,
    Zone,
    label_names,
    last_digits,
)
from gatepost.mcp.cursors import read_cursor, show_cursor
from gatepost.mcp.outside_words import Outside, outside
from gatepost.mcp.registry import READING, tool
from gatepost.mcp.tool_call import Call
from gatepost.mcp.tools.drafts import DraftView, waiting_drafts
from gatepost.model import ids, times
from gatepost.model.dates import read_moment, read_zone
from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import check_storable
from gatepost.model.window import window_ends
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.services.conversations import access_conversation, list_history
from gatepost.services.history import ConversationPosition, read_around, read_on
from gatepost.services.lookup import read_id
from gatepost.store.contacts.read import ContactFilter, find_people, search_contacts
from gatepost.store.conversations.changes import ConversationDetails
from gatepost.store.conversations.inbox import InboxFilter, list_conversations
from gatepost.store.messages.history import StoredMessage

_DRAFTS_MAX = 10
FOUND_MAX = 200  # contacts that a search by name returns at most
NUMBER = re.compile(r"\+?[\d .()/-]+", re.ASCII)


class FindConversations(Arguments, frozen=True):
    """Which conversations; all filters have to fit."""

    query: Query | None = None
    status: Literal["open", "closed"] | None = None
    label: LabelId | None = None
    unread: bool | None = None
    since: Moment | None = None
    tz: Zone | None = None
    limit: Limit = 20
    cursor: Cursor | None = None


class ConversationItem(Answer, frozen=True):
    """A conversation in a list, without the words of its messages."""

    id: str
    status: str
    name: Outside | None = None
    phone_ends: str | None = None
    unread: int = 0
    labels: tuple[LabelName, ...] = ()
    last_message_at: str | None = None
    last_direction: str | None = None
    window_ends_at: str | None = None


class FoundConversations(Answer, frozen=True):
    """A page of conversations."""

    conversations: list[ConversationItem]
    next: str | None = None


@tool("Find conversations", READING, example={"unread": True, "limit": 10}, costly="query")
async def find_conversations(given: FindConversations, call: Call) -> FoundConversations:
    """List conversations, the newest first, without their messages. `query`: the beginning of a name, or a complete
    phone number. To search words of messages, use search_messages."""
    before = read_cursor("find_conversations", given.cursor, UUID)
    filters = InboxFilter(
        status=given.status,
        unread=given.unread,
        label_id=read_id("lb", given.label) if given.label is not None else None,
        since=None if given.since is None else read_moment("since", given.since, read_zone(given.tz)),
        contact_ids=None if given.query is None else await named_contacts(call, given.query),
    )
    page = await list_conversations(call.db, call.channel_id, filters, before, given.limit)
    found = [_item(one, call) for one in page.conversations]
    return FoundConversations(found, show_cursor("find_conversations", page.following) if page.following else None)


class ReadConversation(Arguments, frozen=True):
    """Which conversation, and which part of it."""

    conversation: ConversationId
    before: Cursor | None = None
    around: MessageId | None = None
    limit: Limit = 20


class ConversationView(Answer, frozen=True):
    """A conversation with some of its messages, the newest first."""

    id: str
    person: PersonView
    status: str
    messages: list[MessageView]
    unread: int = 0
    labels: tuple[LabelName, ...] = ()
    note: Outside | None = None
    window_ends_at: str | None = None
    drafts: tuple[DraftView, ...] = ()
    next: str | None = None
    newer: str | None = None


@tool("Read a conversation", READING, example={"conversation": "cv_0199…"})
async def read_conversation(given: ReadConversation, call: Call) -> ConversationView:
    """Return a conversation with its messages, the newest first, its person, labels, window and waiting drafts.
    `before` continues with a `next` or `newer` of an earlier answer; `around` shows the messages around one. Nothing is
    marked as read."""
    details = await access_conversation(call.db, call.channel_id, given.conversation)
    contact_id = details.conversation.contact_id
    call.revealed.add(contact_id)
    part = await _part(given, call, contact_id)
    row = details.conversation
    return ConversationView(
        id=ids.format_id("cv", contact_id),
        person=PersonView.of(contact_id, row.phone, row.name),
        status=row.status,
        messages=[MessageView.of(message, call.now) for message in part.messages],
        unread=row.unread,
        labels=label_names(details.labels),
        note=outside(row.note),
        window_ends_at=_window(call, row.last_in_at),
        drafts=await waiting_drafts(call, contact_id, _DRAFTS_MAX),
        next=_place(part.older),
        newer=_place(part.newer),
    )


class _Part(msgspec.Struct, frozen=True):
    messages: list[StoredMessage]
    older: ConversationPosition | None
    newer: ConversationPosition | None = None


async def _part(given: ReadConversation, call: Call, contact_id: UUID) -> _Part:
    position = read_cursor("read_conversation", given.before, ConversationPosition)
    if given.around is not None:
        if position is not None:
            raise invalid_field("around", "cannot be combined with before")
        around = await read_around(call.db, call.channel_id, given.around, given.limit, call.now)
        if around.messages[0].contact_id != contact_id:
            raise invalid_field("around", "is not a message of this conversation")
        return _Part(around.messages, around.older, around.newer)
    if position is not None:
        if position.contact_id != contact_id:
            raise invalid_field("before", "belongs to another conversation")
        on = await read_on(call.db, call.channel_id, position, given.limit, call.now)
        return _Part(on.messages, on.older, on.newer)
    page = await list_history(call.db, call.channel_id, given.conversation, None, given.limit, call.now)
    return _Part(page.messages, ConversationPosition(contact_id, page.reached, False) if page.reached else None)


def _place(position: ConversationPosition | None) -> str | None:
    return None if position is None else show_cursor("read_conversation", position)


def _item(details: ConversationDetails, call: Call) -> ConversationItem:
    row, message = details.conversation, details.last_message
    return ConversationItem(
        id=ids.format_id("cv", row.contact_id),
        status=row.status,
        name=outside(row.name),
        phone_ends=last_digits(row.phone),
        unread=row.unread,
        labels=label_names(details.labels),
        last_message_at=times.format_time(message.created_at) if message else None,
        last_direction=("in" if message.incoming else "out") if message else None,
        window_ends_at=_window(call, row.last_in_at),
    )


def _window(call: Call, last_in_at: datetime | None) -> str | None:
    if not NETWORK_KINDS[call.caller.kind].capabilities.window:
        return None
    return times.format_optional_time(window_ends(last_in_at))


async def named_contacts(call: Call, query: str) -> tuple[UUID, ...]:
    """Return the contacts whose name begins with a text, or who have this complete number."""
    text = query.strip()
    check_storable("query", text)
    if not text:
        raise invalid_field("query", "is empty")
    if NUMBER.fullmatch(text):  # only a complete number: its digits cannot be found one by one
        async with call.db.connection() as conn:
            return tuple(row.id for row in (await find_people(conn, call.channel_id, [only_digits(text)])).values())
    found = await search_contacts(call.db, call.channel_id, text[:64], ContactFilter(), None, FOUND_MAX)
    return tuple(sorted({one.contact.id for one in found.found}))


def only_digits(text: str) -> str:
    """Return a number without separators."""
    return re.sub(r"\D", "", text)
