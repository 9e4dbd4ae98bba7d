"""The origin of a page: scheme, host and port. Only the gateway's own pages may make changes with a session."""

from urllib.parse import urlsplit

from gatepost.model.errors import Forbidden

_PORTS = {"http": 80, "https": 443}


def origin_of(url: str) -> str:
    """Return the origin of a URL as browsers write it; empty if there is none."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return ""
    if parts.scheme not in _PORTS or not host:
        return ""
    name = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{name}" + (f":{port}" if port not in (None, _PORTS[parts.scheme]) else "")


def check_origin(given: str | None, own: str) -> None:
    """Reject a request that no page of the gateway sent. `given` is its Origin, or its Referer without one."""
    if given is None or not own or origin_of(given) != own:
        raise Forbidden(
            f"This request must come from a page of this gateway, {own}: its Origin or Referer says otherwise. If the "
            "address is wrong, the operator has to set server.public_url.",
            "wrong_origin",
        )
