"""Name lookups by c-ares: with the hosts file, search domains and name servers of this machine, without blocking.

A c-ares channel caches answers for as long as their TTL says and without a bound on their number, so it is replaced
after a minute or some thousand lookups; the old one is closed when its last lookup has ended.
"""

import socket
import time
from collections.abc import Callable
from typing import Any

import aiodns
import msgspec

# c-ares waits TRY_SECONDS for the first answer, later about five times the recent answer time (at least 250 ms), and
# twice as long at each further try: five tries use up the time of a lookup, with slow name servers too.
TRY_SECONDS = 1.0
TRIES = 5
CHANNEL_SECONDS = 60.0
CHANNEL_LOOKUPS = 5_000


class NotResolved(Exception):
    """A name has no address, or no name server answered in time."""


class ResolvedName(msgspec.Struct, frozen=True):
    """The addresses of a name in the order to try them, and for how many seconds they may be used."""

    addresses: tuple[str, ...]
    seconds: float


class _Channel:
    def __init__(self, options: dict[str, Any], since: float) -> None:
        self.resolver = aiodns.DNSResolver(timeout=TRY_SECONDS, tries=TRIES, **options)
        self.since = since
        self.lookups = 0
        self.running = 0


class DnsLookup:
    """Looks names up. `options` are those of c-ares: tests set their own server."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, **options: Any) -> None:
        self._clock = clock
        self._options = options
        self._channel: _Channel | None = None
        self._replaced: set[_Channel] = set()
        self._closed = False

    async def __call__(self, host: str) -> ResolvedName:
        """Return the addresses of a name, IPv4 and IPv6; raise NotResolved."""
        channel = await self._current()
        channel.lookups += 1
        channel.running += 1
        try:
            answer = await channel.resolver.getaddrinfo(host, type=socket.SOCK_STREAM)
        except (aiodns.error.DNSError, UnicodeError) as error:
            raise NotResolved(str(error)) from None
        finally:
            channel.running -= 1
            await self._close_unused()
        addresses = tuple(dict.fromkeys(_text(node.addr[0]) for node in answer.nodes))
        return ResolvedName(addresses, float(min((node.ttl for node in answer.nodes), default=0)))

    async def _current(self) -> _Channel:
        now, channel = self._clock(), self._channel
        if self._closed:
            raise NotResolved("The gateway is stopping.")
        if channel is None or channel.lookups >= CHANNEL_LOOKUPS or now - channel.since >= CHANNEL_SECONDS:
            if channel is not None:
                self._replaced.add(channel)
            self._channel = channel = _Channel(self._options, now)
            await self._close_unused()
        return channel

    async def _close_unused(self) -> None:
        for channel in [one for one in self._replaced if not one.running]:
            self._replaced.discard(channel)
            await channel.resolver.close()

    async def close(self) -> None:
        """Cancel running lookups, which fail, and end the thread of c-ares."""
        self._closed = True
        channels = [*self._replaced, *([self._channel] if self._channel else [])]
        self._channel = None
        self._replaced.clear()
        for channel in channels:
            await channel.resolver.close()


def _text(address: bytes | str) -> str:
    return address.decode() if isinstance(address, bytes) else address
