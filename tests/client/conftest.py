"""What the tests of the client share: a running gateway, and each kind of client on it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.client.driver import KINDS, Driver, Kind, driving
from tests.house import House, running_house


@pytest.fixture
async def house(parted_database_url: str) -> AsyncIterator[House]:
    """Give a running gateway with one official channel and its key."""
    async with running_house(parted_database_url) as one:
        yield one


@pytest.fixture(params=KINDS)
def kind(request: Any) -> Kind:
    """Give each kind of client."""
    chosen: Kind = request.param
    return chosen


@pytest.fixture
async def gp(house: House, kind: Kind) -> AsyncIterator[Driver]:
    """Give a client of the house's channel."""
    async with driving(kind, house.url, house.key) as one:
        yield one
