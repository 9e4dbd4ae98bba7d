"""Addresses of clients, where requests and connections are counted per address."""

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

_MAY_HAVE_PORT = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+))(?::[0-9]{1,5})?")  # as some proxies write it


def client_network(address: str) -> str:
    """Return an IPv4 address unchanged, and the /64 network of an IPv6 address: a client has a whole one."""
    try:
        parsed = ip_address(address)
    except ValueError:  # a Unix socket
        return address
    if parsed.version == 4:
        return address
    mapped = parsed.ipv4_mapped  # a dual-stack socket maps all IPv4 addresses into one IPv6 network
    return str(mapped or ip_network((int(parsed), 64), strict=False))


class TrustedProxies:
    """The proxies whose header X-Forwarded-For counts."""

    def __init__(self, networks: Iterable[str]) -> None:
        self._networks = [ip_network(text) for text in networks]

    def client_of(self, peer: str | None, forwarded: str | None) -> str | None:
        """Return the address of a client: the last one that is not a trusted proxy, from the connection backwards."""
        if not self._networks or not forwarded or peer is None:
            return peer
        client = peer
        for text in reversed(forwarded.split(",")):
            if not self._trusts(client):
                break
            parsed = _parse(text.strip())
            if parsed is None:  # anyone may have written it: stop at the proxy that reported it
                break
            client = str(parsed)
        return client

    def _trusts(self, address: str) -> bool:
        parsed = _parse(address)
        return parsed is not None and any(parsed in network for network in self._networks)


def _parse(text: str) -> IPv4Address | IPv6Address | None:
    found = _MAY_HAVE_PORT.fullmatch(text)
    try:
        parsed = ip_address(found[1] or found[2] if found else text)
    except ValueError:
        return None
    return getattr(parsed, "ipv4_mapped", None) or parsed
