"""One database for all of these tests: each has its own channel."""

from collections.abc import AsyncIterator, Iterator

import pytest

from gatepost.store.pool import Database
from tests.conftest import PostgresServer, common_database
from tests.outbound.stage import NOW, Stage, make_stage


@pytest.fixture(scope="package")
def common_url(postgres_server: PostgresServer) -> Iterator[str]:
    """Yield a database with partitions for the days that the clocks are moved through."""
    with common_database(postgres_server, NOW) as url:
        yield url


@pytest.fixture
async def db(common_url: str) -> AsyncIterator[Database]:
    """Yield the shared database."""
    database = await Database.connect(common_url, connections=16)
    yield database
    await database.close()


@pytest.fixture
async def stage(db: Database) -> Stage:
    """Return a channel with its own network and clock."""
    return await make_stage(db)
