"""A gateway with a person who can sign in."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from gatepost.clock import MovableClock
from tests.console.visitor import add_person
from tests.house import House, running_house


@pytest.fixture
async def house(parted_database_url: str) -> AsyncIterator[House]:
    """Yield a running gateway with one official channel and an owner."""
    async with running_house(parted_database_url) as one:
        await add_person(one)
        yield one


@pytest.fixture
def clock() -> MovableClock:
    """Return the clock of `standing`."""
    return MovableClock(datetime.now(UTC))


@pytest.fixture
async def standing(parted_database_url: str, clock: MovableClock) -> AsyncIterator[House]:
    """Yield a gateway whose clock moves only when a test advances it."""
    async with running_house(parted_database_url, clock=clock) as one:
        await add_person(one)
        yield one
