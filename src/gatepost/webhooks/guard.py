"""The guard of customer-supplied URLs: checks where a URL leads, and pins the addresses that were checked.

    url ─► parse (the HTTP client's parser) ─► scheme, userinfo, port ─► literal address? ──► ranges ─► CheckedUrl
                                                                   └─► name ─► resolve ─► every address ─┘
    Rejected: ForbiddenUrl (permanent) or UnresolvedUrl (the name has no address at the moment).

The caller connects to the checked addresses and resolves nothing again. So a CheckedUrl may be reused for some
seconds: a name that resolves differently meanwhile does not change where the connection goes.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

import msgspec
from pyreqwest.http import Url

from gatepost.webhooks.dns import NotResolved, ResolvedName
from gatepost.webhooks.forbidden_addresses import PORTS, forbidden
from gatepost.webhooks.resolver import Resolver

LONGEST_URL = 2048
LONGEST_HOST = 253
REUSE_SECONDS = 30.0  # at most; less if the TTL of the name is less
REMEMBERED = 4096

Resolve = Callable[[str, Hashable], Awaitable[ResolvedName]]  # a host name, and the channel it is resolved for


class UrlRefused(Exception):
    """A URL that is not called; `reason` is a sentence for the customer."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ForbiddenUrl(UrlRefused):
    """The URL is malformed or leads to a forbidden address."""


class UnresolvedUrl(UrlRefused):
    """The host name has no address at the moment."""


class CheckedUrl(msgspec.Struct, frozen=True):
    """A URL that passed the guard, and its checked addresses in the order to try them."""

    url: Url
    scheme: str
    host: str
    port: int
    addresses: tuple[str, ...]
    literal: bool
    authority: str  # of the Host header
    resource: str  # path and query

    @property
    def address(self) -> str:
        """The address to connect to first."""
        return self.addresses[0]


def parse(url: str) -> Url:
    """Return the URL as the HTTP client parses it, or raise ForbiddenUrl."""
    try:
        parsed = Url(url)
    except ValueError as error:
        raise ForbiddenUrl(f"This is not a URL that can be called: {error}.") from None
    if max(len(url), len(parsed)) > LONGEST_URL:
        raise ForbiddenUrl(f"The URL is longer than {LONGEST_URL} characters.")
    if parsed.scheme not in ("http", "https"):
        raise ForbiddenUrl(f"Only http and https can be called, not {parsed.scheme}.")
    if parsed.username or parsed.password is not None:
        raise ForbiddenUrl("The URL must not contain a user name or password; use a header instead.")
    host = parsed.host_str or ""
    if not host or len(host) > LONGEST_HOST or ".." in f".{host}":  # a name with an empty part never resolves
        raise ForbiddenUrl("The URL has no usable host.")
    return parsed


def host_and_port(url: Url) -> tuple[str, int]:
    """Return the host, without brackets or a final dot, and the port of a parsed http URL."""
    host = (url.host_str or "").strip("[]").removesuffix(".")
    return host, url.port_or_known_default or 0


class Guard:
    """Checks URLs; `allow` lists exceptions: address ranges, host names, or `host:port`."""

    def __init__(
        self,
        allow: Sequence[str] = (),
        resolver: Resolve | None = None,
        *,
        timeout: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._networks, self._names = _read_allow(allow)
        self._resolver = resolver or Resolver()
        self._timeout = timeout
        self._clock = clock
        self._known: dict[str, tuple[float, CheckedUrl]] = {}
        self._checking: dict[tuple[str, Hashable], asyncio.Task[CheckedUrl | UrlRefused]] = {}

    def check_shape(self, url: str) -> Url:
        """Check what can be checked without resolving the name, as when an endpoint is saved; raise ForbiddenUrl."""
        parsed = parse(url)
        host, port = host_and_port(parsed)
        if f"{host}:{port}" in self._names:
            return parsed
        if port in PORTS:
            raise ForbiddenUrl(f"Port {port} cannot be called: it belongs to {PORTS[port]}.")
        if parsed.domain is None:
            self._check_address(host, port, host)
        elif host == "localhost" or host.endswith(".localhost"):
            self._check_address(host, port, "127.0.0.1")
        return parsed

    def recall(self, url: str) -> CheckedUrl | None:
        """Return the result of a recent check, if it may be reused."""
        known = self._known.get(url)
        return known[1] if known and self._clock() < known[0] else None

    async def check(self, url: str, channel: Hashable = None) -> CheckedUrl:
        """Check a URL for a channel, or raise ForbiddenUrl or UnresolvedUrl."""
        target = self.recall(url)
        if target is not None:
            return target
        # Deliveries to one endpoint share one check, which continues if one of them is cancelled. Channels do not
        # share it: a channel with many names to resolve must not make another one wait in its queue.
        key = (url, channel)
        task = self._checking.get(key)
        if task is None:
            task = self._checking[key] = asyncio.create_task(self._look_up(url, channel))
            task.add_done_callback(lambda _: self._checking.pop(key, None))
        result = await asyncio.shield(task)
        if isinstance(result, UrlRefused):
            raise type(result)(result.reason)
        return result

    async def _look_up(self, url: str, channel: Hashable) -> CheckedUrl | UrlRefused:
        try:
            parsed = self.check_shape(url)
            host, port = host_and_port(parsed)
            literal = parsed.domain is None
            found = ResolvedName((host,), REUSE_SECONDS) if literal else await self._resolve(host, port, channel)
        except UrlRefused as error:
            return error
        target = _checked(parsed, host, port, found.addresses)
        self._remember(url, target, found.seconds)
        return target

    async def _resolve(self, host: str, port: int, channel: Hashable) -> ResolvedName:
        try:
            async with asyncio.timeout(self._timeout):
                found = await self._resolver(host, channel)
        except (NotResolved, OSError, TimeoutError, UnicodeError):
            found = ResolvedName((), 0.0)
        if not found.addresses:
            raise UnresolvedUrl(f"The host name {host} could not be resolved.")
        for address in found.addresses:
            self._check_address(host, port, address)
        return found

    def _check_address(self, host: str, port: int, address: str) -> None:
        if host in self._names or f"{host}:{port}" in self._names:
            return
        reason = forbidden(address)
        if reason is None or any(ip_address(address) in network for network in self._networks):
            return
        # The address of a name is not shown: it may be a secret of the operator's network.
        why = f"The host {host} cannot be called: it leads to an address that is {reason}."
        raise ForbiddenUrl(f"{why} The operator can allow it with the setting webhooks.allow.")

    def _remember(self, url: str, target: CheckedUrl, seconds: float) -> None:
        self._known.pop(url, None)
        if len(self._known) >= REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[url] = (self._clock() + min(seconds, REUSE_SECONDS), target)


def _checked(url: Url, host: str, port: int, addresses: tuple[str, ...]) -> CheckedUrl:
    shown = url.host_str or host
    authority = shown if url.port is None else f"{shown}:{url.port}"
    resource = url.path if url.query_string is None else f"{url.path}?{url.query_string}"
    return CheckedUrl(url, url.scheme, shown, port, addresses, url.domain is None, authority, resource)


def _read_allow(allow: Sequence[str]) -> tuple[list[IPv4Network | IPv6Network], frozenset[str]]:
    networks, names = [], set()
    for entry in allow:
        try:
            networks.append(ip_network(entry))
        except ValueError:
            if "/" in entry or not entry:
                raise ValueError(f"allow: {entry!r} is neither a range, a host name nor host:port") from None
            names.add(entry.lower().replace("[", "").replace("]", ""))
    return networks, frozenset(names)
