"""One database for all tests of deliveries: each has its own channel."""

from asyncio import Runner
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime

import pytest

from tests.conftest import PostgresServer, Receiver, common_database
from tests.shared_loop import _function_scoped_runner
from tests.warm_connections import WarmConnections
from tests.webhooks.stage import Stage, make_stage

__all__ = ["_function_scoped_runner"]


@pytest.fixture(scope="package")
def common_url(postgres_server: PostgresServer) -> Iterator[str]:
    """Give a database with partitions for the weeks that the clocks are moved through."""
    with common_database(postgres_server, datetime.now(UTC)) as url:
        yield url


@pytest.fixture(scope="package")
def warm_connections(common_url: str, _session_scoped_runner: Runner) -> Iterator[WarmConnections]:
    """Give the connections to it, which the tests share too."""
    kept = WarmConnections(common_url, connections=4)
    yield kept
    _session_scoped_runner.run(kept.close())


@pytest.fixture
async def stage(warm_connections: WarmConnections, receiver: Receiver) -> AsyncIterator[Stage]:
    """Give a channel with its own clock, and a receiver for its endpoints."""
    async with warm_connections.database() as db:
        one = await make_stage(db, receiver)
        yield one
        for deliverer in one.deliverers.values():
            await deliverer.settled()
        await one.poster.close()
