"""Connections to a database that many tests share, kept from one test to the next.

A new connection reads the catalog and plans every statement again, which takes more time than most tests. The tests
share an event loop (`tests/shared_loop.py`), because a connection belongs to one.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from gatepost.store import pool
from gatepost.store.pool import Database


class WarmConnections:
    """The kept connections to one database."""

    def __init__(self, url: str, connections: int) -> None:
        self._url = url
        self._connections = connections
        self._pool: asyncpg.Pool[Any] | None = None
        self.used = False

    @asynccontextmanager
    async def database(self) -> AsyncIterator[Database]:
        """Yield the database for one test."""
        if self._pool is None or self._pool.is_closing():
            self._pool = await self._open()
        kept, self.used = self._pool, True
        db = Database(kept)
        try:
            yield db
        finally:
            self.used = False
            await db._kept.close()
            if kept.get_size() > kept.get_idle_size():  # something still runs: the next test gets new connections
                await db.close()

    async def _open(self) -> "asyncpg.Pool[Any]":
        """Return a pool as the gateway's, except that a released connection becomes as new."""
        return await asyncpg.create_pool(
            self._url,
            min_size=0,
            max_size=self._connections,
            server_settings=pool._NAME,
            init=pool._begin_session,
            command_timeout=30,
            timeout=5,
            reset=_restore,
        )

    @property
    def size(self) -> int:
        """How many there are."""
        return self._pool.get_size() if self._pool is not None else 0

    async def close(self) -> None:
        """Close them, before the database is dropped."""
        if self._pool is not None:
            await self._pool.close()


async def _restore(conn: Any) -> None:
    await conn.execute(conn.get_reset_query())
    await pool._begin_session(conn)
