"""Nothing is kept between calls: any node answers any call, also after a restart; none without the database."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from gatepost.app import Gatepost
from gatepost.model.mcp_policy import Policy
from gatepost.store.embedded import EmbeddedPostgres
from gatepost.store.migrate import migrate
from gatepost.store.pool import Database
from tests.conftest import serve_config
from tests.faults.own_server import server
from tests.mcp.assistant import ERAS, Assistant, assistant, mcp_key, set_policy, write
from tests.patience import patience
from tests.running_gateway import Gateway, gateway_config, running_gateway

__all__ = ["server"]


class Balancer(httpx2.AsyncHTTPTransport):
    """A load balancer: each request goes to the next node."""

    def __init__(self) -> None:
        super().__init__()
        self._nodes: Iterator[httpx2.URL] = iter(())

    def use(self, *urls: str) -> None:
        self._nodes = itertools.cycle(map(httpx2.URL, urls))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.url = request.url.copy_with(port=next(self._nodes).port)
        return await super().handle_async_request(request)


@asynccontextmanager
async def balanced(gateway: Gateway, key: str, era: str, balancer: Balancer) -> AsyncIterator[Assistant]:
    http = httpx2.AsyncClient(headers={"authorization": f"Bearer {key}"}, timeout=60, transport=balancer)
    async with http, Client(streamable_http_client(gateway.url + "/mcp", http_client=http), mode=era) as client:
        yield Assistant(client)


@asynccontextmanager
async def another_node(gateway: Gateway) -> AsyncIterator[str]:
    """Run one more node of the gateway; yield its address."""
    db = await Database.connect(gateway.settings.database.url, connections=5)
    node = Gatepost(gateway.settings, db, gateway.settings.database.url, gateway.clock, "api")
    await node.start()
    try:
        async with serve_config(gateway_config(node, gateway.settings)) as url:
            yield url
    finally:
        await node.stop()
        await db.close()


@pytest.mark.parametrize("era", ERAS)
async def test_two_nodes_take_turns_and_one_restarts(gateway: Gateway, era: str) -> None:
    conversation, key, balancer = await write(gateway, "Hi"), await mcp_key(gateway), Balancer()
    await write(gateway, "Hello", "5511977776666")
    await set_policy(gateway, key, Policy(mode="send", no_crossing=False))
    async with another_node(gateway) as second:
        balancer.use(gateway.url, second)
        async with balanced(gateway, key, era, balancer) as mine:
            page = await mine.ask("find_conversations", limit=1)
            rest = await mine.ask("find_conversations", limit=1, cursor=page["next"])
            assert page["conversations"][0]["id"] != rest["conversations"][0]["id"]
            first = await mine.ask("send_text", conversation=conversation, text="It is ready.")
            again = await mine.ask("send_text", conversation=conversation, text="It is ready.")
            assert again == first | {"repeated": True}
    async with another_node(gateway) as second:
        balancer.use(second)
        async with balanced(gateway, key, era, balancer) as mine:
            before = await mine.ask("list_labels")
            async with another_node(gateway) as third:  # the second one is gone for this client
                balancer.use(third)
                assert await mine.ask("list_labels") == before
                assert await mine.ask("send_text", conversation=conversation, text="It is ready.") == again


async def test_without_the_database_nothing_is_sent(server: EmbeddedPostgres) -> None:
    url = await server.start()
    await migrate(url)
    async with running_gateway(url, security__key_cache_seconds=1.0) as gateway:
        conversation, key = await write(gateway, "Hi"), await mcp_key(gateway)
        await set_policy(gateway, key, Policy(mode="send"))
        async with assistant(gateway, key) as mine:
            await mine.ask("list_labels")
            await server.stop()
            codes = [await failure(mine, "list_labels"), await failure(mine, "send_text", conversation, text="No")]
            await server.start()
            async with patience(lambda: "the gateway does not come back"):
                while await failing(mine):
                    await asyncio.sleep(0.1)
            sent = await mine.ask("send_text", conversation=conversation, text="Yes")
            await gateway.until_status(sent["message"], "READ")
        assert set(codes) <= {"database_unavailable"}
        assert len((await gateway.sandbox("GET", "/control/ledger?kind=accepted"))["entries"]) == 1


async def failure(mine: Assistant, tool: str, conversation: str = "", **arguments: Any) -> str:
    """Return the code of an error: of the call, or of the request if the gateway could not check its key."""
    named = {"conversation": conversation} if conversation else {}
    try:
        error = await mine.fail(tool, **named, **arguments)
    except MCPError as rejected:  # a checked key is cached for a second
        error = rejected.error.data
    assert error["retryable"] is True
    code: str = error["code"]
    return code


async def failing(mine: Assistant) -> bool:
    try:
        return (await mine.client.call_tool("list_labels", {})).is_error
    except MCPError:
        return True
