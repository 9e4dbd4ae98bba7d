"""Where a channel's token may go for a file: the network's own address, and hosts that the operator lists.

An answer of the network, or a callback, names the address of a file. A forged one must not get the token.

    https, a listed host and port        ─► a client that somebody else checks and pins (the guard)
    the address that every call goes to  ─► the client of all calls
    anything else                        ─► no request
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import msgspec
from pyreqwest.client import Client
from pyreqwest.http import Url

Dial = Callable[[str], AbstractAsyncContextManager[Client]]  # raises CallFailed where an address may not be called


class FileHosts(msgspec.Struct, frozen=True):
    """Hosts that give out files, by their exact names (`host`, or `host:port` for another port than 443), and how they
    are dialled.
    """

    names: frozenset[str]
    dial: Dial

    def include(self, url: str) -> bool:
        """Whether the token may go to this URL; it is read as the client that dials it reads it."""
        parsed = read_url(url)
        if parsed is None or parsed.username or parsed.password is not None:
            return False
        host, port = parsed.host_str, parsed.port_or_known_default
        return parsed.scheme == "https" and (f"{host}:{port}" in self.names or (port == 443 and host in self.names))


def read_url(url: str) -> Url | None:
    """A URL in the reading of the HTTP client; None for what it cannot call."""
    try:
        return Url(url)
    except ValueError:
        return None


def same_origin(one: str, other: str) -> bool:
    """Whether two URLs are at the same server, so that one may get what goes to the other."""
    first, second = read_url(one), read_url(other)
    if first is None or second is None or not first.host_str or first.username or first.password is not None:
        return False
    return _origin(first) == _origin(second)


def _origin(url: Url) -> tuple[str, str | None, int | None]:
    return url.scheme, url.host_str, url.port_or_known_default
