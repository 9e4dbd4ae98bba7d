"""One database for all of these tests: each sets a stage of its own, as strangers share a real one."""

import uuid
from collections.abc import AsyncIterator, Iterator

import pytest

from gatepost.store.partitions import make_partitions
from gatepost.store.pool import Database
from tests.conftest import PostgresServer, administer, run_apart
from tests.outbound.stage import NOW, Stage, make_stage


@pytest.fixture(scope="package")
def common_url(postgres_server: PostgresServer) -> Iterator[str]:
    """Give a database with partitions for the days that the clocks are moved through."""
    name = f"test_{uuid.uuid4().hex}"
    run_apart(administer(postgres_server, f"CREATE DATABASE {name} TEMPLATE gatepost STRATEGY FILE_COPY"))
    url = postgres_server.url(name)
    run_apart(prepare(url))
    yield url
    run_apart(administer(postgres_server, f"DROP DATABASE {name} WITH (FORCE)"))


async def prepare(url: str) -> None:
    db = await Database.connect(url, connections=1)
    await make_partitions(db, NOW, 7)
    await db.close()


@pytest.fixture
async def db(common_url: str) -> AsyncIterator[Database]:
    """Give the database that strangers use too."""
    database = await Database.connect(common_url, connections=4)
    yield database
    await database.close()


@pytest.fixture
async def stage(db: Database) -> Stage:
    """Give a channel with its own network and clock."""
    return await make_stage(db)
