"""What the tests of the client share: a running gateway, and each kind of client on it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.client.driver import KINDS, Driver, Kind, driving
from tests.running_gateway import Gateway, running_gateway
from tests.shared_loop import _function_scoped_runner

__all__ = ["_function_scoped_runner"]


@pytest.fixture
async def gateway(parted_database_url: str) -> AsyncIterator[Gateway]:
    """Give a running gateway with one official channel and its key."""
    async with running_gateway(parted_database_url) as one:
        yield one


@pytest.fixture(params=KINDS)
def kind(request: Any) -> Kind:
    """Give each kind of client."""
    chosen: Kind = request.param
    return chosen


@pytest.fixture
async def gp(gateway: Gateway, kind: Kind) -> AsyncIterator[Driver]:
    """Give a client of the gateway's channel."""
    async with driving(kind, gateway.url, gateway.key) as one:
        yield one
