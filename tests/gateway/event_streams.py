"""Reads event streams block by block, without the Python client."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from pyreqwest.client import ClientBuilder

from gatepost.app import Gatepost
from tests.conftest import serve_app
from tests.patience import PATIENCE
from tests.running_gateway import Gateway, ListeningGatepost

STREAM = "/api/v1/events/stream"


class StreamReader:
    """An open stream."""

    def __init__(self, reader: Any, headers: dict[str, str]) -> None:
        self.headers = headers
        self.last = ""  # as a browser sends it in Last-Event-ID
        self._reader = reader
        self._rest = b""

    async def block(self) -> dict[str, str] | None:
        """Return the next block, with a comment under the name ""; None at the end."""
        async with asyncio.timeout(PATIENCE):
            while b"\n\n" not in self._rest:
                chunk = await self._reader.read_chunk()
                if chunk is None:
                    return None
                self._rest += bytes(chunk)
        block, _, self._rest = self._rest.partition(b"\n\n")
        fields = dict(line.split(":", 1) for line in block.decode().split("\n"))
        self.last = fields.get("id", self.last).strip()
        return {name: value.strip() for name, value in fields.items()}

    async def event(self) -> Any:
        """Return the next event, and skip other blocks."""
        while (block := await self.block()) is not None:
            if "data" in block:
                event = msgspec.json.decode(block["data"])
                assert (block["id"], block["event"]) == (event["id"], event["type"])
                return event
        raise AssertionError("the stream has ended")

    async def events(self, count: int) -> list[Any]:
        return [await self.event() for _ in range(count)]

    async def end(self) -> list[dict[str, str]]:
        """Return all blocks up to the end."""
        blocks = []
        while (block := await self.block()) is not None:
            blocks.append(block)
        return blocks


@asynccontextmanager
async def open_stream(
    gateway: Gateway, query: str = "", *, last: str | None = None, key: str | None = None, url: str | None = None
) -> AsyncIterator[StreamReader]:
    """Open a stream; close the connection at the end."""
    headers = {"authorization": f"Bearer {key or gateway.key}"} | ({} if last is None else {"last-event-id": last})
    async with ClientBuilder().no_proxy().build() as client:
        request = client.get((url or gateway.url) + STREAM + query).headers(headers).streamed_read_buffer_limit(0)
        async with request.build_streamed() as response:
            assert response.status == 200, await response.bytes()
            stream = StreamReader(
                response.body_reader, {name.lower(): value for name, value in response.headers.items()}
            )
            opening = await stream.block()
            assert opening is not None
            assert opening["retry"] == "2000"
            yield stream


@asynccontextmanager
async def another_node(gateway: Gateway, role: str = "api") -> AsyncIterator[tuple[str, Gatepost]]:
    """Run a second gateway on the same database; yield its address."""
    node = ListeningGatepost(gateway.settings, gateway.db, gateway.settings.database.url, gateway.clock, role)
    await node.start()
    try:
        async with serve_app(node.web) as url:
            yield url, node
            node.end_streams()
    finally:
        await node.stop()
