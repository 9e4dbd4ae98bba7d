"""Webhooks that fail, and the log of their deliveries: what the tests of retries and recoveries share."""

from datetime import timedelta
from typing import Any

from gatepost.model.event import TYPES
from tests.conftest import Answer, Receiver
from tests.gateway.checks import TEXT, until
from tests.house import House

HOOKS, LOG = "/api/v1/webhooks", "/api/v1/deliveries"
MESSAGES = dict.fromkeys(TYPES, False) | {"message_notification": True}
BROKEN = Answer(500, {"X-Said": "no", "Set-Cookie": "id=7"}, b"out of order")
DAY = timedelta(days=1)


async def make(house: House, url: str, **fields: Any) -> str:
    answer = await house.call("POST", HOOKS, {"url": url, "events": MESSAGES, **fields})
    assert answer.status == 201, answer.body
    hook: str = answer.json()["data"]["id"]
    return hook


async def look(house: House, path: str = "") -> Any:
    answer = await house.call("GET", LOG + path)
    assert answer.status == 200, answer.body
    return answer.json()["data"]


async def listed(house: House, count: int, query: str = "") -> Any:
    """The log, once so many deliveries are in it."""

    async def found() -> Any:
        log = await look(house, query)
        return log if len(log) == count else None

    return await until(found)


async def settled(house: House, delivery: str, status: str) -> Any:
    """A delivery, once it stands so."""

    async def found() -> Any:
        one = await look(house, f"/{delivery}")
        return one if one["status"] == status else None

    return await until(found)


async def failed(house: House, receiver: Receiver, hook: str, attempts: int = 1) -> Any:
    """A delivery that has failed so often."""
    receiver.answer = BROKEN
    await house.send(**TEXT)

    async def found() -> Any:
        log = await look(house, f"?endpoint={hook}")
        return log[0] if log and log[0]["attempt_count"] == attempts else None

    return await until(found)


async def give_up(house: House, hook: str) -> None:
    """As after 72 hours of failure."""
    async with house.db.transaction() as conn:
        await conn.execute("UPDATE deliveries SET state = 2, attempts = 10, next_at = NULL, settled_at = now()")
        await conn.execute("DELETE FROM delivery_retries")
    assert {one["status"] for one in await look(house, f"?endpoint={hook}")} == {"exhausted"}
