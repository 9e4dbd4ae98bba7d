"""Reads the stream of an account as a page does."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from pyreqwest.client import ClientBuilder

from tests.gateway.event_streams import StreamReader
from tests.gateway.people import Person

STREAM = "/api/v1/account/stream"


class AccountReader(StreamReader):
    """An open stream of an account."""

    async def event(self) -> Any:
        """Return the next event, and skip other blocks."""
        while (block := await self.block()) is not None:
            if "data" in block and block["event"].endswith(("_notification", "_notifications")):
                event = msgspec.json.decode(block["data"])
                assert event["type"] == block["event"]
                return event
        raise AssertionError("the stream has ended")

    async def notice(self, name: str) -> Any:
        """Return the next notice with this name, and skip other blocks."""
        while (block := await self.block()) is not None:
            if block.get("event") == name:
                return msgspec.json.decode(block["data"])
        raise AssertionError("the stream has ended")


@asynccontextmanager
async def open_account_stream(
    person: Person, query: str = "", *, last: str | None = None, url: str | None = None
) -> AsyncIterator[AccountReader]:
    """Open the stream of a person's account; close the connection at the end."""
    headers = {"cookie": person.cookie} | ({} if last is None else {"last-event-id": last})
    async with ClientBuilder().no_proxy().build() as client:
        request = (
            client.get((url or person.gateway.url) + STREAM + query).headers(headers).streamed_read_buffer_limit(0)
        )
        async with request.build_streamed() as response:
            assert response.status == 200, await response.bytes()
            stream = AccountReader(
                response.body_reader, {name.lower(): value for name, value in response.headers.items()}
            )
            opening = await stream.block()
            assert opening is not None
            assert opening["retry"] == "2000"
            yield stream
