"""Messages: send, look, trace, cancel."""

from typing import Any

import msgspec
from litestar import MediaType, Request, Response, get, post

from gatepost.api.body import answer, read_body
from gatepost.api.gateway import Door, Who
from gatepost.desk.messages import access_message, show_message, trace_message
from gatepost.model.message import SendRequest
from gatepost.outbound.accept import idempotency_key
from gatepost.outbound.cancel import cancel_message

_send_request = msgspec.json.Decoder(SendRequest)


@post("/api/v1/message/send", opt={"scope": "send"}, status_code=200, summary="Send a message")
async def send_message(request: Request[Any, Any, Any], gateway: Door, caller: Who) -> Response[bytes]:
    """Accepts a message for sending. The answer comes once it is durable."""
    body, raw = await read_body(request, _send_request)
    key = idempotency_key(request.headers.get("idempotency-key"), raw)
    accepted = await gateway.acceptor.accept(caller, body, key)
    headers = {"Idempotent-Replayed": "true"} if accepted.replayed else None
    return Response(accepted.answer, status_code=200, headers=headers, media_type=MediaType.JSON)


@get("/api/v1/messages/{message_id:str}", opt={"scope": "read"}, summary="Get a message")
async def get_message(message_id: str, gateway: Door, caller: Who) -> Response[bytes]:
    """One message as it stands."""
    message = await access_message(gateway.db, caller.channel_id, message_id)
    return answer(show_message(message, gateway.clock.now()))


@get("/api/v1/messages/{message_id:str}/trace", opt={"scope": "read"}, summary="Trace a message")
async def get_trace(message_id: str, gateway: Door, caller: Who) -> Response[bytes]:
    """Every step from acceptance to each webhook attempt, with times and reasons."""
    message = await access_message(gateway.db, caller.channel_id, message_id)
    return answer(await trace_message(gateway.db, caller.channel_id, message, gateway.clock.now()))


@post("/api/v1/messages/{message_id:str}/cancel", opt={"scope": "send"}, status_code=200, summary="Cancel a message")
async def post_cancel(message_id: str, gateway: Door, caller: Who) -> Response[bytes]:
    """Cancels a message that has not left yet."""
    message = await access_message(gateway.db, caller.channel_id, message_id)
    await cancel_message(gateway.db, caller, message, gateway.clock.now())
    gateway.ring(caller.channel_id)
    message = await access_message(gateway.db, caller.channel_id, message_id)
    return answer(show_message(message, gateway.clock.now()), "Message canceled")
