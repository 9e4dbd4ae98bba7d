"""Messages: look, trace, cancel, mark as read. Sending is in `hot.py`."""

from typing import Any

import msgspec
from litestar import Request, Response, delete, get, patch, post
from litestar.params import FromPath

from gatepost.admin.channels import get_channel
from gatepost.api.context import Context, CurrentCaller
from gatepost.api.json_body import answer, read_body
from gatepost.outbound.cancel import cancel_message
from gatepost.outbound.wait_explanation import explain_wait
from gatepost.services.message_amendments import MessageChange, delete_message, edit_message
from gatepost.services.messages import access_message, show_message, show_one, trace_message
from gatepost.services.read_receipts import show_read

_change = msgspec.json.Decoder(MessageChange)


@get("/api/v1/messages/{message_id:str}", opt={"scope": "read"}, summary="Get a message")
async def get_message(message_id: FromPath[str], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """One message as it stands."""
    message, now = await access_message(gateway.db, caller.channel_id, message_id), gateway.clock.now()
    return answer(show_one(message, await explain_wait(gateway.db, caller.channel_id, message, now), now))


@get("/api/v1/messages/{message_id:str}/trace", opt={"scope": "read"}, summary="Trace a message")
async def get_trace(message_id: FromPath[str], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Every step from acceptance to each webhook attempt, with times and reasons."""
    message, now = await access_message(gateway.db, caller.channel_id, message_id), gateway.clock.now()
    wait = await explain_wait(gateway.db, caller.channel_id, message, now)
    return answer(await trace_message(gateway.db, caller.channel_id, message, wait, now))


@post("/api/v1/messages/{message_id:str}/cancel", opt={"scope": "send"}, status_code=200, summary="Cancel a message")
async def post_cancel(message_id: FromPath[str], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Cancels a message that has not left yet."""
    message = await access_message(gateway.db, caller.channel_id, message_id)
    await cancel_message(gateway.db, caller, message, gateway.clock.now())
    message = await access_message(gateway.db, caller.channel_id, message_id)
    return answer(show_message(message, gateway.clock.now()), "Message canceled")


@patch("/api/v1/messages/{message_id:str}", opt={"scope": "send"}, summary="Edit a message")
async def patch_message(
    message_id: FromPath[str], request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller
) -> Response[bytes]:
    """Changes a text that was sent, on the person's phone too. QR channels only."""
    change, _ = await read_body(request, _change)
    message = await access_message(gateway.db, caller.channel_id, message_id)
    channel = await get_channel(gateway.db, caller.account_id, caller.channel_id)
    await edit_message(gateway.db, gateway.speak, channel, message, change, gateway.clock.now())
    message = await access_message(gateway.db, caller.channel_id, message_id)
    return answer(show_message(message, gateway.clock.now()), "Message edited")


@delete("/api/v1/messages/{message_id:str}", opt={"scope": "send"}, status_code=200, summary="Delete for everyone")
async def remove_message(message_id: FromPath[str], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Deletes a message for everyone. QR channels only."""
    message = await access_message(gateway.db, caller.channel_id, message_id)
    channel = await get_channel(gateway.db, caller.account_id, caller.channel_id)
    await delete_message(gateway.db, gateway.speak, channel, message, gateway.clock.now())
    message = await access_message(gateway.db, caller.channel_id, message_id)
    return answer(show_message(message, gateway.clock.now()), "Message deleted for everyone")


@post("/api/v1/messages/{message_id:str}/read", opt={"scope": "send"}, status_code=200, summary="Mark as read")
async def post_read(message_id: FromPath[str], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Shows the person that their message was read."""
    message = await access_message(gateway.db, caller.channel_id, message_id)
    channel = await get_channel(gateway.db, caller.account_id, caller.channel_id)
    await show_read(gateway.speak, channel, message)
    return answer(show_message(message, gateway.clock.now()), "Message marked as read")
