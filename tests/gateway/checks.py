"""Checks for tests of the REST API: the shape of an error, and the rows in the database."""

import asyncio
from collections.abc import Callable
from typing import Any

from tests.patience import PATIENCE, patience
from tests.running_gateway import Answer, Gateway

SEND = "/api/v1/message/send"
PERSON = "5511999998888"
TEXT = {"phone": PERSON, "body": "Hello"}
# What was granted, without what channels have not used of it.
USED = """SELECT coalesce((SELECT sum(used) FROM account_usage), 0)
                 - coalesce((SELECT sum(slice_left) FROM channel_heads), 0)"""
_COUNTED = ("messages", "contacts", "conversations", "scheduled_messages", "idempotency_keys")


def check_refused(answer: Answer, status: int, code: str, field: str | None = None, about: Any = "") -> Any:
    """The one shape of every failure; returns its `error`."""
    assert answer.status == status, (about, answer.status, answer.body)
    body = answer.json()
    error = body["error"]
    assert body["success"] is False
    assert body["message"]
    assert error["code"] == code, (about, answer.body)
    assert [problem["field"] for problem in error["fields"]] == ([field] if field else []), (about, answer.body)
    assert error["request_id"] == answer.headers["x-request-id"]
    assert error["docs"] == f"/docs/reference/errors#{code}"
    assert "data" not in body
    return error


async def written(gateway: Gateway) -> dict[str, int]:
    """How much there is of everything that a send would write at once. Its statuses come when they come."""
    async with gateway.db.connection() as conn:
        counts = {table: await conn.fetchval(f"SELECT count(*) FROM {table}") for table in _COUNTED}
        counts["events"] = await conn.fetchval("SELECT count(*) FROM events WHERE type <> 'ack_notification'")
        counts["used"] = int(await conn.fetchval(USED))
    return counts


async def feed(gateway: Gateway, key: str | None = None) -> list[Any]:
    """All events of a channel."""
    events: list[Any] = []
    after = ""
    while True:
        page = (await gateway.call("GET", f"/api/v1/events?limit=100{after}", key=key)).json()
        if not page["data"]:
            return events
        events += page["data"]
        after = f"&after={page['paging']['next']}"


async def statuses(gateway: Gateway, message_id: str) -> list[str]:
    """What the feed says of one message, in order."""
    return [event["data"]["status"] for event in await feed(gateway) if _is_about(event, message_id)]


def _is_about(event: Any, message_id: str) -> bool:
    return bool(event["data"].get("key", {}).get("id") == message_id)


async def until(true: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """Waits until an awaited answer is true; returns it."""
    found: Any = None
    async with patience(lambda: f"{true.__qualname__} gives {found!r}", seconds):
        while not (found := await true()):
            await asyncio.sleep(0.02)
    return found
