"""One database for all tests of deliveries: each has its own channel."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime

import pytest

from gatepost.store.pool import Database
from tests.conftest import PostgresServer, Receiver, common_database
from tests.webhooks.stage import Stage, make_stage


@pytest.fixture(scope="package")
def common_url(postgres_server: PostgresServer) -> Iterator[str]:
    """Give a database with partitions for the weeks that the clocks are moved through."""
    with common_database(postgres_server, datetime.now(UTC)) as url:
        yield url


@pytest.fixture
async def stage(common_url: str, receiver: Receiver) -> AsyncIterator[Stage]:
    """Give a channel with its own clock, and a receiver for its endpoints."""
    db = await Database.connect(common_url, connections=4)
    one = await make_stage(db, receiver)
    yield one
    for deliverer in one.deliverers.values():
        await deliverer.settled()
    await one.poster.close()
    await db.close()
