"""Connections that stay acquired between uses: one that is lost, failed or unused is not kept."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from gatepost.model.errors import Unavailable
from gatepost.store import kept_connections
from gatepost.store.pool import Database
from tests.patience import PATIENCE


@pytest.fixture
async def small(common_url: str) -> AsyncIterator[Database]:
    """Yield a database with three connections."""
    db = await Database.connect(common_url, connections=3)
    yield db
    await db.close()


async def pid(db: Database) -> int:
    return int(await db.fetchval("SELECT pg_backend_pid()"))


async def use_at_once(db: Database, count: int) -> set[int]:
    """Use connections at the same time, and return their server processes."""
    together = asyncio.Barrier(count)

    async def use() -> int:
        async with db.connection() as conn:
            await together.wait()
            return int(await conn.fetchval("SELECT pg_backend_pid()"))

    return set(await asyncio.gather(*(use() for _ in range(count))))


def kept(db: Database) -> int:
    return len(db._kept._kept)


async def test_a_connection_is_kept_for_the_next_use(small: Database) -> None:
    assert len({await pid(small) for _ in range(5)}) == 1
    assert kept(small) == 1
    assert small._pool.get_idle_size() == 0


async def test_all_that_there_are_can_be_used_again_and_again(small: Database) -> None:
    async with asyncio.timeout(PATIENCE):
        first = await use_at_once(small, 3)
        assert await use_at_once(small, 3) == first
    assert len(first) == kept(small) == 3


async def test_one_that_is_lost_while_it_is_kept_is_replaced(small: Database, common_url: str) -> None:
    before = await use_at_once(small, 3)
    other = await asyncpg.connect(common_url)
    for one in before:
        await other.execute("SELECT pg_terminate_backend($1)", one)
    await other.close()
    async with asyncio.timeout(PATIENCE):
        while not all(kept_connections.is_closed(conn) for conn, _ in small._kept._kept):
            await asyncio.sleep(0.01)
        assert not await use_at_once(small, 3) & before


async def test_one_that_is_lost_in_use_is_not_kept(small: Database) -> None:
    with pytest.raises(Unavailable):
        await small.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    assert kept(small) == 0
    async with asyncio.timeout(PATIENCE):
        assert len(await use_at_once(small, 3)) == 3


@pytest.mark.parametrize("error", [ValueError(), asyncio.CancelledError()], ids=["error", "cancelled"])
async def test_one_whose_use_failed_goes_back_to_the_pool(small: Database, error: BaseException) -> None:
    with pytest.raises(type(error)):
        async with small.connection():
            raise error
    assert kept(small) == 0
    assert small._pool.get_idle_size() == 1
    async with asyncio.timeout(PATIENCE):
        assert len(await use_at_once(small, 3)) == 3


async def test_one_with_an_open_transaction_is_not_kept(small: Database) -> None:
    async with small.connection() as conn:
        await conn.execute("BEGIN")
    assert kept(small) == 0
    async with small.connection() as conn:
        assert not conn.is_in_transaction()


async def test_those_that_are_not_used_go_back_one_by_one(small: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    await use_at_once(small, 3)
    monkeypatch.setattr(kept_connections, "_UNUSED", -1.0)
    for left in (2, 1, 0):
        await pid(small)
        assert kept(small) == left
    assert small._pool.get_idle_size() == 3


async def test_one_that_was_used_often_goes_back(small: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_connections, "_USES", 3)
    seen = []
    for _ in range(4):
        await pid(small)
        seen.append(kept(small))
    assert seen == [1, 1, 0, 1]


async def test_closing_waits_for_what_runs_and_keeps_nothing(common_url: str) -> None:
    db = await Database.connect(common_url, connections=3)
    await use_at_once(db, 3)
    inside, end = asyncio.Event(), asyncio.Event()

    async def use() -> None:
        async with db.reserved("work").connection() as conn:
            inside.set()
            await end.wait()
            assert await conn.fetchval("SELECT 1") == 1

    using = asyncio.create_task(use())
    await inside.wait()
    closing = asyncio.create_task(db.close())
    while not db._pool.is_closing():
        await asyncio.sleep(0)
    end.set()
    await using
    await closing
    assert kept(db) == 0
