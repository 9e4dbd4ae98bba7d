"""The caller's own channel: its kind, capabilities and limits; and linking its phone."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gatepost.access.access_recheck import recheck_access
from gatepost.admin.channels import get_channel
from gatepost.api.asgi import Request, Response
from gatepost.api.context import ApiContext, Context, CurrentCaller
from gatepost.api.contract.channel import (
    Channel,
    ChannelLimits,
    ChannelLink,
    Code,
    Connecting,
    Connection,
    Headroom,
    PairingCode,
)
from gatepost.api.openapi.error_codes import NETWORK
from gatepost.api.openapi.route_docs import WaitUntil
from gatepost.api.query import Query
from gatepost.api.responses import SECRET, Reply
from gatepost.api.route import get, post
from gatepost.compute import compute
from gatepost.model import times
from gatepost.model.account import Caller
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.services import link
from gatepost.store.channels import ChannelConfig, get_pace
from gatepost.store.links import LinkRow, get_link

_WAIT = 10.0  # seconds that a request waits for a code to appear
_TYPES = {"svg": "image/svg+xml", "png": "image/png"}
_UNLINKED = WaitUntil("/api/v1/channel", '!["connected", "limited"].includes(data.connection.state)', tries=0)
decode_headroom = msgspec.json.Decoder(Headroom).decode


class PairingRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The number of the phone to link. The default is the channel's own number."""

    phone: str | None = None


class CodeQuery(Query, frozen=True, kw_only=True):
    """How the code is written."""

    format: Annotated[Literal["json", "svg", "png"], Meta(description="The format of the code.")] = "json"


@get("/api/v1/channel", scope="read", summary="Get the channel")
async def show_channel(gateway: Context, caller: CurrentCaller) -> Channel:
    """Kind, phone number, connection, capabilities and limits of the channel, and the reason if sending is delayed."""
    config = await _config(gateway, caller)
    limits, headroom, row = await read_headroom(gateway, config)
    return Channel.of(config, limits, headroom, ChannelLink.of(row, gateway.clock.now()) if row else None)


@post(
    "/api/v1/channel/connect",
    scope="manage",
    summary="Connect the channel",
    message="The link is being opened",
    errors=NETWORK,
    only="qr",
    folder="linking",
)
async def connect_channel(gateway: Context, caller: CurrentCaller) -> Connecting:
    """Opens the link of a QR channel. If no phone is linked yet, get the code to scan next."""
    config = await _config(gateway, caller)
    await link.connect(gateway.db, config, gateway.clock.now())
    return Connecting(Connection.of(config))


@get(
    "/api/v1/channel/qr",
    scope="manage",
    summary="Get the code to scan",
    errors=NETWORK,
    binary=tuple(_TYPES.values()),
    after=_UNLINKED,
    only="qr",
    folder="linking",
)
async def show_qr(
    query: CodeQuery, request: Request, gateway: Context, caller: CurrentCaller
) -> Reply[Code] | Response:
    """The current code to scan with the phone, as text or as a picture."""
    wait = 0.0 if request.method == "HEAD" else _WAIT
    code = await link.current_code(gateway.db, gateway.clock, await _config(gateway, caller), wait)
    await recheck_access(request.scope)
    if query.format == "json":
        return Reply(Code(code.text, times.format_time(code.until)), headers=SECRET)
    picture = await compute(link.picture, code, query.format)
    return Response(picture, media_type=_TYPES[query.format], headers=SECRET)


@post(
    "/api/v1/channel/pairing-code",
    scope="manage",
    summary="Get a pairing code",
    message="Type this code on the phone: linked devices, link with phone number",
    errors=("invalid_phone", *NETWORK),
    body_required=False,
    example={},
    after=_UNLINKED,
    only="qr",
    folder="linking",
)
async def make_pairing_code(
    body: PairingRequest, request: Request, gateway: Context, caller: CurrentCaller
) -> Reply[PairingCode]:
    """A code of eight characters to type on the phone instead of scanning."""
    config = await _config(gateway, caller)
    await link.want_pairing_code(gateway.db, config, body.phone, gateway.clock.now())
    code = await link.pairing_code(gateway.db, gateway.clock, config, _WAIT)
    await recheck_access(request.scope)
    return Reply(PairingCode(code), headers=SECRET)


@post(
    "/api/v1/channel/logout",
    scope="manage",
    summary="Log the channel out",
    message="The phone is being unlinked",
    errors=NETWORK,
    needs=("allow_logout",),
    only="qr",
    folder="linking",
)
async def log_out_channel(gateway: Context, caller: CurrentCaller) -> Connecting:
    """Unlinks the phone of a QR channel."""
    config = await _config(gateway, caller)
    await link.log_out(gateway.db, config, gateway.clock.now())
    return Connecting(Connection.of(config))


async def _config(gateway: ApiContext, caller: Caller) -> ChannelConfig:
    return await get_channel(gateway.db, caller.account_id, caller.channel_id)


async def read_headroom(gateway: ApiContext, config: ChannelConfig) -> tuple[ChannelLimits, Headroom, LinkRow | None]:
    """Return the limits of a channel, what they leave, and the link of a QR channel."""
    row = await get_link(gateway.db, config.id) if NETWORK_KINDS[config.kind].linked else None
    limits = gateway.limits(config, row, gateway.clock.now())
    return limits, decode_headroom(await get_pace(gateway.db, config.id)), row
