"""Running gateways for the tests of the REST API."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from gatepost import housekeeping
from tests.movable_clock import MovableClock
from tests.running_gateway import Gateway, running_gateway
from tests.shared_loop import _function_scoped_runner

__all__ = ["_function_scoped_runner"]


@pytest.fixture
async def gateway(parted_database_url: str) -> AsyncIterator[Gateway]:
    """Yield a running gateway with one official channel and its key."""
    async with running_gateway(parted_database_url) as one:
        yield one


@pytest.fixture
async def frozen(parted_database_url: str) -> AsyncIterator[Gateway]:
    """Yield a running gateway whose clock does not move, so that nothing is retried."""
    async with running_gateway(parted_database_url, clock=MovableClock(datetime.now(UTC))) as one:
        yield one


@pytest.fixture
def frequent_housekeeping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Save the use of keys, and refused requests, several times a second."""
    monkeypatch.setattr(housekeeping, "_TURN", 0.2)
