"""A gateway with a person who can sign in."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import msgspec
import pytest

from gatepost.model import ids
from gatepost_sandbox import SandboxSettings
from tests.console.shared_browser import _function_scoped_runner, browser_of_the_process
from tests.console.visitor import add_person
from tests.movable_clock import MovableClock
from tests.running_gateway import REVIEW, Gateway, running_gateway

__all__ = ["_function_scoped_runner", "browser_of_the_process"]

SHOP_PHONE, NUMBER, WABA = "15550007777", "100000000000007", "200000000000001"  # of the channel of `official`


@pytest.fixture
async def gateway(parted_database_url: str) -> AsyncIterator[Gateway]:
    """Yield a running gateway with one official channel and an owner."""
    async with running_gateway(parted_database_url) as one:
        await add_person(one)
        yield one


@pytest.fixture
def clock() -> MovableClock:
    """Return the clock of `standing`."""
    return MovableClock(datetime.now(UTC))


@pytest.fixture
async def frozen(parted_database_url: str, clock: MovableClock) -> AsyncIterator[Gateway]:
    """Yield a gateway whose clock moves only when a test advances it."""
    async with running_gateway(parted_database_url, clock=clock) as one:
        await add_person(one)
        yield one


@pytest.fixture
async def official(parted_database_url: str) -> AsyncIterator[Gateway]:
    """Yield a gateway whose channel has a business account, at a network that rejects lotteries. A second is empty."""
    network = msgspec.convert(
        {"management": {"review_delay": REVIEW, "reject_pattern": "lottery"}, "callbacks": {"connections": 1}},
        SandboxSettings,
    )
    async with running_gateway(parted_database_url, sandbox=network) as one:
        channel = await one.new_channel(one.account_id, SHOP_PHONE, NUMBER, waba_id=WABA)
        one.key, one.channel = await one.new_key(channel.id), ids.format_id("ch", channel.id)
        await add_person(one)
        yield one
