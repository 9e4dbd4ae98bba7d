"""A sandbox and a receiver on real sockets; each test begins with a new, frozen world."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from queue import Queue

import pytest
from pyreqwest.client import Client, ClientBuilder

from gatepost_sandbox import SandboxSettings, serve
from tests.patience import PATIENCE

from .driver import START, Driver, Receiver


@contextlib.contextmanager
def running(settings: SandboxSettings, data: Path | None = None, port: int = 0) -> Iterator[int]:
    """A sandbox served by a thread of its own for as long as the block lasts; gives its port."""
    ports: Queue[int] = Queue()
    loop = asyncio.new_event_loop()
    serving = loop.create_task(serve("127.0.0.1", port, settings, data=data, ready=ports.put, signals=False))
    thread = threading.Thread(target=_finish, args=(loop, serving))
    thread.start()
    try:
        yield ports.get(timeout=PATIENCE)
    finally:
        loop.call_soon_threadsafe(serving.cancel)
        thread.join()


def _finish(loop: asyncio.AbstractEventLoop, serving: asyncio.Task[None]) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        loop.run_until_complete(serving)
    loop.close()


@pytest.fixture(scope="session")
def sandbox_port() -> Iterator[int]:
    """One server for all tests of this folder: a reset gives each of them a world of its own."""
    with running(SandboxSettings(seed=7, start=START, frozen=True, user_ids=False)) as port:
        yield port


@pytest.fixture(scope="session")
def client() -> Client:
    return ClientBuilder().no_proxy().build()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    made = Receiver()
    await made.open()
    yield made
    await made.close()


@pytest.fixture
async def empty(client: Client, sandbox_port: int) -> Driver:
    """A sandbox with no number."""
    driver = Driver(client, sandbox_port)
    await driver.control("POST", "reset", {})
    return driver


@pytest.fixture
async def sandbox(empty: Driver, receiver: Receiver) -> Driver:
    """A sandbox with one number whose callbacks go to the receiver."""
    await empty.register(receiver.url)
    return empty
