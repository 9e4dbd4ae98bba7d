"""Deliveries by HTTP class and message, and the figures of an endpoint by hour."""

import pytest

from gatepost.model import ids
from gatepost.store.deliveries import figures
from tests.conftest import Answer, Receiver
from tests.gateway.checks import TEXT, check_refused
from tests.gateway.failing_webhooks import HOOKS, LOG, create_webhook, failed_delivery, read_log, until_delivery
from tests.running_gateway import Gateway


async def test_by_http_class_and_message(frozen: Gateway, receiver: Receiver) -> None:
    hook = await create_webhook(frozen, receiver.url + "/hook")
    failed = (await failed_delivery(frozen, receiver, hook))["id"]
    receiver.answer = Answer(200)
    sent = await frozen.send(**TEXT)
    messages = (await frozen.call("GET", "/api/v1/messages")).json()["data"]
    other = next(one["key"]["id"] for one in messages if one["key"]["id"] != sent)
    delivered = next(one["id"] for one in await read_log(frozen, f"?message={sent}"))
    await until_delivery(frozen, delivered, "delivered")
    for query, expected in {
        "http=5xx": {failed},
        "http=2xx": {delivered},
        "http=2xx,5xx": {failed, delivered},
        "http=4xx,none,3xx": set(),
        f"message={other}": {failed},
        f"message={sent}&http=5xx": set(),
        f"message={sent}&http=2xx&type=message_notification": {delivered},
        f"message={sent}&limit=1": {delivered},
    }.items():
        assert {one["id"] for one in await read_log(frozen, f"?{query}")} == expected, query
    async with frozen.db.connection() as conn:
        await conn.execute("UPDATE delivery_attempts SET status = NULL WHERE status = 500")
    assert {one["id"] for one in await read_log(frozen, "?http=none")} == {failed}


async def test_bad_filters(gateway: Gateway) -> None:
    for query in ("http=6xx", "http=", "http=2xx,x"):
        check_refused(await gateway.call("GET", f"{LOG}?{query}"), 422, "invalid_field", "http", query)
    for message in ("x", ids.message_id(ids.ZERO)):
        check_refused(await gateway.call("GET", f"{LOG}?message={message}"), 404, "not_found")


async def test_figures_by_hour(frozen: Gateway, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    hook = await create_webhook(frozen, receiver.url + "/hook")
    path = f"{HOOKS}/{hook}/figures"
    hours = (await frozen.call("GET", path)).json()["data"]
    assert len(hours) == 24
    assert {(one["delivered"], one["failed"], one["p50_ms"], one["complete"]) for one in hours} == {(0, 0, None, True)}
    assert [one["hour"] for one in hours] == sorted({one["hour"] for one in hours})
    await failed_delivery(frozen, receiver, hook)
    last = (await frozen.call("GET", path)).json()["data"][-1]
    assert (last["delivered"], last["failed"], last["complete"]) == (0, 1, True)
    assert last["p95_ms"] >= last["p50_ms"] > 0
    monkeypatch.setattr(figures, "SAMPLE", 1)
    assert (await frozen.call("GET", path)).json()["data"][-1]["complete"] is False
    for unknown in ("we_1", ids.format_id("we", ids.ZERO)):
        check_refused(await frozen.call("GET", f"{HOOKS}/{unknown}/figures"), 404, "not_found")
