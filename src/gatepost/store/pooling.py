"""Whether a database address leads to PostgreSQL, or to a pooler that gives each transaction another session.

Prepared statements, notifications and the lock of migrations belong to a session. Behind a pooler in transaction mode
(PgBouncer's `pool_mode = transaction`) they get lost or stay behind, and nothing works. In session mode all is well.

Two connections that are open at the same time have two sessions, which stay the same. So it is a pooler if

    first: session A          second: begins a transaction in session A
    first: session A          second: begins a transaction in session B         first: now in another session than A
"""

import contextlib
from collections.abc import AsyncIterator

import asyncpg

from gatepost.store.migrate import MigrationError

_ROUNDS = 3  # other clients of a pooler may get a session in between
_TIMEOUT = 5.0


class TransactionPooling(MigrationError):
    """The address is that of a pooler whose clients do not keep their session."""

    def __init__(self) -> None:
        super().__init__(
            "database.url is the address of a connection pooler in transaction mode (such as PgBouncer with "
            "pool_mode = transaction). Gatepost needs sessions of its own, for prepared statements, notifications and "
            "locks. Set database.url to the address of PostgreSQL itself, or to a pool with pool_mode = session; "
            "database.connections limits how many connections each gateway opens."
        )


async def check_sessions(dsn: str) -> None:
    """Raise TransactionPooling if the connections of an address do not keep their session."""
    async with contextlib.AsyncExitStack() as stack:
        first, second = [await stack.enter_async_context(_connected(dsn)) for _ in range(2)]
        try:
            pooled = [await _is_pooled(*pair) for _ in range(_ROUNDS) for pair in ((first, second), (second, first))]
        except asyncpg.PostgresError as error:
            if "statement pooling" not in str(error):  # no transactions at all
                raise
            pooled = [True]
    if any(pooled):
        raise TransactionPooling


@contextlib.asynccontextmanager
async def _connected(dsn: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    conn = await asyncpg.connect(dsn, timeout=_TIMEOUT, command_timeout=_TIMEOUT, statement_cache_size=0)
    try:
        yield conn
    finally:
        await conn.close()


async def _is_pooled(first: "asyncpg.Connection[asyncpg.Record]", second: "asyncpg.Connection[asyncpg.Record]") -> bool:
    before = await _session(first)
    async with second.transaction():
        if await second.fetchval("SELECT pg_backend_pid()") == before:
            return True
        return await _session(first) != before


async def _session(conn: "asyncpg.Connection[asyncpg.Record]") -> int:
    async with conn.transaction():  # else a pooler could change the session between the messages of the statement
        return int(await conn.fetchval("SELECT pg_backend_pid()"))
