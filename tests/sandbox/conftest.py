"""A sandbox and a receiver on real sockets for each test; the sandbox clock is frozen unless a test thaws it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from pyreqwest.client import Client, ClientBuilder

from gatepost.sandbox import SandboxSettings, serve

from .driver import START, Driver, Receiver


@contextlib.asynccontextmanager
async def running(client: Client, settings: SandboxSettings) -> AsyncIterator[Driver]:
    """A sandbox served on a free port for as long as the block lasts."""
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(serve("127.0.0.1", 0, settings, ready=port.set_result, signals=False))
    try:
        yield Driver(client, await port)
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with ClientBuilder().no_proxy().build() as made:
        yield made


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    made = Receiver()
    await made.open()
    yield made
    await made.close()


@pytest.fixture
async def empty(client: Client) -> AsyncIterator[Driver]:
    """A sandbox with no number."""
    async with running(client, SandboxSettings(seed=7, start=START, frozen=True)) as driver:
        yield driver


@pytest.fixture
async def sandbox(empty: Driver, receiver: Receiver) -> Driver:
    """A sandbox with one number whose callbacks go to the receiver."""
    await empty.register(receiver.url)
    return empty
