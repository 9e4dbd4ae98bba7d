"""One database for the tests of stores and policies, and a running gateway for those of the server."""

from collections.abc import AsyncIterator

import pytest

from tests.outbound.conftest import _function_scoped_runner, common_url, db, stage, warm_connections
from tests.running_gateway import Gateway, running_gateway

__all__ = ["_function_scoped_runner", "common_url", "db", "gateway", "stage", "warm_connections"]


@pytest.fixture
async def gateway(parted_database_url: str) -> AsyncIterator[Gateway]:
    """Yield a running gateway with one official channel and its key. It caches neither keys nor policies."""
    async with running_gateway(parted_database_url, security__key_cache_seconds=0.0) as one:
        yield one
