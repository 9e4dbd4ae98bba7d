"""The hosts of files that may get a channel's token: the network's own address, and hosts that the operator lists.

An answer of the network, or a callback, contains the URL of a file. A forged one must not get the token.

    https, a listed host and port        ─► a client that the guard checks and pins
    the network's own address            ─► the client of all calls
    anything else                        ─► no request
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import msgspec
from pyreqwest.client import Client
from pyreqwest.http import Url

Dial = Callable[[str], AbstractAsyncContextManager[Client]]  # raises CallFailed for a forbidden address


class FileHosts(msgspec.Struct, frozen=True):
    """Hosts of files by their exact names (`host`, or `host:port` for another port than 443), and their client."""

    names: frozenset[str]
    dial: Dial

    def include(self, url: str) -> bool:
        """Return whether the token may be sent to this URL. It is parsed as the HTTP client parses it."""
        parsed = read_url(url)
        if parsed is None or parsed.username or parsed.password is not None:
            return False
        host, port = parsed.host_str, parsed.port_or_known_default
        return parsed.scheme == "https" and (f"{host}:{port}" in self.names or (port == 443 and host in self.names))


def read_url(url: str) -> Url | None:
    """Return a URL as the HTTP client parses it; None if it is invalid."""
    try:
        return Url(url)
    except ValueError:
        return None


def same_origin(one: str, other: str) -> bool:
    """Return whether two URLs have the same origin."""
    first, second = read_url(one), read_url(other)
    if first is None or second is None or not first.host_str or first.username or first.password is not None:
        return False
    return _origin(first) == _origin(second)


def _origin(url: Url) -> tuple[str, str | None, int | None]:
    return url.scheme, url.host_str, url.port_or_known_default
