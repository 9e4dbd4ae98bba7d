"""Long polls: an answer at once where there is something, as soon as there is, or empty when the time is over."""

import asyncio
from typing import Any

import pytest

from tests.gateway.checks import TEXT, check_refused, feed
from tests.gateway.event_streams import another_node
from tests.house import House
from tests.patience import PATIENCE

EVENTS = "/api/v1/events"


async def _wait(house: House, query: str, url: str = "") -> Any:
    answer = await house.call("GET", f"{url}{EVENTS}?wait=30{query}")
    assert answer.status == 200, answer.body
    return answer.json()


async def test_what_is_there_comes_at_once(house: House) -> None:
    await house.until_status(await house.send(**TEXT), "READ")
    page = await _wait(house, "&limit=2")
    assert [event["sequence"] for event in page["data"]] == [1, 2]
    assert page["paging"]["next"] == page["data"][-1]["id"]


async def test_what_comes_ends_the_waiting(house: House) -> None:
    waiting = asyncio.create_task(_wait(house, ""))
    await asyncio.sleep(0.2)
    assert not waiting.done()
    await house.send(**TEXT)
    async with asyncio.timeout(PATIENCE):
        assert (await waiting)["data"][0]["sequence"] == 1


async def test_what_another_node_writes_ends_it_too(house: House) -> None:
    async with another_node(house) as (url, _):
        waiting = asyncio.create_task(_wait(house, "", url))
        await asyncio.sleep(0.2)
        await house.send(**TEXT)
        async with asyncio.timeout(PATIENCE):
            assert (await waiting)["data"][0]["sequence"] == 1


async def test_other_types_do_not_end_it_and_are_not_looked_through_again(house: House) -> None:
    for seconds in (1, 10, 30):  # longer only where a full machine takes longer to send a message
        waiting = asyncio.create_task(house.call("GET", f"{EVENTS}?wait={seconds}&types=order_notifications"))
        await house.until_status(await house.send(**TEXT), "READ")
        if not waiting.done():
            break
    assert not waiting.done()
    page = (await waiting).json()
    assert (page["data"], page["paging"]["next"]) == ([], (await feed(house))[-1]["id"])


async def test_nothing_comes(house: House) -> None:
    shorter = asyncio.create_task(asyncio.sleep(0.9))
    page = (await house.call("GET", f"{EVENTS}?wait=1")).json()
    assert (page["data"], page["paging"]["next"]) == ([], None)
    assert shorter.done(), "it did not wait its second"
    await house.until_status(await house.send(**TEXT), "READ")
    last = (await feed(house))[-1]["id"]
    page = (await house.call("GET", f"{EVENTS}?wait=1&after={last}")).json()
    assert (page["data"], page["paging"]["next"]) == ([], last)


@pytest.mark.parametrize("wait", ["31", "-1", "", "1.5", "1e1", "0030", "x"])
async def test_too_long_and_nonsense(house: House, wait: str) -> None:
    check_refused(await house.call("GET", f"{EVENTS}?wait={wait}"), 422, "invalid_field", "wait")


@pytest.mark.parametrize("wait", ["0", "30", "030"])
async def test_as_long_as_may_be(house: House, wait: str) -> None:
    await house.send(**TEXT)
    assert (await house.call("GET", f"{EVENTS}?wait={wait}")).status == 200
