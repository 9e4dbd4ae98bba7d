"""A person's phone in tests: the chats, what the person does in one of them, and the feed."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pyreqwest.client import ClientBuilder

from tests.patience import patience
from tests.sandbox.driver import NUMBER, Driver, Reply

ANA = "5511999990000"


class PersonPhone:
    """One chat of one person."""

    def __init__(self, sandbox: Driver, person: str = ANA, number: str = NUMBER) -> None:
        self.sandbox, self.person, self.number = sandbox, person, number

    @property
    def path(self) -> str:
        return f"chats/{self.person}/{self.number}"

    async def show(self, query: str = "") -> Any:
        return await self.sandbox.control("GET", f"{self.path}{query}")

    async def chat(self) -> Any:
        return (await self.show())["chat"]

    async def messages(self) -> list[dict[str, Any]]:
        shown: list[dict[str, Any]] = (await self.show("?limit=200"))["messages"]
        return shown

    async def last(self) -> dict[str, Any]:
        return (await self.messages())[-1]

    async def act(self, action: str, body: Any = None) -> Any:
        return await self.sandbox.control("POST", f"{self.path}/{action}", body)

    async def send(self, kind: str, /, **fields: Any) -> Any:
        return await self.act("send", {"type": kind, **fields})

    async def try_send(self, kind: str, /, **fields: Any) -> Reply:
        return await self.sandbox.call("POST", f"/control/{self.path}/send", {"type": kind, **fields})


class FeedReader:
    """An open feed."""

    def __init__(self, reader: Any) -> None:
        self.seen: list[tuple[str, Any]] = []
        self._reader = reader
        self._rest = b""

    async def block(self) -> str | None:
        """Return the next block; None at the end."""
        async with patience(lambda: f"the next event after {self.seen[-3:]}"):
            while b"\n\n" not in self._rest:
                chunk = await self._reader.read_chunk()
                if chunk is None:
                    return None
                self._rest += bytes(chunk)
        block, _, self._rest = self._rest.partition(b"\n\n")
        return block.decode()

    async def event(self) -> tuple[str, Any]:
        """Return the name and data of the next event."""
        block = await self.block()
        assert block is not None, "the feed has ended"
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        self.seen.append((fields["event"], json.loads(fields["data"])))
        return self.seen[-1]

    async def until(self, name: str, **values: Any) -> Any:
        """Return the data of the next event with this name; `status` and so on are of its message."""
        while True:
            event, data = await self.event()
            part = data.get("message") or data.get("chat") or data
            if event == name and all(part.get(key) == value for key, value in values.items()):
                return data


@asynccontextmanager
async def open_feed(sandbox: Driver, query: str = "") -> AsyncIterator[FeedReader]:
    """Open a feed; its `ready` has been read."""
    async with ClientBuilder().no_proxy().build() as client:
        request = client.get(f"{sandbox.base}/control/feed{query}").streamed_read_buffer_limit(0)
        async with request.build_streamed() as response:
            assert response.status == 200, await response.bytes()
            assert (response.get_header("content-type") or "").startswith("text/event-stream")
            feed = FeedReader(response.body_reader)
            name, data = await feed.event()
            assert (name, list(data)) == ("ready", ["now"])
            yield feed


async def until_closed(sandbox: Driver, open_feeds: int) -> None:
    """Wait until the sandbox has noticed that feeds were closed: one more can be opened."""
    async with patience(lambda: f"{open_feeds} open feeds"):
        while True:
            try:
                async with open_feed(sandbox):
                    return
            except AssertionError:
                await asyncio.sleep(0.01)
