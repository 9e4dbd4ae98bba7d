"""Connections that stay acquired between two uses.

Acquiring one from the driver's pool and releasing it costs two tasks and two timers, which is more than a small
statement costs. So a connection whose use ended well is kept here, and the next use takes it. It goes back to the pool
if its use failed, if it has not been used for a minute, and now and then, because the pool replaces connections that
have run many statements.
"""

import math
import time
from typing import Any

import asyncpg

_UNUSED = 60.0  # seconds after which a kept connection is released; the pool closes it five minutes later
_USES = 1000  # uses after which one is released


class KeptConnections:
    """The kept connections of a pool. The one that was used last is used first."""

    def __init__(self, pool: "asyncpg.Pool[Any]") -> None:
        self._pool = pool
        self._kept: list[tuple[Any, float]] = []  # with the time of the last use, the oldest first
        self._uses = 0
        self.answered_at = -math.inf  # when a use last ended well, by the monotonic clock
        self._closed = False

    def take(self) -> Any:
        """Return the connection that was used last; None if there is none that is open."""
        return self._kept.pop()[0] if self._kept and not is_closed(self._kept[-1][0]) else None

    async def acquire(self, timeout: float) -> Any:
        """Return a kept connection, or one of the pool."""
        while (conn := self.take()) is None and self._kept:
            await self._pool.release(self._kept.pop()[0])
        return conn or await self._pool.acquire(timeout=timeout)

    def keep(self, conn: Any) -> Any:
        """Keep a connection whose use ended well. Return one that is to be released instead; None if there is none."""
        self._uses += 1
        self.answered_at = now = time.monotonic()
        if self._closed or self._uses % _USES == 0 or is_closed(conn) or conn.is_in_transaction():
            return conn
        self._kept.append((conn, now))
        return self._kept.pop(0)[0] if self._kept[0][1] < now - _UNUSED else None

    async def close(self) -> None:
        """Release all of them; from now on, none is kept."""
        self._closed = True
        while self._kept:
            conn, _ = self._kept.pop()
            await self._pool.release(conn)


def is_closed(conn: Any) -> bool:
    """Whether a connection is lost, or was taken back by the pool."""
    try:
        return bool(conn.is_closed())
    except asyncpg.InterfaceError:
        return True
