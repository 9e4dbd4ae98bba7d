"""Links to the sandbox of the folder above, over real WebSockets."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest
from websockets.asyncio.client import connect

from tests.sandbox.driver import Driver

from .peer import PHONE, Peer, S

Dial = Callable[..., Awaitable[Peer]]


@pytest.fixture
async def dial(empty: Driver) -> AsyncIterator[Dial]:
    """Open a link; all are closed after the test."""
    async with AsyncExitStack() as links:

        async def make(query: str = "") -> Peer:
            url = f"{empty.base.replace('http', 'ws', 1)}/qr/link{query}"
            return Peer(await links.enter_async_context(connect(url, proxy=None, max_size=2**21)))

        yield make


@pytest.fixture
async def peer(dial: Dial) -> Peer:
    """A link on which nothing is open."""
    return await dial()


@pytest.fixture
async def linked(empty: Driver, peer: Peer) -> Peer:
    """A link with one connected session."""
    await link_up(empty, peer)
    return peer


async def link_up(driver: Driver, peer: Peer, session: str = S, phone: str = PHONE) -> None:
    await peer.open(session, phone)
    await driver.control("POST", f"phones/{phone}/scan", {"session": session})
    await driver.advance(0.5)
    assert (await peer.states())[-1] == ("connected", "linked")
