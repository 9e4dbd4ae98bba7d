"""What the tests of the REST door share: a running house."""

from collections.abc import AsyncIterator

import pytest

from tests.house import House, running_house


@pytest.fixture
async def house(database_url: str) -> AsyncIterator[House]:
    """Give a running gateway with one official channel and its key."""
    async with running_house(database_url) as one:
        yield one
