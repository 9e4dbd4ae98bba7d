"""An assistant over either transport: HTTP, or `gatepost mcp` on stdin and stdout."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.mcp.assistant import MODERN, Assistant, assistant
from tests.running_gateway import Gateway

TRANSPORTS = ("http", "stdio")


@asynccontextmanager
async def connected(
    gateway: Gateway, key: str, transport: str = "http", era: str = MODERN, url: str = ""
) -> AsyncIterator[Assistant]:
    """Connect an assistant with a key by a transport; to another address, if one is given."""
    if transport == "http":
        async with assistant(gateway, key, era, url) as one:
            yield one
        return
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GATEPOST_")}
    given = kept | {"GATEPOST_KEY": key, "GATEPOST_URL": url or gateway.url}
    command = StdioServerParameters(command=sys.executable, args=["-m", "gatepost.cli", "mcp"], env=given)
    async with Client(stdio_client(command), mode=era) as client:
        yield Assistant(client)
