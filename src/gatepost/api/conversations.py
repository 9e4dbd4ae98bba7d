"""Conversations: list, look, set, read, and show that an answer is being written."""

from typing import Any
from uuid import UUID

import msgspec
from litestar import Request, Response, get, patch, post
from litestar.datastructures import MultiDict
from litestar.params import FromPath

from gatepost.admin.channels import get_channel
from gatepost.api.context import ApiContext, Context, CurrentCaller
from gatepost.api.json_body import answer, read_body
from gatepost.api.paging import check_query, read_cursor, read_limit, show_cursor
from gatepost.model import ids
from gatepost.model.account import Caller
from gatepost.model.dates import read_moment, read_zone
from gatepost.model.errors import invalid_field
from gatepost.model.event import ChannelRef
from gatepost.model.field_readers import read_choice
from gatepost.model.phone import check_phone
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.services import conversations as desk
from gatepost.services.messages import show_message
from gatepost.services.read_receipts import show_typing
from gatepost.store.conversations.changes import STATUSES, ConversationDetails
from gatepost.store.conversations.inbox import InboxFilter, list_conversations

_PATH = "/api/v1/conversations"
_ONE = _PATH + "/{conversation_id:str}"
_PAGE = ("limit", "cursor")
_FILTERS = ("status", "archived", "unread", "label", "phone", "since", "tz")
_change = msgspec.json.Decoder(desk.ConversationChange)


@get(_PATH, opt={"scope": "read"}, summary="List conversations")
async def list_all(request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Conversations by their newest message, the newest first; narrowed by filters that combine."""
    query = check_query(request.query_params, *_PAGE, *_FILTERS)
    limit, before = read_limit(query.get("limit")), read_cursor(query.get("cursor"), UUID)
    page = await list_conversations(gateway.db, caller.channel_id, _filter(query), before, limit)
    shown = [_show(one, gateway, caller) for one in page.conversations]
    return answer(shown, paging=show_cursor(page.following) if page.following else None)


@get(_ONE, opt={"scope": "read"}, summary="Get a conversation")
async def get_conversation(conversation_id: FromPath[str], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """One conversation with its contact, labels and newest message."""
    found = await desk.access_conversation(gateway.db, caller.channel_id, conversation_id)
    return answer(_show(found, gateway, caller))


@patch(_ONE, opt={"scope": "manage"}, summary="Change a conversation")
async def change_conversation(
    conversation_id: FromPath[str], request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller
) -> Response[bytes]:
    """Sets status, archived, muted, assignee or note."""
    wishes, _ = await read_body(request, _change)
    channel = ChannelRef(ids.show("ch", caller.channel_id), caller.kind, caller.phone)
    now = gateway.clock.now()
    await desk.change_conversation(gateway.db, channel, caller.channel_id, conversation_id, wishes, now)
    found = await desk.access_conversation(gateway.db, caller.channel_id, conversation_id)
    return answer(_show(found, gateway, caller), "Conversation changed")


@get(_ONE + "/messages", opt={"scope": "read"}, summary="List a conversation's messages")
async def list_messages(
    conversation_id: FromPath[str], request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller
) -> Response[bytes]:
    """The messages of a conversation, both ways, the newest first."""
    query = check_query(request.query_params, *_PAGE)
    limit, before = read_limit(query.get("limit")), read_cursor(query.get("cursor"), UUID)
    now = gateway.clock.now()
    piece = await desk.list_history(gateway.db, caller.channel_id, conversation_id, before, limit, now)
    more = show_cursor(piece.reached) if piece.reached else None
    return answer([show_message(message, now) for message in piece.messages], paging=more)


@post(_ONE + "/read", opt={"scope": "send"}, status_code=200, summary="Mark a conversation as read")
async def post_read(conversation_id: FromPath[str], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Nothing of it is unread any more, and the person is shown that where the channel is connected."""
    channel = await get_channel(gateway.db, caller.account_id, caller.channel_id)
    shown = await desk.read_conversation(gateway.db, gateway.speak, channel, conversation_id, gateway.clock.now())
    found = await desk.access_conversation(gateway.db, caller.channel_id, conversation_id)
    told = "the person was shown that" if shown else "the network could not show the person"
    return answer(_show(found, gateway, caller) | {"shown": shown}, f"Conversation read; {told}")


@post(_ONE + "/typing", opt={"scope": "send"}, status_code=200, summary="Show typing")
async def post_typing(conversation_id: FromPath[str], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Shows the person that an answer is being written."""
    channel = await get_channel(gateway.db, caller.account_id, caller.channel_id)
    await show_typing(gateway.db, gateway.speak, channel, conversation_id, gateway.clock.now())
    return answer(None, "Typing is shown")


def _show(found: ConversationDetails, gateway: ApiContext, caller: Caller) -> dict[str, Any]:
    return desk.show_conversation(found, gateway.clock.now(), window=NETWORK_KINDS[caller.kind].capabilities.window)


def _filter(query: MultiDict[Any]) -> InboxFilter:
    status, phone, since = query.get("status"), query.get("phone"), query.get("since")
    zone = read_zone(query.get("tz"))
    return InboxFilter(
        status=None if status is None else read_choice("status", status, STATUSES),
        archived=_flag("archived", query.get("archived")),
        unread=_flag("unread", query.get("unread")),
        label_id=_label(query.get("label")),
        phone=None if phone is None else check_phone(phone),
        since=None if since is None else read_moment("since", since, zone),
    )


def _flag(name: str, text: str | None) -> bool | None:
    return None if text is None else read_choice(name, text, ("true", "false")) == "true"


def _label(text: str | None) -> UUID | None:
    label_id = None if text is None else ids.read("lb", text)
    if text is not None and label_id is None:
        raise invalid_field("label", "must be the id of a label, as GET /api/v1/labels shows it")
    return label_id
