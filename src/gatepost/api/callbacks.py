"""Callbacks of networks: the handshake, and signed updates, which are stored before the response 200."""

from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import parse_qs
from uuid import UUID

import structlog

from gatepost.api.context import ApiContext, CallbackConfig
from gatepost.compute import compute
from gatepost.model import ids
from gatepost.model.errors import BadRequest, NotFound
from gatepost.networks.base import BadCallback
from gatepost.networks.kinds import NETWORK_KINDS

PREFIX = "/callbacks/"
_PATH_MAX = 128  # characters; a longer path names no channel
_LARGE = 16 * 1024  # bytes; a larger callback is parsed in the worker thread
log = structlog.get_logger("gatepost.callbacks")


def is_callback(path: str) -> bool:
    """Return whether a path is below the callback URL of a network: `/callbacks/<network>/`."""
    name, slash, _ = path.removeprefix(PREFIX).partition("/")
    return bool(slash) and any(kind.callbacks and kind.callbacks.path == name for kind in NETWORK_KINDS.values())


async def verify_callback(gateway: ApiContext, path: str, query: bytes) -> str:
    """Return the response to the network's handshake."""
    config = await _config(gateway, path)
    return config.reader.answer_handshake(
        {name: values[0] for name, values in parse_qs(query.decode("latin-1")).items()}
    )


async def find_callback(gateway: ApiContext, path: str, headers: Mapping[bytes, str]) -> CallbackConfig:
    """Return the channel of a callback. The channel and the signature's format are checked before the body is read."""
    config = await _config(gateway, path)
    config.reader.check_headers(headers)
    return config


async def receive_callback(gateway: ApiContext, path: str, headers: Mapping[bytes, str], body: bytes) -> None:
    """Store statuses and messages. The network gets a success only when they are stored."""
    config = await _config(gateway, path)  # its secret may have changed while the body arrived
    config.reader.check_signature(headers, body)
    try:
        parse = config.reader.parse
        updates, unread = await compute(parse, body) if len(body) > _LARGE else parse(body)
    except BadCallback as error:
        raise BadRequest(f"This is not a callback of the network: {error}") from None
    if unread:
        log.warning("updates not understood", channel=config.channel.id, count=unread)
    await gateway.receiver.receive(config.id, config.channel, updates)


def peek_config(gateway: ApiContext, path: str) -> CallbackConfig | None:
    """Return the channel of a callback if it is cached."""
    name, channel_id = _parse(path)
    config = gateway.callback_configs.peek(channel_id) if channel_id else None
    return config if config is not None and _callback_path(config) == name else None


async def _config(gateway: ApiContext, path: str) -> CallbackConfig:
    name, channel_id = _parse(path)
    config = await gateway.callback_configs.get(channel_id) if channel_id else None
    if config is None or _callback_path(config) != name:
        raise NotFound("There is no such channel on this network.")
    return config


def _parse(path: str) -> tuple[str, UUID | None]:
    """Return the network and the channel that a path names."""
    return _parse_short(path) if len(path) <= _PATH_MAX else ("", None)


@lru_cache(4096)
def _parse_short(path: str) -> tuple[str, UUID | None]:
    name, _, channel = path.removeprefix(PREFIX).partition("/")
    return name, ids.parse_id("ch", channel)


def _callback_path(config: CallbackConfig) -> str | None:
    callbacks = NETWORK_KINDS[config.channel.kind].callbacks
    return callbacks.path if callbacks else None
