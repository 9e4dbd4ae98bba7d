"""Which errors of the database and its driver are outages, and what becomes of the connections they came over."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import asyncpg
import pytest
from asyncpg.exceptions import _base

from gatepost.model.errors import Unavailable
from gatepost.store.outage import is_outage, spoils_connection
from gatepost.store.pool import Connection, Database
from tests.for_each import for_each
from tests.patience import PATIENCE

OUTAGES = {
    "08000", "08001", "08003", "08004", "08006", "08007", "08P01",  # connection
    "25006", "25P03", "25P04",  # read-only, idle in transaction, transaction timeout
    "28000", "28P01", "3D000",  # not let in
    "40000", "40001", "40003", "40P01",  # another try succeeds
    "53000", "53100", "53200", "53300", "53400",  # disk, memory, connections
    "55P03",  # lock timeout
    "57000", "57014", "57P01", "57P02", "57P03", "57P04", "57P05",  # canceled, shut down
    "58000", "58030", "58P01", "58P02", "58P03",  # the server's own files
}  # fmt: skip
SPOILED = {s for s in OUTAGES if s.startswith(("08", "57P"))} | {"25006", "25P03", "25P04"}


def tree(kind: type[BaseException]) -> Iterator[type[BaseException]]:
    yield kind
    for below in kind.__subclasses__():
        yield from tree(below)


def test_every_error_of_the_server_is_one_or_the_other() -> None:
    found = {kind("x") for kind in tree(asyncpg.PostgresError)}
    states = {error.sqlstate for error in found if is_outage(error)}  # type: ignore[attr-defined]
    assert states - {"0A000"} == OUTAGES
    assert [type(e) for e in found if e.sqlstate == "0A000" and is_outage(e)] == [  # type: ignore[attr-defined]
        asyncpg.InvalidCachedStatementError
    ]
    assert {error.sqlstate for error in found if spoils_connection(error)} == SPOILED  # type: ignore[attr-defined]


@for_each(
    ("error", "alive", "closed"),
    [
        (asyncpg.InternalClientError("cannot switch to state 12; another operation (2) is in progress"), True, True),
        (_base.ProtocolError("x"), True, True),
        (asyncpg.InterfaceError("connection is closed"), False, True),
        (asyncpg.InterfaceError("cannot perform operation: another operation is in progress"), False, True),
        (_base.DataError("invalid input for query argument $1"), False, False),
        (ConnectionResetError(), True, True),
        (TimeoutError(), True, True),
        (ValueError("x"), False, False),
        (KeyError("x"), False, False),
    ],
)
def test_errors_of_the_driver_go_by_the_connection(error: Exception, alive: bool, closed: bool) -> None:
    assert (is_outage(error), is_outage(error, closed=True)) == (alive, closed)


def test_what_follows_from_an_outage_is_one() -> None:
    lost = asyncpg.InterfaceError("cannot perform operation: another operation is in progress")
    lost.__context__ = asyncpg.AdminShutdownError("terminating connection due to administrator command")
    assert is_outage(lost)


# -- at a real server --------------------------------------------------------------------------------------------------


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Database]:
    one = await Database.connect(database_url, connections=1)
    yield one
    await one.close()


@pytest.fixture
async def admin(database_url: str) -> AsyncIterator["asyncpg.Connection[Any]"]:
    conn = await asyncpg.connect(database_url)
    yield conn
    await conn.close()


async def backend(conn: "Connection[Any]") -> int:
    pid: int = await conn.fetchval("SELECT pg_backend_pid()")
    return pid


async def works_with(db: Database) -> int:
    async with db.transaction() as conn:
        assert not await conn.fetchval("SELECT pg_current_xact_id_if_assigned() IS NOT NULL")
        return await backend(conn)


class Work:
    """Something done over one connection; which one it was is known afterwards."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.pid = 0

    async def do(self, work: Callable[["Connection[Any]"], Awaitable[object]]) -> None:
        async with self._db.transaction() as conn:
            self.pid = await backend(conn)
            await work(conn)


async def test_a_cancelled_statement_is_an_outage(db: Database, admin: "asyncpg.Connection[Any]") -> None:
    one = Work(db)
    sleeping = asyncio.ensure_future(one.do(lambda conn: conn.execute("SELECT pg_sleep(60)")))
    running = "SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND query ~ 'sleep'"
    async with asyncio.timeout(PATIENCE):
        while not await admin.fetchval(running, one.pid):
            await asyncio.sleep(0.01)
    await admin.execute("SELECT pg_cancel_backend($1)", one.pid)
    with pytest.raises(Unavailable) as refused:
        await sleeping
    assert isinstance(refused.value.__cause__, asyncpg.QueryCanceledError)
    assert await works_with(db) == one.pid


@pytest.mark.parametrize("turns", [0, 1, 5])
async def test_a_cut_connection_is_an_outage_and_not_used_again(
    db: Database, admin: "asyncpg.Connection[Any]", turns: int
) -> None:
    """However many turns of the loop the driver has had to notice it."""
    one = Work(db)

    async def cut(conn: "Connection[Any]") -> None:
        await admin.execute("SELECT pg_terminate_backend($1, 5000)", one.pid)
        for _ in range(turns):
            await asyncio.sleep(0.002)
        await conn.execute("SELECT 1")

    with pytest.raises(Unavailable):
        await one.do(cut)
    assert await works_with(db) != one.pid


async def test_a_driver_that_lost_track_gives_up_its_connection(db: Database) -> None:
    one = Work(db)

    async def lose_track(_conn: "Connection[Any]") -> None:
        raise asyncpg.InternalClientError("cannot switch to state 12; another operation (2) is in progress")

    with pytest.raises(Unavailable):
        await one.do(lose_track)
    assert await works_with(db) != one.pid


async def test_wrong_usage_is_no_outage(db: Database) -> None:
    async def both(conn: "Connection[Any]") -> None:
        await asyncio.gather(conn.execute("SELECT pg_sleep(0.1)"), conn.execute("SELECT 1"))

    with pytest.raises(asyncpg.InterfaceError, match="another operation is in progress"):
        await Work(db).do(both)
    await works_with(db)


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("SELEC 1", asyncpg.PostgresSyntaxError),
        ("SELECT * FROM nothing_such", asyncpg.UndefinedTableError),
        ("INSERT INTO schema_migrations SELECT * FROM schema_migrations LIMIT 1", asyncpg.UniqueViolationError),
        ("SELECT 1 / 0", asyncpg.DivisionByZeroError),
    ],
)
async def test_a_faulty_statement_is_no_outage(db: Database, statement: str, kind: type[Exception]) -> None:
    one = Work(db)
    with pytest.raises(kind):
        await one.do(lambda conn: conn.execute(statement))
    assert await works_with(db) == one.pid


async def test_an_argument_that_fits_no_column_is_no_outage(db: Database) -> None:
    with pytest.raises(asyncpg.DataError):
        await Work(db).do(lambda conn: conn.fetchval("SELECT $1::int", "x"))


async def test_a_server_that_is_not_there_is_an_outage() -> None:
    db = await Database.connect("postgresql://nobody@127.0.0.1:9/none", connections=1)
    with pytest.raises(Unavailable) as refused:
        async with db.connection():
            pytest.fail("nobody is there")
    assert isinstance(refused.value.__cause__, OSError)
    await db.close()


async def test_a_database_that_was_dropped_is_an_outage(database_url: str) -> None:
    db = await Database.connect(database_url.replace("/test_", "/gone_"), connections=1)
    with pytest.raises(Unavailable):
        async with db.connection():
            pytest.fail("there is none")
    await db.close()
