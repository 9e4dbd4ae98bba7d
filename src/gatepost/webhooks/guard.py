"""The guard before every customer-supplied URL: judge it as it will be dialled, and pin what was judged.

    url ─► parse (the dialler's own parser) ─► scheme, userinfo, port ─► literal address? ──► ranges ─► Target
                                                                   └─► name ─► resolve ─► every address ─┘
    Refused: ForbiddenUrl (waiting will not help) or UnresolvedUrl (it may: the name has no address just now).

The Target holds the parsed URL and the checked addresses; the caller dials those and resolves nothing again. So a
Target may be used again for some seconds: a name that has moved since cannot change where the connection goes.
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
REUSE_SECONDS = 30.0  # at most; less where the name's addresses are good for less
REMEMBERED = 4096

Resolve = Callable[[str, Hashable], Awaitable[ResolvedName]]  # a host name, and the channel that asks


class UrlRefused(Exception):
    """A URL that will not be called; `reason` is a sentence for the customer."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ForbiddenUrl(UrlRefused):
    """The URL is malformed or leads where no customer may send us."""


class UnresolvedUrl(UrlRefused):
    """The host name has no address at the moment."""


class CheckedUrl(msgspec.Struct, frozen=True):
    """A judged URL: what was parsed, and the addresses that were checked, in the order to try them."""

    url: Url
    scheme: str
    host: str
    port: int
    addresses: tuple[str, ...]
    literal: bool

    @property
    def address(self) -> str:
        """The address to dial first."""
        return self.addresses[0]


def parse(url: str) -> Url:
    """Return the URL as the dialler reads it, or raise ForbiddenUrl."""
    try:
        parsed = Url(url)
    except ValueError as error:
        raise ForbiddenUrl(f"This is not a URL that can be called: {error}.") from None
    if max(len(url), len(parsed)) > LONGEST_URL:
        raise ForbiddenUrl(f"The URL is longer than {LONGEST_URL} characters.")
    if parsed.scheme not in ("http", "https"):
        raise ForbiddenUrl(f"Only http and https can be called, not {parsed.scheme}.")
    if parsed.username or parsed.password is not None:
        raise ForbiddenUrl("The URL must not hold a user name or password; use a header instead.")
    if not parsed.host_str or len(parsed.host_str) > LONGEST_HOST:
        raise ForbiddenUrl("The URL has no usable host.")
    return parsed


def host_and_port(url: Url) -> tuple[str, int]:
    """Return the host, without brackets or a final dot, and the port of a parsed http URL."""
    host = (url.host_str or "").strip("[]").removesuffix(".")
    return host, url.port_or_known_default or 0


class Guard:
    """Judges URLs; `allow` names what is open all the same: ranges, host names, or `host:port`."""

    def __init__(
        self,
        allow: Sequence[str] = (),
        resolver: Resolve | None = None,
        *,
        patience: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._networks, self._names = _read_allow(allow)
        self._resolver = resolver or Resolver()
        self._patience = patience
        self._clock = clock
        self._known: dict[str, tuple[float, CheckedUrl]] = {}
        self._asking: dict[tuple[str, Hashable], asyncio.Task[CheckedUrl | UrlRefused]] = {}

    def check_shape(self, url: str) -> Url:
        """Judge all that can be judged without asking for addresses, as when an endpoint is saved."""
        parsed = parse(url)
        host, port = host_and_port(parsed)
        if f"{host}:{port}" in self._names:
            return parsed
        if port in PORTS:
            raise ForbiddenUrl(f"Port {port} cannot be called: it belongs to {PORTS[port]}.")
        if parsed.domain is None:
            self._judge(host, port, host)
        elif host == "localhost" or host.endswith(".localhost"):
            self._judge(host, port, "127.0.0.1")
        return parsed

    def recall(self, url: str) -> CheckedUrl | None:
        """Return the judged target of a URL when it is fresh enough to be dialled again."""
        known = self._known.get(url)
        return known[1] if known and self._clock() < known[0] else None

    async def check(self, url: str, channel: Hashable = None) -> CheckedUrl:
        """Return the target of a URL for a channel, or raise ForbiddenUrl or UnresolvedUrl."""
        target = self.recall(url)
        if target is not None:
            return target
        # Many deliveries to one endpoint come due together: they share one question, and it outlives each of them.
        # Channels do not: one that has many names to ask for must not make another wait in its queue.
        key = (url, channel)
        task = self._asking.get(key)
        if task is None:
            task = self._asking[key] = asyncio.create_task(self._look_up(url, channel))
            task.add_done_callback(lambda _: self._asking.pop(key, None))
        answer = await asyncio.shield(task)
        if isinstance(answer, UrlRefused):
            raise type(answer)(answer.reason)
        return answer

    async def _look_up(self, url: str, channel: Hashable) -> CheckedUrl | UrlRefused:
        try:
            parsed = self.check_shape(url)
            host, port = host_and_port(parsed)
            literal = parsed.domain is None
            found = ResolvedName((host,), REUSE_SECONDS) if literal else await self._resolve(host, port, channel)
        except UrlRefused as refusal:
            return refusal
        target = CheckedUrl(parsed, parsed.scheme, parsed.host_str or host, port, found.addresses, literal)
        self._remember(url, target, found.seconds)
        return target

    async def _resolve(self, host: str, port: int, channel: Hashable) -> ResolvedName:
        try:
            async with asyncio.timeout(self._patience):
                found = await self._resolver(host, channel)
        except (NotResolved, OSError, TimeoutError, UnicodeError):
            found = ResolvedName((), 0.0)
        if not found.addresses:
            raise UnresolvedUrl(f"The host name {host} could not be resolved.")
        for address in found.addresses:
            self._judge(host, port, address)
        return found

    def _judge(self, host: str, port: int, address: str) -> None:
        if host in self._names or f"{host}:{port}" in self._names:
            return
        reason = forbidden(address)
        if reason is None or any(ip_address(address) in network for network in self._networks):
            return
        # The address behind a name stays unsaid: it may be a secret of the operator's own network.
        raise ForbiddenUrl(f"The host {host} cannot be called: it leads to an address that is {reason}.")

    def _remember(self, url: str, target: CheckedUrl, seconds: float) -> None:
        self._known.pop(url, None)
        if len(self._known) >= REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[url] = (self._clock() + min(seconds, REUSE_SECONDS), target)


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
