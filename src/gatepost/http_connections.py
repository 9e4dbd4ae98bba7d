"""The open connections of a process: how many there are, from where, and whether each of them gets on.

open ─► counted, in all and per address ─► too many: 503 or 429, and closed
each tick ─► every connection looks at its own deadlines (`http_protocol.py`)
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from ipaddress import ip_address, ip_network
from typing import Protocol

import structlog

from gatepost.access.client_address import client_network
from gatepost.model.errors import GatepostError, LimitReached, Unavailable
from gatepost.settings import ServerSettings

log = structlog.get_logger("gatepost.http")
_LOG_EVERY = 10.0  # seconds
_TICK = 1.0
_RETRY_AFTER = 5.0
_LINGERING = 64  # refused connections that may be open at once, to read why


class Checked(Protocol):
    """A connection as it is looked at."""

    def check(self, now: float) -> None:
        """Ends itself where its time is over."""


class BodyRate:
    """Whether a body comes fast enough: so many bytes a second over any stretch of so many seconds."""

    def __init__(self, rate: float, window: float) -> None:
        self._least = rate * window
        self._window = window
        self._samples: deque[tuple[float, int]] = deque()

    def too_slow(self, now: float, received: int) -> bool:
        """Notes how much has come by now, and compares it with what had come a window ago."""
        samples = self._samples
        samples.append((now, received))
        while len(samples) > 1 and samples[1][0] <= now - self._window:
            samples.popleft()
        since, before = samples[0]
        return now - since >= self._window and received - before < self._least

    def restart(self) -> None:
        """What was before does not count: it was not the client who waited."""
        self._samples.clear()


class Connections:
    """All connections of a process."""

    def __init__(self, limits: ServerSettings, answered: Callable[[int], None]) -> None:
        self.limits = limits
        self.answered = answered  # a status that the application does not know of
        self._exempt = [ip_network(text) for text in limits.unlimited_addresses]
        self._open: dict[Checked, str | None] = {}
        self._per_address: Counter[str] = Counter()
        self._tick = min(_TICK, limits.header_timeout / 4, limits.body_window / 4, limits.send_timeout / 4)
        self._ticking: asyncio.TimerHandle | None = None
        self._lingering: set[Checked] = set()
        self._refused = 0
        self._logged_at = float("-inf")

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: Checked, address: str | None, loop: asyncio.AbstractEventLoop) -> GatepostError | None:
        """Counts a connection; returns the reason where there are too many, and then it does not count."""
        network = None if address is None or self._is_exempt(address) else client_network(address)
        refusal = self._too_many(network)
        if refusal is not None:
            self._note_refused(loop.time())
            return refusal
        self._open[connection] = network
        if network is not None:
            self._per_address[network] += 1
        if self._ticking is None:
            self._ticking = loop.call_later(self._tick, self._look, loop)
        return None

    def may_linger(self, connection: Checked) -> bool:
        """Whether a refused connection may stay for a moment; with many of them, they are just closed."""
        if len(self._lingering) >= _LINGERING:
            return False
        self._lingering.add(connection)
        return True

    def remove(self, connection: Checked) -> None:
        """Forgets a connection; one that was never counted does no harm."""
        self._lingering.discard(connection)
        network = self._open.pop(connection, None)
        if network is not None:
            self._per_address[network] -= 1
            if not self._per_address[network]:
                del self._per_address[network]

    def _too_many(self, network: str | None) -> GatepostError | None:
        limits = self.limits
        if network is not None and self._per_address[network] >= limits.connections_per_address:
            return LimitReached(
                f"More than {limits.connections_per_address} connections are open from your address. Close some.",
                "too_many_connections",
                retry_after=_RETRY_AFTER,
            )
        if len(self._open) >= limits.connections:
            return Unavailable("Too many connections are open. Try again shortly.", retry_after=_RETRY_AFTER)
        return None

    def _is_exempt(self, address: str) -> bool:
        try:
            known = ip_address(address)
        except ValueError:
            return False
        known = getattr(known, "ipv4_mapped", None) or known
        return any(known in network for network in self._exempt)

    def _note_refused(self, now: float) -> None:
        self._refused += 1
        if now - self._logged_at >= _LOG_EVERY:
            log.warning("connections refused", count=self._refused, open=len(self._open))
            self._refused, self._logged_at = 0, now

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for connection in list(self._open):
            connection.check(now)
        self._ticking = loop.call_later(self._tick, self._look, loop) if self._open else None
