"""Recoveries in the API: an endpoint gets every event that it missed, once."""

from collections import Counter
from typing import Any

import pytest

from gatepost.model.event import TYPES
from tests.conftest import Answer, Receiver
from tests.gateway.checks import TEXT, check_refused, feed, until
from tests.gateway.failing_webhooks import HOOKS, create_webhook, failed_delivery, give_up, until_logged
from tests.running_gateway import Gateway


async def recovered(gateway: Gateway, hook: str, **option: Any) -> Any:
    """Begins a recovery, and waits for its end."""
    answer = await gateway.call("POST", f"{HOOKS}/{hook}/recover", {"since": "2026-01-01", **option})
    assert answer.status == 201, answer.body
    begun = answer.json()["data"]

    async def done() -> Any:
        found = (await gateway.call("GET", f"{HOOKS}/{hook}/recoveries/{begun['id']}")).json()["data"]
        return found if found["status"] == "done" else None

    return await until(done)


@pytest.mark.parametrize("ordered", [False, True])
async def test_an_endpoint_that_was_off_gets_every_event_once(
    gateway: Gateway, receiver: Receiver, ordered: bool
) -> None:
    hook = await create_webhook(gateway, receiver.url, events=dict.fromkeys(TYPES, True), ordered=ordered)
    await gateway.until_status(await gateway.send(**TEXT), "READ")
    await receiver.wait_for(6)
    await gateway.call("PATCH", f"{HOOKS}/{hook}", {"active": False})
    sent = [await gateway.send(phone=f"551199999000{n % 3}", body=f"{n}") for n in range(9)]
    for id_ in sent:
        await gateway.until_status(id_, "READ")
    await gateway.call("PATCH", f"{HOOKS}/{hook}", {"active": True})
    await gateway.until_status(await gateway.send(**TEXT), "READ")
    events = [event for event in await feed(gateway) if event["type"] in TYPES]  # that it was off is not among them
    missing = len(events) - 6 - 4
    done = await recovered(gateway, hook)
    assert (done["recovered"], done["progress"], done["statuses"]) == (missing, 1.0, None)
    requests = await receiver.wait_for(len(events))
    seen = Counter(request.json()["id"] for request in requests)
    assert seen == Counter(event["id"] for event in events)
    await until(lambda: _none_waits(gateway))
    if ordered:
        about: dict[str, list[int]] = {}
        for request in requests[6:]:
            event = request.json()
            if event["data"].get("key"):
                about.setdefault(event["data"]["key"]["remoteJid"], []).append(event["sequence"])
        assert sorted(map(len, about.values())) == [4, 12, 12, 12]
        assert all(line == sorted(line) for line in about.values())
    assert (await recovered(gateway, hook))["recovered"] == 0
    assert len(receiver.requests) == len(events)


async def _none_waits(gateway: Gateway) -> bool:
    async with gateway.db.connection() as conn:
        return not await conn.fetchval("SELECT count(*) FROM delivery_retries")


async def test_what_was_given_up_and_dropped_comes_back(frozen: Gateway, receiver: Receiver) -> None:
    hook = await create_webhook(frozen, receiver.url)
    await failed_delivery(frozen, receiver, hook)
    await give_up(frozen, hook)
    receiver.answer = Answer()
    assert (await recovered(frozen, hook, statuses=["dropped", "missing"]))["recovered"] == 0
    assert (await recovered(frozen, hook, until="2026-01-02"))["recovered"] == 0
    assert (await recovered(frozen, hook, types=["message_notification"]))["recovered"] == 1
    await until_logged(frozen, 1, "?status=delivered")
    assert (await recovered(frozen, hook, statuses=["delivered"]))["recovered"] == 1
    await receiver.wait_for(3)


async def test_a_recovery_is_begun_once(gateway: Gateway, receiver: Receiver) -> None:
    hook = await create_webhook(gateway, receiver.url)
    path, key = f"{HOOKS}/{hook}/recover", {"idempotency-key": "once"}
    first = await gateway.call("POST", path, {"since": "2026-01-01"}, headers=key)
    again = await gateway.call("POST", path, {"since": "2026-01-01"}, headers=key)
    assert (first.status, first.body) == (again.status, again.body)
    assert again.headers["idempotent-replayed"] == "true"
    other = await gateway.call("POST", path, {"since": "2026-01-02"}, headers=key)
    check_refused(other, 422, "idempotency_key_reused")
    page = (await gateway.call("GET", f"{HOOKS}/{hook}/recoveries")).json()
    assert [one["id"] for one in page["data"]] == [first.json()["data"]["id"]]
    assert page["paging"]["next"] is None


async def test_recoveries_that_cannot_be(gateway: Gateway, receiver: Receiver) -> None:
    hook = await create_webhook(gateway, receiver.url)
    path = f"{HOOKS}/{hook}/recover"
    wrong: list[tuple[Any, str]] = [
        ({}, "since"),
        ({"since": "soon"}, "since"),
        ({"since": "2999-01-01"}, "since"),
        ({"since": "2026-01-02", "until": "2026-01-01"}, "until"),
        ({"since": "2026-01-01", "types": ["order_notifications"]}, "types[0]"),
        ({"since": "2026-01-01", "statuses": ["canceled"]}, "statuses"),
        ({"since": "2026-01-01", "status": "exhausted"}, "status"),
    ]
    for body, field in wrong:
        check_refused(await gateway.call("POST", path, body), 422, "invalid_field", field, about=body)
    await gateway.call("PATCH", f"{HOOKS}/{hook}", {"active": False})
    check_refused(await gateway.call("POST", path, {"since": "2026-01-01"}), 409, "wrong_state")
    stranger = await gateway.new_stranger()
    for key, at in ((stranger, hook), (gateway.key, "x"), (gateway.key, "we_" + "0" * 32)):
        for method, rest, body in (
            ("POST", "recover", {"since": "2026-01-01"}),
            ("GET", "recoveries", None),
            ("GET", f"recoveries/rec_{'0' * 32}", None),
        ):
            check_refused(await gateway.call(method, f"{HOOKS}/{at}/{rest}", body, key=key), 404, "not_found")
    check_refused(await gateway.call("GET", f"{HOOKS}/{hook}/recoveries/x"), 404, "not_found")
