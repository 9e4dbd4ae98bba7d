"""An assistant: the official SDK's own client, in the protocol of today or in that of 2025."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from gatepost.model.account import key_hash
from gatepost.model.account_log import OPERATOR, new_entry
from gatepost.model.mcp_policy import Policy
from gatepost.store.keys import find_callers
from gatepost.store.mcp.policies import save_policy
from tests.gateway.checks import until
from tests.running_gateway import Gateway

MODERN, LEGACY = "2026-07-28", "legacy"
ERAS = (MODERN, LEGACY)
PERSON = "5511999998888"
NUMBER = "100000000000001"  # of the channel


class Assistant:
    """A client that is connected, with shorter answers."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def ask(self, tool: str, **arguments: Any) -> Any:
        """Call a tool that must succeed; return its structured answer."""
        result = await self.client.call_tool(tool, {name.rstrip("_"): value for name, value in arguments.items()})
        assert not result.is_error, result.content
        return result.structured_content

    async def fail(self, tool: str, **arguments: Any) -> Any:
        """Call a tool that must fail; return its error."""
        result = await self.client.call_tool(tool, {name.rstrip("_"): value for name, value in arguments.items()})
        assert result.is_error, result.structured_content
        return result.structured_content["error"]

    async def text(self, tool: str, **arguments: Any) -> str:
        """Call a tool; return the text of its answer."""
        result = await self.client.call_tool(tool, arguments)
        text: str = result.content[0].text  # type: ignore[union-attr]
        return text


@asynccontextmanager
async def assistant(gateway: Gateway, key: str, era: str = MODERN, url: str = "") -> AsyncIterator[Assistant]:
    """Connect an assistant with a key."""
    http = httpx2.AsyncClient(headers={"authorization": f"Bearer {key}"}, timeout=60, trust_env=False)
    transport = streamable_http_client((url or gateway.url) + "/mcp", http_client=http)
    try:
        async with http, Client(transport, mode=era) as client:
            yield Assistant(client)
    except BaseExceptionGroup as group:  # of the client's tasks, around the failure of a test
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None


async def mcp_key(gateway: Gateway, **options: Any) -> str:
    """Return a new key with the scope `mcp` alone."""
    return await gateway.new_key(channel_of(gateway), scopes=("mcp",), **options)


async def set_policy(gateway: Gateway, key: str, policy: Policy) -> None:
    """Save the policy of a key."""
    [caller], now = (await find_callers(gateway.db, [key_hash(key)])).values(), gateway.clock.now()
    entry = new_entry(caller.account_id, OPERATOR, "mcp_policy_changed", now, target="test")
    assert await save_policy(gateway.db, caller.channel_id, caller.principal.id, policy, now, "test", entry)


def channel_of(gateway: Gateway) -> UUID:
    return UUID(hex=gateway.channel[3:])


async def write(gateway: Gateway, text: str, phone: str = PERSON, name: str = "Ana") -> str:
    """Let a person write to the channel; return the id of the conversation, when the message is stored."""
    before = len(await _incoming(gateway, phone))
    said = {"phone_number_id": NUMBER, "from": phone, "text": text, "name": name}
    await gateway.sandbox("POST", "/control/say", said)
    found = await until(lambda: _more(gateway, phone, before))
    conversation: str = found[0]["conversation"]["id"]
    return conversation


async def _more(gateway: Gateway, phone: str, before: int) -> list[Any]:
    found = await _incoming(gateway, phone)
    return found if len(found) > before else []


async def _incoming(gateway: Gateway, phone: str) -> list[Any]:
    answer = await gateway.call("GET", f"/api/v1/messages?direction=in&limit=100&phone={phone}")
    found: list[Any] = answer.json()["data"]
    return found
