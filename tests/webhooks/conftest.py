"""One database for all tests of deliveries: each sets a stage of its own, as strangers share a real one."""

import uuid
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime

import pytest
from tests.conftest import PostgresServer, Receiver, administer, run_apart
from tests.webhooks.stage import Stage, set_stage

from gatepost.store.partitions import make_partitions
from gatepost.store.pool import Database


@pytest.fixture(scope="package")
def common_url(postgres_server: PostgresServer) -> Iterator[str]:
    """Give a database with partitions for the weeks that the clocks are moved through."""
    name = f"test_{uuid.uuid4().hex}"
    run_apart(administer(postgres_server, f"CREATE DATABASE {name} TEMPLATE gatepost STRATEGY FILE_COPY"))
    url = postgres_server.url(name)
    run_apart(prepare(url))
    yield url
    run_apart(administer(postgres_server, f"DROP DATABASE {name} WITH (FORCE)"))


async def prepare(url: str) -> None:
    db = await Database.connect(url, connections=1)
    await make_partitions(db, datetime.now(UTC), 7)
    await db.close()


@pytest.fixture
async def stage(common_url: str, receiver: Receiver) -> AsyncIterator[Stage]:
    """Give a channel with its own clock, and a receiver for its endpoints."""
    db = await Database.connect(common_url, connections=4)
    one = await set_stage(db, receiver)
    yield one
    for round_ in one.rounds.values():
        await round_.settled()
    await one.poster.close()
    await db.close()
