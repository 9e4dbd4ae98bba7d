"""Resolves the host names of customer-supplied URLs: cached, looked up once, and fairly shared between channels.

    host, channel ─► cached? ─► lookup running? join it
                        └─► a slot of the channel (lookup_limiter.py) ─► lookup (dns.py) ─► cached for a while

A channel waits only for its own lookups: it joins a running lookup of another channel, but never its queue.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable

import structlog

from gatepost.metrics import ProcessMetrics
from gatepost.webhooks.dns import DnsLookup, NotResolved, ResolvedName
from gatepost.webhooks.lookup_limiter import LookupLimiter

log = structlog.get_logger("gatepost.webhooks")
PER_CHANNEL = 16
TOTAL = 512
LOOKUP_SECONDS = 5.0
MIN_TTL, MAX_TTL = 5.0, 30.0  # seconds that an answer is cached: its TTL within these
FAILED_TTL = 3.0  # less than the delay of the first retry of a delivery, which looks the name up again
REMEMBERED = 4096

Lookup = Callable[[str], Awaitable[ResolvedName]]


class Resolver:
    """The resolver of the process; `lookup` is by default that of c-ares."""

    def __init__(
        self,
        lookup: Lookup | None = None,
        *,
        per_channel: int = PER_CHANNEL,
        total: int = TOTAL,
        seconds: float = LOOKUP_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        metrics: ProcessMetrics | None = None,
    ) -> None:
        self._dns = DnsLookup()
        self._lookup: Lookup = lookup or self._dns
        self._seconds = seconds
        self._clock = clock
        self._metrics = metrics or ProcessMetrics()
        self._limiter = LookupLimiter(per_channel, total, self._metrics.lookups)
        self._running: dict[str, asyncio.Task[None]] = {}
        self._known: dict[str, tuple[float, tuple[str, ...]]] = {}  # until when; no addresses: the name has none

    async def __call__(self, host: str, channel: Hashable) -> ResolvedName:
        """Return the addresses of a host name within `seconds`, or raise NotResolved."""
        host = host.lower()
        try:
            async with asyncio.timeout(self._seconds):
                while (found := self._recall(host)) is None:
                    if host in self._running:
                        await asyncio.shield(self._running[host])
                    else:
                        await self._limiter.acquire(channel)
                        self._start(host, channel)
        except TimeoutError:
            raise NotResolved("No name server answered in time.") from None
        if not found.addresses:
            raise NotResolved("The name has no address.")
        return found

    async def close(self) -> None:
        """Cancel running lookups, which fail."""
        await self._dns.close()

    def _start(self, host: str, channel: Hashable) -> None:
        """Start a lookup in the slot that was acquired, unless another one has started or ended meanwhile."""
        if self._recall(host) is None and host not in self._running:
            task = self._running[host] = asyncio.create_task(self._run(host))
            task.add_done_callback(lambda _: self._end(host, channel))
        else:
            self._limiter.release(channel)

    def _end(self, host: str, channel: Hashable) -> None:
        self._running.pop(host, None)
        self._limiter.release(channel)

    async def _run(self, host: str) -> None:
        """Look a name up. The lookup continues if its first caller is cancelled, because others may have joined."""
        result = "failed"
        found = ResolvedName((), FAILED_TTL)
        try:
            async with asyncio.timeout(self._seconds):
                answer = await self._lookup(host)
            if answer.addresses:
                found, result = ResolvedName(answer.addresses, min(MAX_TTL, max(MIN_TTL, answer.seconds))), "found"
        except TimeoutError:
            result = "timeout"
        except NotResolved:
            pass
        except Exception:  # the callers get NotResolved
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
