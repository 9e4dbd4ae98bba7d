"""Messages: look, trace, cancel. Sending is in `hot.py`."""

from litestar import Response, get, post
from litestar.params import FromPath

from gatepost.api.body import answer
from gatepost.api.gateway import Door, Who
from gatepost.desk.messages import access_message, show_message, trace_message
from gatepost.outbound.cancel import cancel_message


@get("/api/v1/messages/{message_id:str}", opt={"scope": "read"}, summary="Get a message")
async def get_message(message_id: FromPath[str], gateway: Door, caller: Who) -> Response[bytes]:
    """One message as it stands."""
    message = await access_message(gateway.db, caller.channel_id, message_id)
    return answer(show_message(message, gateway.clock.now()))


@get("/api/v1/messages/{message_id:str}/trace", opt={"scope": "read"}, summary="Trace a message")
async def get_trace(message_id: FromPath[str], gateway: Door, caller: Who) -> Response[bytes]:
    """Every step from acceptance to each webhook attempt, with times and reasons."""
    message = await access_message(gateway.db, caller.channel_id, message_id)
    return answer(await trace_message(gateway.db, caller.channel_id, message, gateway.clock.now()))


@post("/api/v1/messages/{message_id:str}/cancel", opt={"scope": "send"}, status_code=200, summary="Cancel a message")
async def post_cancel(message_id: FromPath[str], gateway: Door, caller: Who) -> Response[bytes]:
    """Cancels a message that has not left yet."""
    message = await access_message(gateway.db, caller.channel_id, message_id)
    await cancel_message(gateway.db, caller, message, gateway.clock.now())
    gateway.ring(caller.channel_id)
    message = await access_message(gateway.db, caller.channel_id, message_id)
    return answer(show_message(message, gateway.clock.now()), "Message canceled")
