"""Failing webhooks and the log of their deliveries, for tests of retries and recoveries."""

from datetime import timedelta
from typing import Any

from gatepost.model.event import TYPES
from tests.conftest import Answer, Receiver
from tests.gateway.checks import TEXT, until
from tests.running_gateway import Gateway

HOOKS, LOG = "/api/v1/webhooks", "/api/v1/deliveries"
MESSAGES = dict.fromkeys(TYPES, False) | {"message_notification": True}
BROKEN = Answer(500, {"X-Said": "no", "Set-Cookie": "id=7"}, b"out of order")
DAY = timedelta(days=1)


async def create_webhook(gateway: Gateway, url: str, **fields: Any) -> str:
    answer = await gateway.call("POST", HOOKS, {"url": url, "events": MESSAGES, **fields})
    assert answer.status == 201, answer.body
    hook: str = answer.json()["data"]["id"]
    return hook


async def read_log(gateway: Gateway, path: str = "") -> Any:
    answer = await gateway.call("GET", LOG + path)
    assert answer.status == 200, answer.body
    return answer.json()["data"]


async def until_logged(gateway: Gateway, count: int, query: str = "") -> Any:
    """Wait until the log has a number of deliveries; return it."""

    async def found() -> Any:
        log = await read_log(gateway, query)
        return log if len(log) == count else None

    return await until(found)


async def until_delivery(gateway: Gateway, delivery: str, status: str) -> Any:
    """Wait until a delivery has a status; return it."""

    async def found() -> Any:
        one = await read_log(gateway, f"/{delivery}")
        return one if one["status"] == status else None

    return await until(found)


async def failed_delivery(gateway: Gateway, receiver: Receiver, hook: str, attempts: int = 1) -> Any:
    """Return a delivery after a number of failed attempts."""
    receiver.answer = BROKEN
    await gateway.send(**TEXT)

    async def found() -> Any:
        log = await read_log(gateway, f"?endpoint={hook}")
        return log[0] if log and log[0]["attempt_count"] == attempts else None

    return await until(found)


async def give_up(gateway: Gateway, hook: str) -> None:
    """As after 72 hours of failure."""
    async with gateway.db.transaction() as conn:
        await conn.execute("UPDATE deliveries SET state = 2, attempts = 10, next_at = NULL, settled_at = now()")
        await conn.execute("DELETE FROM delivery_retries")
    assert {one["status"] for one in await read_log(gateway, f"?endpoint={hook}")} == {"exhausted"}
