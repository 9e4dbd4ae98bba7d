"""Conversations: list, get, change, mark as read, and show that an answer is being written."""

from datetime import datetime, timedelta
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from gatepost.admin.channels import get_channel
from gatepost.api.context import ApiContext, Context, CurrentCaller
from gatepost.api.contract.conversations import Conversation, ConversationCounts, ReadConversation
from gatepost.api.contract.messages import Message
from gatepost.api.openapi.error_codes import NETWORK
from gatepost.api.openapi.route_docs import CONNECTED
from gatepost.api.paging import read_cursor, show_cursor
from gatepost.api.query import LabelFilter, Paged, Phone, Query, Zone, read_label
from gatepost.api.responses import Page, Reply
from gatepost.api.route import get, patch, post
from gatepost.model import ids
from gatepost.model.account import Caller
from gatepost.model.dates import read_moment, read_zone
from gatepost.model.field_readers import check_storable
from gatepost.model.phone import check_phone
from gatepost.model.window import WINDOW
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.services import conversations as service
from gatepost.services.conversations import ConversationChange, find_contacts
from gatepost.services.read_receipts import show_typing
from gatepost.store.conversations.changes import ConversationDetails
from gatepost.store.conversations.inbox import InboxFilter, WrittenBetween, count_conversations, list_conversations

_PATH = "/api/v1/conversations"
_ONE = _PATH + "/{conversation_id}"


CLOSING_HOURS = 4
ClosingHours = Annotated[
    int, Meta(description="Within how many hours a window closes to count as closing.", ge=1, le=24)
]


class ConversationQuery(Paged, frozen=True, kw_only=True):
    """Which conversations; all filters have to fit."""

    status: Annotated[Literal["open", "closed"], Meta(description="Only items with this status.")] | None = None
    archived: Annotated[bool, Meta(description="`true`: only archived ones; `false`: only others.")] | None = None
    unread: Annotated[bool, Meta(description="`true`: only unread ones; `false`: only others.")] | None = None
    label: LabelFilter | None = None
    phone: Phone | None = None
    since: Annotated[str, Meta(description="Only conversations with a message since this date or time.")] | None = None
    tz: Zone | None = None
    q: (
        Annotated[str, Meta(description="The beginning of a name or number, or words of messages, to search for.")]
        | None
    ) = None
    assignee: (
        Annotated[str, Meta(description="Only conversations of this assignee, a user `usr_…`; `none`: of nobody.")]
        | None
    ) = None
    window: (
        Annotated[Literal["closing"], Meta(description="`closing`: only those whose 24-hour window closes soon.")]
        | None
    ) = None
    closing_hours: ClosingHours = CLOSING_HOURS

    def filter(self, now: datetime) -> InboxFilter:
        """Return what to read, without the search."""
        zone = read_zone(self.tz)
        if self.assignee is not None:
            check_storable("assignee", self.assignee)
            service.read_user(self.assignee)
        return InboxFilter(
            status=self.status,
            archived=self.archived,
            unread=self.unread,
            label_id=read_label(self.label),
            phone=None if self.phone is None else check_phone(self.phone),
            since=None if self.since is None else read_moment("since", self.since, zone),
            assignee=None if self.assignee == "none" else self.assignee,
            unassigned=self.assignee == "none",
            last_in=None if self.window is None else closing_within(self.closing_hours, now),
        )


class CountQuery(Query, frozen=True, kw_only=True):
    """What counts as closing soon."""

    closing_hours: ClosingHours = CLOSING_HOURS


def closing_within(hours: int, now: datetime) -> WrittenBetween:
    """Return when the person's newest message was written, if the window is open and closes within these hours."""
    return WrittenBetween(now - WINDOW, now - WINDOW + timedelta(hours=hours))


@get(
    _PATH,
    scope="read",
    costly="q",
    summary="List conversations",
    errors=("invalid_phone",),
    asks={"phone": "{{phone}}"},
    keeps={"conversation_id": "data[0].id"},
)
async def list_all(query: ConversationQuery, gateway: Context, caller: CurrentCaller) -> Page[Conversation]:
    """Conversations, ordered by their newest message, the newest first. Filters can be combined."""
    before, filter_ = read_cursor(query.cursor, UUID), query.filter(gateway.clock.now())
    if query.window is not None and not _has_window(caller):
        return Page([], None)
    if query.q is not None:
        found_ids = await find_contacts(gateway.db, caller.channel_id, query.q)
        filter_ = msgspec.structs.replace(filter_, contact_ids=found_ids)
    page = await list_conversations(gateway.db, caller.channel_id, filter_, before, query.limit)
    found = [_conversation(one, gateway, caller) for one in page.conversations]
    return Page(found, show_cursor(page.following) if page.following else None)


