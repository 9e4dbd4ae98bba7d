"""Which requests the control API accepts: those to the sandbox's own address, not from pages of other sites.

Host is a name that is not allowed ─► 403       (DNS rebinding: a foreign name that resolves to this address)
Origin is not this address ─► 403               (a page of another site, in a browser on this machine)
a change with a body that is not JSON ─► 415    (the only bodies that such a page can post without a preflight)
"""

from ipaddress import ip_address
from typing import Any

_CHANGES = ("POST", "PUT", "PATCH", "DELETE")


def refuse_control(scope: dict[str, Any], allowed: frozenset[str]) -> tuple[int, str] | None:
    """Return why a request to the control API is rejected: the status and a message; None if it is accepted."""
    headers = _read_headers(scope)
    host = headers.get("host", "").lower()
    if not _is_own(_name(host), allowed):
        return 403, f"the control API does not answer to the host {host[:100]!r}: allow its name with --allow-host"
    if is_foreign(scope):
        return 403, f"the control API refuses requests from pages of {headers['origin'][:100]!r}"
    if scope["method"] in _CHANGES and not _is_json(headers):
        return 415, "a change must be sent with Content-Type: application/json"
    return None


def may_link(scope: dict[str, Any], allowed: frozenset[str]) -> bool:
    """Return whether a link of the QR network may be opened: by any program, but of pages only by the sandbox's own."""
    headers = _read_headers(scope)
    own = _is_own(_name(headers.get("host", "").lower()), allowed)
    return "origin" not in headers or (own and not is_foreign(scope))


def is_foreign(scope: dict[str, Any]) -> bool:
    """Return whether a browser sends this for a page of another site."""
    headers = _read_headers(scope)
    origin = headers.get("origin")
    return origin is not None and origin.lower().partition("://")[2] != headers.get("host", "").lower()


def _read_headers(scope: dict[str, Any]) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def _name(host: str) -> str:
    """Return a Host header without its port."""
    return host.partition("]")[0].removeprefix("[") if host.startswith("[") else host.partition(":")[0]


def _is_own(name: str, allowed: frozenset[str]) -> bool:
    """Return whether a host is allowed: an IP address always, a name only if it is listed (DNS rebinding)."""
    if name == "localhost" or name in allowed:
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _is_json(headers: dict[str, str]) -> bool:
    kind = headers.get("content-type")
    if kind is None:
        return headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
    return kind.partition(";")[0].strip().lower() == "application/json"
