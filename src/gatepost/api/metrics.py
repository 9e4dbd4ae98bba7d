"""The figures of this process, for the operator's Prometheus: with a token, or for this machine alone."""

import hmac
import re
from ipaddress import ip_address
from typing import Any

from litestar import Request, Response, get

from gatepost.api.gateway import Door
from gatepost.meters import CONTENT_TYPE
from gatepost.model.errors import NotAuthenticated, NotFound

_PORT = re.compile(r"(?<=[^:]):\d*$", re.ASCII)
# A proxy on this machine makes all the world look local; what it says of itself gives it away.
_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via")


@get("/metrics", opt={"public": True}, summary="Figures for Prometheus")
async def show_metrics(request: Request[Any, Any, Any], gateway: Door) -> Response[bytes]:
    """Counters and gauges of this process."""
    check_reader(request, gateway.figures.token)
    return Response(await gateway.figures.show(), headers={"cache-control": "no-store"}, media_type=CONTENT_TYPE)


def check_reader(request: Request[Any, Any, Any], token: str) -> None:
    """Lets in who has the token; where there is none, who asks from this machine without anybody in between."""
    if token:
        given = request.headers.get("authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
            raise NotAuthenticated("Send the token of the setting metrics.token as 'Authorization: Bearer <token>'.")
    elif not is_local(request):
        raise NotFound("There is nothing at this address for you. The operator can set metrics.token.")


def is_local(request: Request[Any, Any, Any]) -> bool:
    """Whether the caller is a program of this machine."""
    client = request.client
    if client is None or any(name in request.headers for name in _FORWARDED):
        return False
    return _is_loopback(client.host) and _is_bare(request.headers.get("host", ""))


def _is_loopback(host: str) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return False
    inner = getattr(address, "ipv4_mapped", None)
    return (inner or address).is_loopback


def _is_bare(host: str) -> bool:
    """Whether a Host names no place of the outside: a silent proxy, or a page that had its own name led here, does."""
    name = host.rpartition(":")[0] if _PORT.search(host) else host
    return name.lower() in ("", "localhost") or _is_loopback(name.strip("[]"))
