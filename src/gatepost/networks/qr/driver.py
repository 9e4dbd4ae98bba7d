"""Keeps a driver of links running: connects, notices its end, and reconnects after a wait.

connect ─► connection ─► … ─► gone ─► every link ends ─► wait 1, 2, 4 … 60 s ─► connect
                                                           (1 s again after 60 s of health)
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec
import structlog

from gatepost.background import Loop
from gatepost.networks.qr.driver_connection import ConnectionLost, DriverConnection, Transport
from gatepost.networks.qr.link import Deadlines, Link

log = structlog.get_logger()


class DriverTimeouts(msgspec.Struct, frozen=True):
    """When a driver is checked and reconnected, in seconds."""

    first_wait: float = 1
    longest_wait: float = 60
    healthy_after: float = 60
    ping_every: float = 20
    ping_within: float = 20


def next_wait(last: float | None, lived: float, health: DriverTimeouts) -> float:
    """Return how long to wait before reconnecting, after a connection of `lived` seconds."""
    if last is None or lived >= health.healthy_after:
        return health.first_wait
    return min(last * 2, health.longest_wait)


class Driver:
    """A driver of links, kept running from `start` to `close`."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[Transport]],
        *,
        health: DriverTimeouts | None = None,
        deadlines: Deadlines | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        start_loop: Callable[[str, Callable[[], Awaitable[None]]], Loop] = Loop,
    ) -> None:
        self._start_loop = start_loop
        self._connect = connect
        self._health = health or DriverTimeouts()
        self._deadlines = deadlines or Deadlines()
        self._sleep = sleep
        self._connection: DriverConnection | None = None
        self._up = asyncio.Event()
        self._loop: Loop | None = None
        self._waited: float | None = None

    async def start(self) -> None:
        """Start the driver; returns immediately."""
        self._loop = self._start_loop("driver of links", self._turn)

    async def close(self) -> None:
        """Close the connection and all its links."""
        if self._loop:
            await self._loop.stop()
            self._loop = None

    def link(self, session: str) -> Link:
        """Return a new link for one channel. It can be opened once."""
        return Link(session, self.connection, self._deadlines)

    async def connection(self) -> DriverConnection:
        """Return the current connection; wait for one if there is none."""
        while self._connection is None or self._connection.gone:
            await self._up.wait()
            if self._connection is None or self._connection.gone:
                self._up.clear()
        return self._connection

    async def _turn(self) -> None:
        """Run one connection, and wait before the next."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            await self._live(await self._connect())
        except (OSError, ConnectionLost, TimeoutError) as error:
            log.warning("driver of links not reached", error=str(error))
        self._waited = next_wait(self._waited, loop.time() - started, self._health)
        await self._sleep(self._waited)

    async def _live(self, transport: Transport) -> None:
        self._connection = DriverConnection(transport)
        self._up.set()
        reading = asyncio.create_task(self._connection.run())
        try:
            await self._watch(self._connection, reading)
        finally:
            self._up.clear()
            await self._connection.close()
            reading.cancel()
            with suppress(asyncio.CancelledError, OSError):
                await reading

    async def _watch(self, connection: DriverConnection, reading: asyncio.Task[None]) -> None:
        """Return when the driver is gone or no longer answers."""
        while not connection.gone:
            await asyncio.wait({reading}, timeout=self._health.ping_every)
            if connection.gone:
                return
            try:
                async with asyncio.timeout(self._health.ping_within):
                    with connection.call() as call:
                        await call.send("ping")
                        await call.answer()
            except (TimeoutError, ConnectionLost):
                log.warning("driver of links does not answer")
                return
