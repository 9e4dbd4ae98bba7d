"""Names to addresses, for every URL that a customer gives: cached, asked once, and shared fairly between channels.

    host, channel ─► known? ─► being asked? join it
                       └─► a place in the channel's share (lookup_share.py) ─► lookup (dns.py) ─► known for a while

A channel waits behind its own lookups only: it joins another channel's lookup once that runs, and never its queue.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Literal, Protocol

import structlog

from gatepost.webhooks.dns import DnsLookup, NotResolved, ResolvedName
from gatepost.webhooks.lookup_limiter import LookupLimiter

log = structlog.get_logger("gatepost.webhooks")
PER_CHANNEL = 16
TOTAL = 512
LOOKUP_SECONDS = 5.0
SHORTEST, LONGEST = 5.0, 30.0  # seconds that an answer is used again: its TTL within these
FAILED_SECONDS = 3.0  # shorter than the wait before the first retry of a delivery, so that it asks again
REMEMBERED = 4096

Lookup = Callable[[str], Awaitable[ResolvedName]]
Result = Literal["found", "failed", "timeout"]


class LookupMetrics(Protocol):
    """Takes the figures of lookups; must be quick and never raise."""

    def lookup(self, result: Result) -> None:
        """One lookup ended."""

    def lookups(self, running: int, waiting: int) -> None:
        """So many run now, and so many wait for a place."""


class NoLookupMetrics:
    """Drops every figure."""

    def lookup(self, result: Result) -> None:
        """Drops it."""

    def lookups(self, running: int, waiting: int) -> None:
        """Drops it."""


class Resolver:
    """One for the process. `lookup` answers one question; left out: c-ares does."""

    def __init__(
        self,
        lookup: Lookup | None = None,
        *,
        per_channel: int = PER_CHANNEL,
        total: int = TOTAL,
        seconds: float = LOOKUP_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        metrics: LookupMetrics | None = None,
    ) -> None:
        self._dns = DnsLookup()
        self._lookup: Lookup = lookup or self._dns
        self._seconds = seconds
        self._clock = clock
        self._metrics = metrics or NoLookupMetrics()
        self._share = LookupLimiter(per_channel, total, self._metrics.lookups)
        self._running: dict[str, asyncio.Task[None]] = {}
        self._known: dict[str, tuple[float, tuple[str, ...]]] = {}  # until when; without an address: it has none

    async def __call__(self, host: str, channel: Hashable) -> ResolvedName:
        """The addresses of a host name, asked for by a channel; raises NotResolved. It takes a few seconds at most."""
        host = host.lower()
        try:
            async with asyncio.timeout(self._seconds):
                while (found := self._recall(host)) is None:
                    if host in self._running:
                        await asyncio.shield(self._running[host])
                    else:
                        await self._share.acquire(channel)
                        self._start(host, channel)
        except TimeoutError:
            raise NotResolved("No name server answered in time.") from None
        if not found.addresses:
            raise NotResolved("The name has no address.")
        return found

    async def close(self) -> None:
        """Ends what runs: it fails."""
        await self._dns.close()

    def _start(self, host: str, channel: Hashable) -> None:
        """Asks for a name in the place that was taken, unless another has asked meanwhile."""
        if self._recall(host) is None and host not in self._running:
            task = self._running[host] = asyncio.create_task(self._ask(host))
            task.add_done_callback(lambda _: self._end(host, channel))
        else:
            self._share.release(channel)

    def _end(self, host: str, channel: Hashable) -> None:
        self._running.pop(host, None)
        self._share.release(channel)

    async def _ask(self, host: str) -> None:
        """One question. It goes on when the first to ask has given up, for others may have joined."""
        result: Result = "failed"
        found = ResolvedName((), FAILED_SECONDS)
        try:
            async with asyncio.timeout(self._seconds):
                answer = await self._lookup(host)
            if answer.addresses:
                found, result = ResolvedName(answer.addresses, min(LONGEST, max(SHORTEST, answer.seconds))), "found"
        except TimeoutError:
            result = "timeout"
        except NotResolved:
            pass
        except Exception:  # whatever it is, the caller gets its answer: the name could not be resolved
            log.exception("name lookup failed", host=host)
        self._metrics.lookup(result)
        self._remember(host, found)

    def _recall(self, host: str) -> ResolvedName | None:
        until, addresses = self._known.get(host, (0.0, ()))
        left = until - self._clock()
        return ResolvedName(addresses, left) if left > 0 else None

    def _remember(self, host: str, found: ResolvedName) -> None:
        self._known.pop(host, None)
        if len(self._known) >= REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[host] = (self._clock() + found.seconds, found.addresses)
