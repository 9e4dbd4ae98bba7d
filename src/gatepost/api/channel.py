"""The caller's own channel: what it is, what it can carry, how much room its limits leave; and linking its phone."""

from typing import Any

import msgspec
from litestar import Request, Response, get, post

from gatepost.access.access_recheck import recheck_access
from gatepost.admin.channels import get_channel
from gatepost.api.context import ApiContext, Context, CurrentCaller
from gatepost.api.json_body import answer, read_body
from gatepost.api.paging import check_query
from gatepost.model import ids, times
from gatepost.model.account import Caller
from gatepost.model.errors import invalid_field
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.services import link
from gatepost.store.channels import ChannelConfig, get_pace
from gatepost.store.links import get_link

_WAIT = 10.0  # seconds that a request waits for a code to appear
_TYPES = {"svg": "image/svg+xml", "png": "image/png"}
_NO_STORE = {"cache-control": "no-store"}


class PairingRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whose phone is to be linked; left out: the channel's own number."""

    phone: str | None = None


_pairing = msgspec.json.Decoder(PairingRequest)


@get("/api/v1/channel", opt={"scope": "read"}, summary="Get the channel")
async def show_channel(gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Kind, phone, connection, capabilities, limits with their headroom, and what holds sending back."""
    config, now = await _config(gateway, caller), gateway.clock.now()
    row = await get_link(gateway.db, config.id) if NETWORK_KINDS[config.kind].linked else None
    pace = msgspec.json.decode(await get_pace(gateway.db, config.id))
    shown = _show(config, pace, gateway.limits(config, row, now))
    return answer(shown | {"link": link.show_link(row, now)} if row else shown)


@post("/api/v1/channel/connect", opt={"scope": "manage"}, status_code=200, summary="Connect the channel")
async def connect_channel(gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Opens the link of a QR channel; where no phone is linked yet, codes to scan follow."""
    config = await _config(gateway, caller)
    await link.connect(gateway.db, config, gateway.clock.now())
    return answer({"connection": {"state": config.connection, "reason": config.reason}}, "The link is being opened")


@get("/api/v1/channel/qr", opt={"scope": "manage"}, summary="Get the code to scan")
async def show_qr(request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """The code that the phone has to scan now, as text or as a picture."""
    format_ = check_query(request.query_params, "format").get("format", "json")
    if format_ not in ("json", *_TYPES):
        raise invalid_field("format", f"must be one of: json, {', '.join(_TYPES)}")
    wait = 0.0 if request.method == "HEAD" else _WAIT
    code = await link.current_code(gateway.db, gateway.clock, await _config(gateway, caller), wait)
    await recheck_access(request.scope)
    if format_ == "json":
        return answer({"code": code.text, "until": times.show(code.until)}, headers=_NO_STORE)
    return Response(link.picture(code, format_), media_type=_TYPES[format_], headers=_NO_STORE)


@post("/api/v1/channel/pairing-code", opt={"scope": "manage"}, status_code=200, summary="Get a pairing code")
async def make_pairing_code(
    request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller
) -> Response[bytes]:
    """A code of eight characters to type on the phone instead of scanning."""
    wish, _ = await read_body(request, _pairing)
    config = await _config(gateway, caller)
    await link.want_pairing_code(gateway.db, config, wish.phone, gateway.clock.now())
    code = await link.pairing_code(gateway.db, gateway.clock, config, _WAIT)
    await recheck_access(request.scope)
    told = "Type this code on the phone: linked devices, link with phone number"
    return answer({"code": code}, told, headers=_NO_STORE)


@post("/api/v1/channel/logout", opt={"scope": "manage"}, status_code=200, summary="Log the channel out")
async def log_out_channel(gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Unlinks the phone of a QR channel."""
    config = await _config(gateway, caller)
    await link.log_out(gateway.db, config, gateway.clock.now())
    return answer({"connection": {"state": config.connection, "reason": config.reason}}, "The phone is being unlinked")


async def _config(gateway: ApiContext, caller: Caller) -> ChannelConfig:
    return await get_channel(gateway.db, caller.account_id, caller.channel_id)


_NOBODY_WAITS: dict[str, Any] = {"free_at": None, "since": None, "waiting": 0}


def _unused(limit: float | None) -> dict[str, Any]:
    """A limit of a number that has sent nothing yet."""
    return {"limit": limit, "used": 0, "free": limit}


def throughput_shown(pace: dict[str, Any], limits: dict[str, Any]) -> dict[str, Any]:
    """What the number sends a second, and may."""
    shown: dict[str, Any] = pace.get("throughput") or _unused(limits["throughput"])
    return shown


def tier_shown(pace: dict[str, Any], limits: dict[str, Any]) -> dict[str, Any]:
    """How many conversations the business has opened in 24 hours, and may."""
    shown: dict[str, Any] = pace.get("tier") or _unused(limits["tier"] or None) | _NOBODY_WAITS
    return shown


def _pair_shown(pace: dict[str, Any], limits: dict[str, Any]) -> dict[str, Any]:
    """How often one person may be written to, and how many wait for that."""
    unused = {"seconds": limits["pair_seconds"], "burst": limits["pair_burst"], "free_at": None, "waiting": 0}
    shown: dict[str, Any] = pace.get("pair") or unused
    return shown


def _show(config: ChannelConfig, pace: dict[str, Any], limits: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": ids.show("ch", config.id),
        "kind": config.kind,
        "phone": config.phone,
        "name": config.name,
        "connection": {"state": config.connection, "reason": config.reason},
        "capabilities": NETWORK_KINDS[config.kind].capabilities.view(),
        "quality": config.state.get("quality"),
        "status": config.state.get("status"),
        "limits": limits,
        "throughput": throughput_shown(pace, limits),
        "tier": tier_shown(pace, limits),
        "pair": _pair_shown(pace, limits),
        "queued": pace.get("queued", 0),
        "waiting": pace.get("waiting"),
    }
