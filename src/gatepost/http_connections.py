"""The open connections of a process: limits in total and per address, and checks of their deadlines.

open ─► counted, in total and per address ─► too many: 503 or 429, and closed
each tick ─► every connection checks its own deadlines (`http_protocol.py`)
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
_LINGERING = 64  # rejected connections that may stay open at once, to read the error


class Checked(Protocol):
    """A connection whose deadlines are checked."""

    def check(self, now: float) -> None:
        """Close the connection if a deadline has passed."""


class BodyRate:
    """Checks that a body arrives at a minimum rate: bytes per second over a sliding window of seconds."""

    def __init__(self, rate: float, window: float) -> None:
        self._least = rate * window
        self._window = window
        self._samples: deque[tuple[float, int]] = deque()

    def too_slow(self, now: float, received: int) -> bool:
        """Record the bytes received so far, and return whether too few arrived within the last window."""
        samples = self._samples
        samples.append((now, received))
        while len(samples) > 1 and samples[1][0] <= now - self._window:
            samples.popleft()
        since, before = samples[0]
        return now - since >= self._window and received - before < self._least

    def restart(self) -> None:
        """Discard the samples, after a time in which the server did not read."""
        self._samples.clear()


class Connections:
    """All connections of a process."""

    def __init__(self, limits: ServerSettings, answered: Callable[[int], None]) -> None:
        self.limits = limits
        self.answered = answered  # counts a response that did not come from the application
        self._exempt = [ip_network(text) for text in limits.unlimited_addresses]
        self._open: dict[Checked, str | None] = {}
        self._per_address: Counter[str] = Counter()
        waits = limits.header_timeout, limits.body_window, limits.send_timeout, limits.keep_alive
        self._tick = min(_TICK, *(wait / 4 for wait in waits))
        self._ticking: asyncio.TimerHandle | None = None
        self._lingering: set[Checked] = set()
        self._refused = 0
        self._logged_at = float("-inf")

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: Checked, address: str | None, loop: asyncio.AbstractEventLoop) -> GatepostError | None:
        """Count a connection. If there are too many, return the error instead, and do not count it."""
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
        """Return whether a rejected connection may stay open briefly to read the error; only a limited number may."""
        if len(self._lingering) >= _LINGERING:
            return False
        self._lingering.add(connection)
        return True

    def remove(self, connection: Checked) -> None:
        """Stop counting a connection; one that was never counted is ignored."""
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
