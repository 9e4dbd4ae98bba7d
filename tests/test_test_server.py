"""The server of the tests itself."""

import asyncio
import gc
import socket
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.conftest import TestServer, serve_app


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answer nothing: no client of this test requests anything."""


@pytest.mark.parametrize("turn", range(5))
async def test_a_connection_that_arrives_while_the_server_ends_is_closed(
    turn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In whichever turn of the event loop: one that is forgotten is a warning, which fails any later test."""
    lost: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", lost.append)
    shutdown, clients = TestServer.shutdown, ExitStack()

    async def shut_down(server: TestServer, sockets: Any = None) -> None:
        clients.enter_context(socket.create_connection(address))
        for _ in range(turn):
            await asyncio.sleep(0)
        await shutdown(server, sockets)

    monkeypatch.setattr(TestServer, "shutdown", shut_down)
    with clients:
        async with serve_app(app) as url:
            address = ("127.0.0.1", urlsplit(url).port)
        gc.collect()
    assert not lost
