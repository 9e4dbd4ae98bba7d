"""Long polls: an answer at once where there is something, as soon as there is, or empty when the time is over."""

import asyncio
from typing import Any

from tests.for_each import for_each
from tests.gateway.checks import TEXT, check_refused, feed
from tests.gateway.event_streams import another_node
from tests.patience import PATIENCE
from tests.running_gateway import Gateway

EVENTS = "/api/v1/events"


async def _wait(gateway: Gateway, query: str, url: str = "") -> Any:
    answer = await gateway.call("GET", f"{url}{EVENTS}?wait=30{query}")
    assert answer.status == 200, answer.body
    return answer.json()


async def test_what_is_there_comes_at_once(gateway: Gateway) -> None:
    await gateway.until_status(await gateway.send(**TEXT), "READ")
    page = await _wait(gateway, "&limit=2")
    assert [event["sequence"] for event in page["data"]] == [1, 2]
    assert page["paging"]["next"] == page["data"][-1]["id"]


async def test_what_comes_ends_the_waiting(gateway: Gateway) -> None:
    waiting = asyncio.create_task(_wait(gateway, ""))
    await asyncio.sleep(0.2)
    assert not waiting.done()
    await gateway.send(**TEXT)
    async with asyncio.timeout(PATIENCE):
        assert (await waiting)["data"][0]["sequence"] == 1


async def test_what_another_node_writes_ends_it_too(gateway: Gateway) -> None:
    async with another_node(gateway) as (url, _):
        waiting = asyncio.create_task(_wait(gateway, "", url))
        await asyncio.sleep(0.2)
        await gateway.send(**TEXT)
        async with asyncio.timeout(PATIENCE):
            assert (await waiting)["data"][0]["sequence"] == 1


async def test_other_types_do_not_end_it_and_are_not_looked_through_again(gateway: Gateway) -> None:
    for seconds in (1, 10, 30):  # longer only where a full machine takes longer to send a message
        waiting = asyncio.create_task(gateway.call("GET", f"{EVENTS}?wait={seconds}&types=order_notifications"))
        await gateway.until_status(await gateway.send(**TEXT), "READ")
        if not waiting.done():
            break
    assert not waiting.done()
    page = (await waiting).json()
    assert (page["data"], page["paging"]["next"]) == ([], (await feed(gateway))[-1]["id"])


async def test_nothing_comes(gateway: Gateway) -> None:
    shorter = asyncio.create_task(asyncio.sleep(0.9))
    page = (await gateway.call("GET", f"{EVENTS}?wait=1")).json()
    assert (page["data"], page["paging"]["next"]) == ([], None)
    assert shorter.done(), "it did not wait its second"
    await gateway.until_status(await gateway.send(**TEXT), "READ")
    last = (await feed(gateway))[-1]["id"]
    page = (await gateway.call("GET", f"{EVENTS}?wait=1&after={last}")).json()
    assert (page["data"], page["paging"]["next"]) == ([], last)


@for_each("wait", ["31", "-1", "", "1.5", "1e1", "0030", "x"])
async def test_too_long_and_nonsense(gateway: Gateway, wait: str) -> None:
    check_refused(await gateway.call("GET", f"{EVENTS}?wait={wait}"), 422, "invalid_field", "wait")


@for_each("wait", ["0", "30", "030"])
async def test_as_long_as_may_be(gateway: Gateway, wait: str) -> None:
    await gateway.send(**TEXT)
    assert (await gateway.call("GET", f"{EVENTS}?wait={wait}")).status == 200
