"""Messages: get, trace, cancel, edit, delete, mark as read. Sending is in `hot_routes.py`."""

from gatepost.admin.channels import get_channel
from gatepost.api.context import ApiContext, Context, CurrentCaller
from gatepost.api.contract.messages import Message, Trace
from gatepost.api.openapi.error_codes import NETWORK
from gatepost.api.openapi.route_docs import WaitUntil
from gatepost.api.route import delete, get, patch, post
from gatepost.model.account import Caller
from gatepost.outbound.cancel import cancel_message
from gatepost.outbound.wait_explanation import explain_wait
from gatepost.services.messages import MessageChange, access_message, delete_message, edit_message
from gatepost.services.read_receipts import show_read
from gatepost.store.messages.history import read_trace

_ONE = "/api/v1/messages/{message_id}"
_SENT = WaitUntil("/api/v1/messages/{{message_id}}", '["SENT", "DELIVERED", "READ"].includes(data.status)')


@get(
    _ONE,
    scope="read",
    summary="Get a message",
    keeps={"conversation_id": "data.conversation.id", "contact_id": "data.contact.id"},
)
async def get_message(message_id: str, gateway: Context, caller: CurrentCaller) -> Message:
    """One message with its current status."""
    row, now = await access_message(gateway.db, caller.channel_id, message_id), gateway.clock.now()
    return Message.of(row, now, await explain_wait(gateway.db, caller.channel_id, row, now))


@get(_ONE + "/trace", scope="read", summary="Trace a message")
async def get_trace(message_id: str, gateway: Context, caller: CurrentCaller) -> Trace:
    """Every step from acceptance to each webhook attempt, with times and reasons."""
    row, now = await access_message(gateway.db, caller.channel_id, message_id), gateway.clock.now()
    wait = await explain_wait(gateway.db, caller.channel_id, row, now)
    return Trace.of(row, wait, await read_trace(gateway.db, caller.channel_id, row.event_ids), now)


@post(
    _ONE + "/cancel",
    scope="send",
    summary="Cancel a message",
    message="Message canceled",
    errors=("wrong_state", "overloaded"),
    uses={"message_id": "scheduled_id"},
)
async def post_cancel(message_id: str, gateway: Context, caller: CurrentCaller) -> Message:
    """Cancels a message that has not been sent yet."""
    row = await access_message(gateway.db, caller.channel_id, message_id)
    await cancel_message(gateway.db, caller, row, gateway.clock.now())
    return await _current(gateway, caller, message_id)


@patch(
    _ONE,
    scope="send",
    summary="Edit a message",
    message="Message edited",
    errors=NETWORK,
    example={"body": "Hello again from Gatepost"},
    after=_SENT,
    only="qr",
)
async def patch_message(message_id: str, body: MessageChange, gateway: Context, caller: CurrentCaller) -> Message:
    """Changes a text that was sent, also on the recipient's phone."""
    row = await access_message(gateway.db, caller.channel_id, message_id)
    channel = await get_channel(gateway.db, caller.account_id, caller.channel_id)
    await edit_message(gateway.db, gateway.speak, channel, row, body, gateway.clock.now())
    return await _current(gateway, caller, message_id)


@delete(
    _ONE,
    scope="send",
    summary="Delete for everyone",
    message="Message deleted for everyone",
    errors=NETWORK,
    after=_SENT,
    only="qr",
)
async def remove_message(message_id: str, gateway: Context, caller: CurrentCaller) -> Message:
    """Deletes a message for everyone."""
    row = await access_message(gateway.db, caller.channel_id, message_id)
    channel = await get_channel(gateway.db, caller.account_id, caller.channel_id)
    await delete_message(gateway.db, gateway.speak, channel, row, gateway.clock.now())
    return await _current(gateway, caller, message_id)


@post(
    _ONE + "/read",
    scope="send",
    summary="Mark as read",
    message="Message marked as read",
    errors=NETWORK,
    uses={"message_id": "incoming_id"},
)
async def post_read(message_id: str, gateway: Context, caller: CurrentCaller) -> Message:
    """Shows the sender that their message was read."""
    row = await access_message(gateway.db, caller.channel_id, message_id)
    channel = await get_channel(gateway.db, caller.account_id, caller.channel_id)
    await show_read(gateway.speak, channel, row)
    return Message.of(row, gateway.clock.now())


async def _current(gateway: ApiContext, caller: Caller, message_id: str) -> Message:
    """Return a message after a change."""
    return Message.of(await access_message(gateway.db, caller.channel_id, message_id), gateway.clock.now())
