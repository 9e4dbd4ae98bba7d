"""Signs of life of an event stream: where it stands is told once each time it moves, and not again."""

import asyncio

from tests.gateway.checks import TEXT, feed
from tests.gateway.listening import listening
from tests.house import running_house
from tests.patience import PATIENCE


async def test_where_it_stands_is_told_once(database_url: str) -> None:
    calm = running_house(database_url, api__heartbeat=0.05)
    async with calm as house, listening(house, "?types=order_notifications") as ear:
        places: list[str] = []
        for _ in range(2):
            await house.until_status(await house.send(**TEXT), "READ")
            end = (await feed(house))[-1]["id"]
            async with asyncio.timeout(PATIENCE):
                while ear.last != end:
                    places.append((await ear.block() or {}).get("id", ""))
            signs = [await ear.block() for _ in range(3)]
            assert signs == [{"": ""}] * 3
        told = [place for place in places if place]
        assert told
        assert len(told) == len(set(told))
