"""Callbacks of the official network: the handshake, and signed updates, which are stored before the response 200."""

from urllib.parse import parse_qs
from uuid import UUID

import structlog

from gatepost.api.context import ApiContext, CallbackConfig
from gatepost.compute import compute
from gatepost.model import ids
from gatepost.model.errors import BadRequest, NotAuthenticated, NotFound
from gatepost.networks.cloud.callback import BadCallback, parse_updates, signature_ok, signature_possible, token_ok

_LARGE = 16 * 1024  # bytes; a larger callback is parsed in the worker thread
log = structlog.get_logger("gatepost.callbacks")


async def verify_callback(gateway: ApiContext, channel: str, query: bytes) -> str:
    """Return the challenge, if the request has the verify token."""
    config = await _config(gateway, channel)
    asked = {name: values[0] for name, values in parse_qs(query.decode("latin-1")).items()}
    if asked.get("hub.mode") != "subscribe" or not token_ok(config.verify_token, asked.get("hub.verify_token")):
        raise NotAuthenticated("The verify token is not the one of this channel.", "invalid_signature")
    return asked.get("hub.challenge", "")


async def find_callback(gateway: ApiContext, channel: str, signature: str | None) -> CallbackConfig:
    """Return the channel of a callback. The channel and the signature's format are checked before the body is read."""
    config = await _config(gateway, channel)
    if not signature_possible(signature):
        raise NotAuthenticated("The header X-Hub-Signature-256 is missing or malformed.", "invalid_signature")
    return config


async def receive_callback(gateway: ApiContext, channel: str, body: bytes, signature: str | None) -> None:
    """Store statuses and messages. The network gets a success only when they are stored."""
    config = await _config(gateway, channel)  # its secret may have changed while the body arrived
    if not signature_ok(config.app_secret, body, signature):
        raise NotAuthenticated("The signature does not fit this body.", "invalid_signature")
    try:
        ours = config.phone_number_id, config.waba_id, config.channel.phone
        large = len(body) > _LARGE
        updates, unread = await compute(parse_updates, body, *ours) if large else parse_updates(body, *ours)
    except BadCallback as error:
        raise BadRequest(f"This is not a callback of the network: {error}") from None
    if unread:
        log.warning("updates not understood", channel=channel, count=unread)
    await gateway.receiver.receive(config.id, config.channel, updates)


async def _config(gateway: ApiContext, channel: str) -> CallbackConfig:
    channel_id: UUID | None = ids.parse_id("ch", channel)
    config = await gateway.callback_configs.get(channel_id) if channel_id else None
    if config is None:
        raise NotFound("There is no such official channel.")
    return config
