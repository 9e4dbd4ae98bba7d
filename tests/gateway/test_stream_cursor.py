"""Heartbeats of an event stream: its position is sent once each time it moves, and not again."""

import asyncio

from tests.gateway.checks import TEXT, feed
from tests.gateway.event_streams import open_stream
from tests.patience import PATIENCE
from tests.running_gateway import running_gateway


async def test_the_cursor_is_sent_once(database_url: str) -> None:
    calm = running_gateway(database_url, api__heartbeat=0.05)
    async with calm as gateway, open_stream(gateway, "?types=order_notifications") as stream:
        places: list[str] = []
        for _ in range(2):
            await gateway.until_status(await gateway.send(**TEXT), "READ")
            end = (await feed(gateway))[-1]["id"]
            async with asyncio.timeout(PATIENCE):
                while stream.last != end:
                    places.append((await stream.block() or {}).get("id", ""))
            signs = [await stream.block() for _ in range(3)]
            assert signs == [{"": ""}] * 3
        seen = [place for place in places if place]
        assert seen
        assert len(seen) == len(set(seen))
