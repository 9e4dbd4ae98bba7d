"""Where the official network calls us: the handshake, and signed updates, durable before the 200."""

from typing import Any
from uuid import UUID

import structlog
from litestar import MediaType, Request, Response, get, post

from gatepost.api.gateway import Door, Doorstep, Gateway
from gatepost.model import ids
from gatepost.model.errors import BadRequest, NotAuthenticated, NotFound
from gatepost.networks.cloud.callback import BadCallback, read_updates, signature_ok, token_ok

log = structlog.get_logger("gatepost.callbacks")
_PATH = "/callbacks/cloud/{channel:str}"


@get(_PATH, opt={"public": True}, summary="The network's handshake", include_in_schema=False)
async def verify_callback(channel: str, request: Request[Any, Any, Any], gateway: Door) -> Response[str]:
    """Echoes the challenge to whoever knows the verify token."""
    doorstep = await _doorstep(gateway, channel)
    asked = request.query_params
    if asked.get("hub.mode") != "subscribe" or not token_ok(doorstep.verify_token, asked.get("hub.verify_token")):
        raise NotAuthenticated("The verify token is not the one of this channel.", "invalid_signature")
    return Response(asked.get("hub.challenge", ""), media_type=MediaType.TEXT)


@post(_PATH, opt={"public": True}, status_code=200, summary="The network's updates", include_in_schema=False)
async def receive_callback(channel: str, request: Request[Any, Any, Any], gateway: Door) -> Response[bytes]:
    """Takes in statuses and messages. The network hears yes only when they are stored."""
    doorstep = await _doorstep(gateway, channel)
    body = await request.body()
    if not signature_ok(doorstep.app_secret, body, request.headers.get("x-hub-signature-256")):
        raise NotAuthenticated("The signature does not fit this body.", "invalid_signature")
    try:
        updates, unread = read_updates(body, doorstep.phone_number_id)
    except BadCallback as error:
        raise BadRequest(f"This is not a callback of the network: {error}") from None
    if unread:
        log.warning("updates not understood", channel=channel, count=unread)
    await gateway.receiver.receive(doorstep.id, doorstep.channel, updates)
    return Response(b"", status_code=200, media_type=MediaType.TEXT)


async def _doorstep(gateway: Gateway, channel: str) -> Doorstep:
    channel_id: UUID | None = ids.read("ch", channel)
    doorstep = await gateway.doorsteps.get(channel_id) if channel_id else None
    if doorstep is None:
        raise NotFound("There is no such official channel.")
    return doorstep
