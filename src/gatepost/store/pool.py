"""The connection pool, with planner settings for batches.

A new partition has no statistics, and a plan cached for an empty table outlives it: joins against a batch then scan
everything. So the planner may only use nested loops over indexes, which is right for every statement here whatever the
statistics say; and since it cannot go wrong, each plan is made once per connection. Statements on big tables name a
range of ids, by which partitions are skipped at run time.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from typing import Any, Protocol, TypeAlias
from uuid import UUID

import asyncpg
import msgspec

from gatepost.model.errors import Unavailable, database_unavailable
from gatepost.store.head_turns import HeadTurns
from gatepost.store.kept_connections import KeptConnections, is_closed
from gatepost.store.outage import is_outage, spoils_connection
from gatepost.store.slots import ConnectionSlots, Use
from gatepost.store.statement import statement

Connection = asyncpg.pool.PoolConnectionProxy

_NAME = {"application_name": "gatepost"}
_SESSION = {  # not in the first message of a connection: poolers refuse it
    "plan_cache_mode": "force_generic_plan",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_seqscan": "off",
    "jit": "off",
    "timezone": "UTC",
    "synchronous_commit": "on",
    # A process that is stopped inside a transaction keeps its channel locked, but not longer than its lease.
    "idle_in_transaction_session_timeout": "5000",
}
# Errors of the driver that may not be translated.
DRIVER_ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
_OF_DATABASE = (OSError, *DRIVER_ERRORS)
UNFIT_DATA = (asyncpg.DataError, asyncpg.ProgramLimitExceededError, ValueError)  # what no column takes
UNFIT = (  # errors that one value causes, and that a retry does not change
    *UNFIT_DATA,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    msgspec.MsgspecError,
)


_PATIENCE = 5.0  # seconds to wait for a connection
_CANCEL_WITHIN = 2.0  # seconds for the server to confirm that it cancelled a statement; else the connection is closed
_CHUNK = 5_000  # rows that one statement deletes


class CommitListener(Protocol):
    """Called after each commit that changed a channel.

    `sending`: there may be something new to send. `tasks`: there may be work at once for others than
    sender and deliverers.
    """

    def __call__(self, channel_id: UUID, *, sending: bool, tasks: bool = True) -> None: ...


class Database:
    """A pool of connections to one PostgreSQL, as one use of it sees it (`slots.py`)."""

    def __init__(
        self,
        pool: "asyncpg.Pool[Any]",
        slots: ConnectionSlots | None = None,
        use: Use = "api",
        listener: CommitListener | None = None,
        kept: KeptConnections | None = None,
        head_turns: HeadTurns | None = None,
    ) -> None:
        self._pool = pool
        self._kept = kept or KeptConnections(pool)
        self.slots = slots or ConnectionSlots(pool.get_max_size())
        self._use = use
        self._listener = listener
        self.head_turns = head_turns or HeadTurns()

    def reserved(self, use: Use) -> "Database":
        """Return the same pool with the connections that are reserved for this use."""
        return Database(self._pool, self.slots, use, self._listener, self._kept, self.head_turns)

    def notifying(self, listener: CommitListener) -> "Database":
        """Return the same pool with a listener that is called for every channel that is changed through it."""
        return Database(self._pool, self.slots, self._use, listener, self._kept, self.head_turns)

    def notify(self, channel_id: UUID, *, sending: bool = True, tasks: bool = True) -> None:
        """Report a committed change of a channel. `connection` and `transaction` do it with `wakes`."""
        if self._listener is not None:
            self._listener(channel_id, sending=sending, tasks=tasks)

    @classmethod
    async def connect(cls, dsn: str, *, connections: int = 16) -> "Database":
        pool = await asyncpg.create_pool(
            dsn,
            min_size=0,
            max_size=connections,
            server_settings=_NAME,
            init=_begin_session,
            command_timeout=30,
            timeout=5,
            reset=_leave_as_is,
        )
        return cls(pool)

    @property
    def answered_at(self) -> float:
        """When a use of any connection last ended well, by the monotonic clock."""
        return self._kept.answered_at

    async def close(self) -> None:
        """Wait for running statements, but not forever."""
        try:
            await asyncio.wait_for(self._close(), 5)
        except _OF_DATABASE:  # a timeout among the former
            self._pool.terminate()

    async def _close(self) -> None:
        await self._kept.close()
        await self._pool.close()

    def connection(
        self, *, wakes: UUID | None = None, sending: bool = True, tasks: bool = True
    ) -> "AbstractAsyncContextManager[Connection[Any]]":
        """A connection without a transaction: for reads, and for single statements.

        With `wakes`, the owner of that channel is woken afterwards, as `CommitListener` describes.
        """
        notify = None if wakes is None else partial(self.notify, wakes, sending=sending, tasks=tasks)
        return _ConnectionUse(self._pool, self._kept, self.slots, self._use, notify)

    @asynccontextmanager
    async def transaction(
        self, *, wakes: UUID | None = None, sending: bool = True, tasks: bool = True
    ) -> AsyncIterator["Connection[Any]"]:
        """A connection inside one transaction: all or nothing. The options are as of `connection`."""
        async with self.connection(wakes=wakes, sending=sending, tasks=tasks) as conn, conn.transaction():
            yield conn

    async def fetch(self, sql: str, /, *arguments: Any, **named: Any) -> list[Any]:
        """Return the rows of a single statement, with positional or named parameters (`statement.py`)."""
        async with self.connection() as conn:
            return await conn.fetch(*_statement(sql, arguments, named))

    async def fetchrow(self, sql: str, /, *arguments: Any, **named: Any) -> Any:
        """Return the first row of a single statement; None if it has no rows."""
        async with self.connection() as conn:
            return await conn.fetchrow(*_statement(sql, arguments, named))

    async def fetchval(self, sql: str, /, *arguments: Any, **named: Any) -> Any:
        """Return the first value of the first row of a single statement; None if it has no rows."""
        async with self.connection() as conn:
            return await conn.fetchval(*_statement(sql, arguments, named))

    async def changes(self, sql: str, /, *arguments: Any, **named: Any) -> bool:
        """Run a single statement, and return whether it returned a row: `UPDATE ... RETURNING 1`."""
        return await self.fetchval(sql, *arguments, **named) is not None

    async def execute(self, sql: str, /, *arguments: Any, **named: Any) -> None:
        """Run a single statement."""
        async with self.connection() as conn:
            await conn.execute(*_statement(sql, arguments, named))


class _ConnectionUse:
    """One use of a connection. If one is free, it begins and ends without awaiting anything."""

    __slots__ = ("_conn", "_kept", "_notify", "_pool", "_slots", "_use")

    def __init__(
        self,
        pool: "asyncpg.Pool[Any]",
        kept: KeptConnections,
        slots: ConnectionSlots,
        use: Use,
        notify: Callable[[], None] | None,
    ) -> None:
        self._pool = pool
        self._kept = kept
        self._slots = slots
        self._use = use
        self._notify = notify

    async def __aenter__(self) -> "Connection[Any]":
        if not self._slots.take(self._use):
            await self._wait_for_slot()
        try:
            conn: Connection[Any] = self._kept.take() or await self._kept.acquire(_PATIENCE)
        except BaseException as error:
            self._slots.release(self._use)
            if isinstance(error, _OF_DATABASE):  # without a connection, nothing else can be the cause
                raise database_unavailable() from error
            raise
        self._conn = conn
        return conn

    async def __aexit__(self, _type: Any, error: BaseException | None, _traceback: Any) -> None:
        closed = True
        try:
            if error is not None:
                if isinstance(error, Exception):
                    closed = is_closed(self._conn)
                    if not closed and spoils_connection(error):
                        self._conn.terminate()
                with suppress(TimeoutError):
                    await self._pool.release(self._conn, timeout=_CANCEL_WITHIN)
                if isinstance(error, _OF_DATABASE):
                    raise error
            elif (spare := self._kept.keep(self._conn)) is not None:
                await self._pool.release(spare)
        except _OF_DATABASE as failed:
            if is_outage(failed, closed=closed):
                raise database_unavailable() from failed
            raise
        finally:
            self._slots.release(self._use)
        if self._notify is not None and error is None:
            self._notify()

    async def _wait_for_slot(self) -> None:
        try:
            await self._slots.acquire(self._use, _PATIENCE)
        except TimeoutError:
            raise Unavailable("All database connections are in use. Try again shortly.", retry_after=1) from None


async def delete_in_chunks(db: Database, sql: str, *arguments: Any) -> int:
    """Repeat a DELETE ... RETURNING, whose last parameter is the limit, until it finds fewer rows. Return how many."""
    total = 0
    while True:
        rows = await db.fetch(sql, *arguments, _CHUNK)
        total += len(rows)
        if len(rows) < _CHUNK:
            return total


# For functions that run one statement, in a transaction or outside of one.
Queryable: TypeAlias = "Database | Connection[Any]"


def keys_and_range(keys: Sequence[UUID]) -> tuple[Sequence[UUID], UUID, UUID]:
    """Return the keys of a batch with their range, by which partitions are skipped."""
    return keys, min(keys), max(keys)


def _statement(sql: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    return statement(sql, **named) if named else (sql, *arguments)


async def _begin_session(conn: Any) -> None:
    await conn.execute("; ".join(f"SET {name} = '{value}'" for name, value in _SESSION.items()))


async def _leave_as_is(conn: Any) -> None:
    """Reset nothing: no statement of ours changes its connection, and a reset costs a round trip."""