@get(_PATH + "/counts", scope="read", summary="Count conversations")
async def count_all(query: CountQuery, gateway: Context, caller: CurrentCaller) -> ConversationCounts:
    """How many conversations are open, unread, assigned to the caller, assigned to nobody, or close soon."""
    user_id, closing = caller.principal.user_id, closing_within(query.closing_hours, gateway.clock.now())
    assignee = None if user_id is None else ids.format_id("usr", user_id)
    counts = await count_conversations(gateway.db, caller.channel_id, assignee, closing)
    return ConversationCounts.of(counts, user=user_id is not None, window=_has_window(caller))


@get(_ONE, scope="read", summary="Get a conversation")
async def get_conversation(conversation_id: str, gateway: Context, caller: CurrentCaller) -> Conversation:
    """One conversation with its contact, labels and newest message."""
    found = await service.access_conversation(gateway.db, caller.channel_id, conversation_id)
    return _conversation(found, gateway, caller)


@patch(
    _ONE,
    scope="manage",
    agents=True,
    summary="Change a conversation",
    message="Conversation changed",
    example={"status": "closed", "assignee": "Anna", "note": "Wants it on Friday"},
)
async def change_conversation(
    conversation_id: str, body: ConversationChange, gateway: Context, caller: CurrentCaller
) -> Conversation:
    """Sets status, archived, muted, assignee or note."""
    now = gateway.clock.now()
    await service.change_conversation(gateway.db, caller, conversation_id, body, now)
    found = await service.access_conversation(gateway.db, caller.channel_id, conversation_id)
    return _conversation(found, gateway, caller)


@get(_ONE + "/messages", scope="read", summary="List a conversation's messages")
async def list_messages(conversation_id: str, query: Paged, gateway: Context, caller: CurrentCaller) -> Page[Message]:
    """The sent and received messages of a conversation, the newest first."""
    before, now = read_cursor(query.cursor, UUID), gateway.clock.now()
    page = await service.list_history(gateway.db, caller.channel_id, conversation_id, before, query.limit, now)
    rows = [Message.of(row, now) for row in page.messages]
    return Page(rows, show_cursor(page.reached) if page.reached else None)


@post(_ONE + "/read", scope="send", summary="Mark a conversation as read")
async def post_read(conversation_id: str, gateway: Context, caller: CurrentCaller) -> Reply[ReadConversation]:
    """Marks all messages of a conversation as read. If the channel is connected, the contact sees that, too."""
    channel, now = await get_channel(gateway.db, caller.account_id, caller.channel_id), gateway.clock.now()
    shown = await service.read_conversation(gateway.db, gateway.speak, channel, conversation_id, now)
    found = await service.access_conversation(gateway.db, caller.channel_id, conversation_id)
    read = ReadConversation.after(found, now, window=_has_window(caller), shown=shown)
    result = "the person was shown that" if shown else "the network could not show the person"
    return Reply(read, f"Conversation read; {result}")


@post(
    _ONE + "/typing",
    scope="send",
    summary="Show typing",
    message="Typing is shown",
    errors=NETWORK,
    needs=("incoming_id",),
    after=CONNECTED,
)
async def post_typing(conversation_id: str, gateway: Context, caller: CurrentCaller) -> None:
    """Shows the contact that a reply is being typed."""
    channel = await get_channel(gateway.db, caller.account_id, caller.channel_id)
    await show_typing(gateway.db, gateway.speak, channel, conversation_id, gateway.clock.now())


def _conversation(found: ConversationDetails, gateway: ApiContext, caller: Caller) -> Conversation:
    return Conversation.of(found, gateway.clock.now(), window=_has_window(caller))


def _has_window(caller: Caller) -> bool:
    return NETWORK_KINDS[caller.kind].capabilities.window
