"""Connections without TLS to checked addresses: kept while they are idle, at most 256 for each of the places used last.

    acquire ─► an idle connection of the place, or a new one
    release ─► idle, unless the response ended the connection or its place was dropped

A place is (host, port, address): a connection is used for the name that it was made for, and goes to the
address that the guard has checked. Nothing is resolved here.
"""

import asyncio
import os
from collections import OrderedDict

from gatepost.webhooks.guard import CheckedUrl
from gatepost.webhooks.http_connection import ExchangeFailed, HttpConnection
from gatepost.webhooks.retry import Failure

IDLE_PER_PLACE = 256  # several customers may use the same service

PlaceKey = tuple[str, int, str]


class ConnectFailed(Exception):
    """No connection could be made: nothing was sent."""

    def __init__(self, kind: Failure, reason: str) -> None:
        super().__init__(reason)
        self.kind: Failure = kind
        self.reason = reason


class PlaceConnections:
    """The idle connections of one place."""

    def __init__(self) -> None:
        self.idle: list[PooledConnection] = []
        self.dropped = False

    def lost(self, connection: HttpConnection) -> None:
        self.idle = [one for one in self.idle if one is not connection]

    def drop(self) -> None:
        """Close the idle connections; the others are closed when their exchange has ended."""
        self.dropped = True
        idle, self.idle = self.idle, []
        for connection in idle:
            connection.close()


class PooledConnection(HttpConnection):
    """A connection, and its place."""

    __slots__ = ("place",)

    def __init__(self, loop: asyncio.AbstractEventLoop, place: PlaceConnections) -> None:
        super().__init__(loop, place.lost)
        self.place = place


class ConnectionPool:
    """The connections of one process to customers' endpoints."""

    def __init__(self, connect_deadline: float, places: int) -> None:
        self._connect_deadline = connect_deadline
        self._most_places = places
        self._places: OrderedDict[PlaceKey, PlaceConnections] = OrderedDict()
        # Of all places, also of those that were dropped.
        self._busy: set[PooledConnection] = set()
        self._opening: set[asyncio.Task[PooledConnection]] = set()
        self._closed = False

    def take(self, target: CheckedUrl, address: str) -> PooledConnection | None:
        """Return an idle connection to a checked address, if there is one."""
        idle = self._place(target, address).idle
        while idle:
            connection = idle.pop()
            if connection.reusable:
                self._busy.add(connection)
                return connection
        return None

    async def acquire(self, target: CheckedUrl, address: str, seconds: float) -> PooledConnection:
        """Return an idle connection or a new one. Raise ConnectFailed, after at most so many seconds."""
        connection = self.take(target, address)
        if connection is None:
            place = self._place(target, address)
            connection = await self._open_in(place, target, address, seconds)
        return connection

    def release(self, connection: PooledConnection) -> None:
        """Keep a connection whose exchange has ended, if it may take another request."""
        place = connection.place
        self._busy.discard(connection)
        if connection.reusable and not place.dropped and len(place.idle) < IDLE_PER_PLACE:
            connection.rest()
            place.idle.append(connection)
        else:
            connection.abort()

    def close(self) -> None:
        """Close idle connections; exchanges fail at once, and no connection is kept any more."""
        self._closed = True
        while self._places:
            self._places.popitem()[1].drop()
        for connection in self._busy:
            connection.fail(ExchangeFailed("stopped"))
        for task in self._opening:
            task.cancel()

    def _place(self, target: CheckedUrl, address: str) -> PlaceConnections:
        key = (target.host, target.port, address)
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = PlaceConnections()
            place.dropped = self._closed
            if len(self._places) > self._most_places:
                self._places.popitem(last=False)[1].drop()
        else:
            self._places.move_to_end(key)
        return place

    async def _open_in(
        self, place: PlaceConnections, target: CheckedUrl, address: str, seconds: float
    ) -> PooledConnection:
        task = asyncio.create_task(self._open(place, target, address, min(seconds, self._connect_deadline)))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)
        try:
            return await task
        except asyncio.CancelledError:
            if task.done() and not task.cancelled() and task.exception() is None:
                self.release(task.result())  # it was opened at the moment of the cancellation
            current = asyncio.current_task()
            if self._closed and current is not None and not current.cancelling():
                raise ExchangeFailed("stopped") from None
            raise

    async def _open(
        self, place: PlaceConnections, target: CheckedUrl, address: str, seconds: float
    ) -> PooledConnection:
        try:
            async with asyncio.timeout(max(seconds, 0.001)):
                loop = asyncio.get_running_loop()
                made = await loop.create_connection(lambda: PooledConnection(loop, place), address, target.port)
                self._busy.add(made[1])
                return made[1]
        except TimeoutError:
            raise ConnectFailed("timeout", "The endpoint could not be connected to in time.") from None
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else "the connection was closed"
            # Without the address: it may be a secret of the operator's network.
            raise ConnectFailed("connect", f"The endpoint could not be connected to: {reason}.") from None
