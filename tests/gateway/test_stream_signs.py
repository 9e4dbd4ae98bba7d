"""Signs of life of an event stream: where it stands is told once each time it moves, and not again."""

import asyncio

from tests.gateway.checks import TEXT, feed
from tests.gateway.event_streams import open_stream
from tests.house import running_house
from tests.patience import PATIENCE


async def test_where_it_stands_is_told_once(database_url: str) -> None:
    calm = running_house(database_url, api__heartbeat=0.05)
    async with calm as house, open_stream(house, "?types=order_notifications") as stream:
        places: list[str] = []
        for _ in range(2):
            await house.until_status(await house.send(**TEXT), "READ")
            end = (await feed(house))[-1]["id"]
            async with asyncio.timeout(PATIENCE):
                while stream.last != end:
                    places.append((await stream.block() or {}).get("id", ""))
            signs = [await stream.block() for _ in range(3)]
            assert signs == [{"": ""}] * 3
        told = [place for place in places if place]
        assert told
        assert len(told) == len(set(told))
