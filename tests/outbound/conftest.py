"""One database for all of these tests: each has its own channel. They share its connections too."""

from asyncio import Runner
from collections.abc import AsyncIterator, Iterator

import pytest

from gatepost.store.pool import Database
from tests.conftest import PostgresServer, common_database
from tests.outbound.stage import NOW, Stage, make_stage
from tests.shared_loop import _function_scoped_runner
from tests.warm_connections import WarmConnections

__all__ = ["_function_scoped_runner"]


@pytest.fixture(scope="package")
def common_url(postgres_server: PostgresServer) -> Iterator[str]:
    """Yield a database with partitions for the days that the clocks are moved through."""
    with common_database(postgres_server, NOW) as url:
        yield url


@pytest.fixture(scope="package")
def warm_connections(common_url: str, _session_scoped_runner: Runner) -> Iterator[WarmConnections]:
    """Yield the connections to it."""
    kept = WarmConnections(common_url, connections=16)
    yield kept
    _session_scoped_runner.run(kept.close())


@pytest.fixture
async def db(warm_connections: WarmConnections) -> AsyncIterator[Database]:
    """Yield the shared database."""
    async with warm_connections.database() as database:
        yield database


@pytest.fixture
async def stage(db: Database) -> Stage:
    """Return a channel with its own network and clock."""
    return await make_stage(db)
