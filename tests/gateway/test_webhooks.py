"""Webhook endpoints in the API: created, changed, delivered to, logged, and hidden from other accounts."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from standardwebhooks.webhooks import Webhook

from gatepost.model.event import SYSTEM, TYPES
from tests.conftest import Answer, Received, Receiver
from tests.gateway.checks import PERSON, TEXT, check_refused, feed, until
from tests.movable_clock import MovableClock
from tests.running_gateway import Gateway, running_gateway

HOOKS = "/api/v1/webhooks"
ALL_ON = dict.fromkeys(TYPES, True) | {SYSTEM: False}
MESSAGES = dict.fromkeys(TYPES, False) | {"message_notification": True}


async def _make(gateway: Gateway, url: str, **fields: Any) -> Any:
    answer = await gateway.call("POST", HOOKS, {"url": url, **fields})
    assert answer.status == 201, answer.body
    return answer.json()["data"]


async def _attempts(gateway: Gateway, hook: str, query: str = "") -> Any:
    return (await gateway.call("GET", f"{HOOKS}/{hook}/attempts{query}")).json()


async def _logged(gateway: Gateway, hook: str, count: int) -> Any:
    """The log of an endpoint, once it has so many attempts."""

    async def found() -> Any:
        log = (await _attempts(gateway, hook))["data"]
        return log if len(log) == count else None

    return await until(found)


async def test_make_look_change_delete(gateway: Gateway, receiver: Receiver) -> None:
    url = receiver.url + "/hook"
    made = await gateway.call("POST", HOOKS, {"url": url})
    assert made.json()["message"] == "Webhook created"
    hook = made.json()["data"]
    assert hook["id"].startswith("we_")
    assert hook["secret"].startswith("whsec_")
    assert (hook["url"], hook["events"], hook["headers"]) == (url, ALL_ON, {})
    assert (hook["active"], hook["state"], hook["reason"]) == (True, "active", None)
    shown = {name: value for name, value in hook.items() if name != "secret"}
    assert (await gateway.call("GET", f"{HOOKS}/{hook['id']}")).json()["data"] == shown
    listed = (await gateway.call("GET", HOOKS)).json()
    assert (listed["data"], listed["paging"]) == ([shown], {"next": None})
    change = {"url": url + "/2", "events": {"ack_notification": False}, "headers": {"X-Shop": "1"}, "active": False}
    answer = await gateway.call("PATCH", f"{HOOKS}/{hook['id']}", change)
    assert (answer.status, answer.json()["message"]) == (200, "Webhook changed")
    changed = answer.json()["data"]
    assert changed["url"] == url + "/2"
    assert changed["events"] == ALL_ON | {"ack_notification": False}
    assert changed["headers"] == {"X-Shop": "1"}
    assert (changed["active"], changed["state"], changed["reason"]) == (False, "disabled", "Switched off by its owner.")
    assert changed["updated_at"] >= changed["created_at"] == hook["created_at"]
    on = (await gateway.call("PATCH", f"{HOOKS}/{hook['id']}", {"active": True})).json()["data"]
    assert (on["active"], on["reason"], on["url"]) == (True, None, url + "/2")
    assert (await gateway.call("PATCH", f"{HOOKS}/{hook['id']}", {})).json()["data"]["events"] == changed["events"]
    assert "secret" not in answer.json()["data"]
    gone = await gateway.call("DELETE", f"{HOOKS}/{hook['id']}")
    assert (gone.status, gone.json()["data"]) == (200, None)
    for method in ("GET", "DELETE"):
        check_refused(await gateway.call(method, f"{HOOKS}/{hook['id']}"), 404, "not_found")
    assert (await gateway.call("GET", HOOKS)).json()["data"] == []


async def test_bad_endpoints(gateway: Gateway) -> None:
    url = "http://127.0.0.1:54321/"
    cases: list[tuple[Any, str, str]] = [
        ({}, "invalid_field", "url"),
        ({"url": 7}, "invalid_field", "url"),
        ({"url": url, "secret": "mine"}, "invalid_field", "secret"),
        ({"url": url, "events": ["ack_notification"]}, "invalid_field", "events"),
        ({"url": url, "events": {"ack_notification": 1}}, "invalid_field", "events.ack_notification"),
        ({"url": url, "events": {"smoke_signals": True}}, "invalid_field", "events.smoke_signals"),
        ({"url": url, "headers": {"Host": "x"}}, "invalid_field", "headers"),
        ({"url": url, "headers": {"webhook-id": "x"}}, "invalid_field", "headers"),
        ({"url": url, "headers": {"Bad Name": "x"}}, "invalid_field", "headers"),
        ({"url": url, "headers": {"X": "a\r\nY: b"}}, "invalid_field", "headers"),
        ({"url": url, "headers": {f"X-{n}": "x" for n in range(21)}}, "invalid_field", "headers"),
        ({"url": ""}, "forbidden_url", "url"),
        ({"url": "example.com/hook"}, "forbidden_url", "url"),
        ({"url": "ftp://example.com/"}, "forbidden_url", "url"),
        ({"url": "http://user:password@example.com/"}, "forbidden_url", "url"),
        ({"url": "http://127.0.0.1:5432/"}, "forbidden_url", "url"),
        ({"url": "http://127.0.0.1:54321/" + "x" * 2048}, "forbidden_url", "url"),
    ]
    for body, code, field in cases:
        check_refused(await gateway.call("POST", HOOKS, body), 422, code, field, about=body)
    check_refused(await gateway.call("POST", HOOKS, raw=b"{"), 400, "malformed_json")
    plain = {"content-type": "text/plain"}
    check_refused(await gateway.call("POST", HOOKS, {"url": url}, headers=plain), 415, "unsupported_media_type")
    assert (await gateway.call("GET", HOOKS)).json()["data"] == []
    hook = (await _make(gateway, url))["id"]
    for body, code, field in cases[1:]:
        check_refused(await gateway.call("PATCH", f"{HOOKS}/{hook}", body), 422, code, field, about=body)
    assert (await gateway.call("GET", f"{HOOKS}/{hook}")).json()["data"]["url"] == url


async def test_addresses_that_no_customer_may_name(parted_database_url: str) -> None:
    inside = ["127.0.0.1", "127.1", "0x7f000001", "2130706433", "localhost", "LOCALHOST.", "x.localhost", "0.0.0.0"]
    inside += ["169.254.169.254", "10.0.0.1", "192.168.1.1", "172.16.0.1", "100.64.0.1", "[::1]", "[::]", "[fd00::1]"]
    inside += ["[::ffff:127.0.0.1]", "[fe80::1]", "[64:ff9b::7f00:1]", "224.0.0.1", "255.255.255.255"]
    async with running_gateway(parted_database_url, webhooks__allow=[]) as gateway:
        for host in inside:
            answer = await gateway.call("POST", HOOKS, {"url": f"http://{host}:8080/hook"})
            check_refused(answer, 422, "forbidden_url", "url", about=host)
        assert (await gateway.call("GET", HOOKS)).json()["data"] == []
        hook = (await _make(gateway, "https://93.184.215.14/hook"))["id"]
        change = {"url": "http://169.254.169.254/latest/meta-data"}
        check_refused(await gateway.call("PATCH", f"{HOOKS}/{hook}", change), 422, "forbidden_url", "url")


async def test_switches_headers_and_signatures(gateway: Gateway, receiver: Receiver) -> None:
    only = dict.fromkeys(TYPES, False)
    acks = await _make(gateway, receiver.url + "/acks", events=only | {"ack_notification": True})
    messages = await _make(gateway, receiver.url + "/messages", events=MESSAGES, headers={"X-Shop": "7"})
    await _make(gateway, receiver.url + "/none", events=only)
    await gateway.until_status(await gateway.send(**TEXT), "READ")
    requests = await receiver.wait_for(4)
    by_path: dict[str, list[Received]] = {}
    for request in requests:
        by_path.setdefault(request.path, []).append(request)
    assert {path: len(found) for path, found in by_path.items()} == {"/acks": 3, "/messages": 1}
    assert {request.json()["type"] for request in by_path["/acks"]} == {"ack_notification"}
    (seen,) = by_path["/messages"]
    assert seen.json()["type"] == "message_notification"
    assert (seen.headers["x-shop"], seen.headers["content-type"]) == ("7", "application/json")
    assert Webhook(messages["secret"]).verify(seen.body, seen.headers) == seen.json()
    with pytest.raises(Exception, match="signature"):
        Webhook(acks["secret"]).verify(seen.body, seen.headers)
    asked_for = ("ack_notification", "message_notification")
    wanted = {event["id"] for event in await feed(gateway) if event["type"] in asked_for}
    assert {request.json()["id"] for request in requests} == wanted


async def test_an_endpoint_made_while_the_channel_is_busy(gateway: Gateway, receiver: Receiver) -> None:
    """One event, and silence after it: the new endpoint must be found without a further push."""
    await gateway.until_status(await gateway.send(**TEXT), "READ")
    hook = await _make(gateway, receiver.url + "/hook", events=MESSAGES)
    message_id = await gateway.send(**TEXT)
    (seen,) = await receiver.wait_for(1)
    assert seen.json()["data"]["key"]["id"] == message_id
    await gateway.call("PATCH", f"{HOOKS}/{hook['id']}", {"active": False})
    await gateway.until_status(await gateway.send(**TEXT), "READ")
    assert len(receiver.requests) == 1


async def test_the_log_of_attempts(gateway: Gateway, receiver: Receiver) -> None:
    receiver.answer = Answer(200, {"X-Said": "yes"}, "Danke ✓".encode())
    hook = await _make(gateway, receiver.url + "/hook", headers={"X-Shop": "7"})
    await gateway.until_status(await gateway.send(**TEXT), "READ")
    log = await _logged(gateway, hook["id"], 6)
    events = {event["id"]: event for event in await feed(gateway)}
    assert [events[attempt["event"]]["sequence"] for attempt in log] == [6, 5, 4, 3, 2, 1]
    for attempt in log:
        assert (attempt["number"], attempt["status"], attempt["error"]) == (1, 200, None)
        assert attempt["latency_ms"] > 0
        assert attempt["delivery"] == {"state": "delivered", "next_at": None}
        request, answer = attempt["request"], attempt["answer"]
        assert request["url"] == receiver.url + "/hook"
        assert request["headers"]["X-Shop"] == "***"
        assert request["headers"]["webhook-id"] == attempt["event"]
        assert events[attempt["event"]] == msgspec.json.decode(request["body"])
        assert answer["body"] == "Danke ✓"
        assert ["x-said", "yes"] in [list(header) for header in answer["headers"]]
    assert hook["secret"] not in str(log)
    pages, cursor = [], ""
    while True:
        page = await _attempts(gateway, hook["id"], f"?limit=4{cursor}")
        pages.append([attempt["event"] for attempt in page["data"]])
        if page["paging"]["next"] is None:
            break
        cursor = f"&cursor={page['paging']['next']}"
    assert [len(page) for page in pages] == [4, 2]
    assert [event for page in pages for event in page] == [attempt["event"] for attempt in log]
    for query, status, code, field in (
        ("?limit=0", 422, "invalid_field", "limit"),
        ("?limit=101", 422, "invalid_field", "limit"),
        ("?limit=x", 422, "invalid_field", "limit"),
        ("?cursor=nonsense", 400, "invalid_cursor", None),
        ("?cursor=", 400, "invalid_cursor", None),
        ("?cursor=W10", 400, "invalid_cursor", None),
    ):
        answer = await gateway.call("GET", f"{HOOKS}/{hook['id']}/attempts{query}")
        check_refused(answer, status, code, field, about=query)


async def test_a_failed_delivery_comes_again(database_url: str, receiver: Receiver) -> None:
    receiver.answer = lambda _: Answer(500, {}, b"broken") if len(receiver.requests) == 1 else Answer()
    clock = MovableClock(datetime.now(UTC))
    async with running_gateway(database_url, clock=clock) as gateway:
        hook = await _make(gateway, receiver.url + "/hook", events=MESSAGES)
        await gateway.send(**TEXT)
        (failed,) = await _logged(gateway, hook["id"], 1)
        assert (failed["number"], failed["status"], failed["answer"]["body"]) == (1, 500, "broken")
        assert failed["delivery"]["state"] == "pending"
        wait = datetime.fromisoformat(failed["delivery"]["next_at"]) - clock.now()
        assert timedelta(seconds=4) <= wait <= timedelta(seconds=6)
        clock.advance(6)
        await gateway.call("PATCH", f"{HOOKS}/{hook['id']}", {})
        first, second = await receiver.wait_for(2)
        log = await _logged(gateway, hook["id"], 2)
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert int(second.headers["webhook-timestamp"]) - int(first.headers["webhook-timestamp"]) == 6
    assert first.body == second.body
    for request in (first, second):
        Webhook(hook["secret"]).verify(request.body, request.headers)
    assert [(attempt["number"], attempt["status"]) for attempt in log] == [(2, 200), (1, 500)]
    assert {attempt["event"] for attempt in log} == {first.headers["webhook-id"]}
    assert {attempt["delivery"]["state"] for attempt in log} == {"delivered"}


async def test_an_endpoint_that_is_gone_is_switched_off(gateway: Gateway, receiver: Receiver) -> None:
    receiver.answer = Answer(410)
    hook = await _make(gateway, receiver.url + "/hook", events=MESSAGES)
    await gateway.send(**TEXT)

    async def off() -> Any:
        found = (await gateway.call("GET", f"{HOOKS}/{hook['id']}")).json()["data"]
        return found if not found["active"] else None

    found = await until(off)
    assert (found["state"], found["reason"]) == ("disabled", "The endpoint answered 410 Gone")
    await gateway.until_status(await gateway.send(**TEXT), "READ")
    assert len(receiver.requests) == 1
    receiver.answer = Answer()
    await gateway.call("PATCH", f"{HOOKS}/{hook['id']}", {"active": True})
    await gateway.send(phone=PERSON, body="Back again")
    back = (await receiver.wait_for(2))[1]
    assert back.json()["data"]["content"]["body"] == "Back again"


async def test_somebody_elses_endpoint_does_not_exist(gateway: Gateway, receiver: Receiver) -> None:
    stranger = await gateway.new_stranger()
    hook = await _make(gateway, receiver.url + "/mine")
    for method, rest, body in (
        ("GET", "", None),
        ("PATCH", "", {"url": receiver.url + "/theirs"}),
        ("DELETE", "", None),
        ("GET", "/attempts", None),
    ):
        answer = await gateway.call(method, f"{HOOKS}/{hook['id']}{rest}", body, key=stranger)
        check_refused(answer, 404, "not_found", about=(method, rest))
        for unknown in ("x", "we_", f"we_{'0' * 32}", hook["id"][3:]):
            answer = await gateway.call(method, f"{HOOKS}/{unknown}{rest}", body)
            check_refused(answer, 404, "not_found", about=(method, unknown))
    assert (await gateway.call("GET", HOOKS, key=stranger)).json()["data"] == []
    await gateway.until_status(await gateway.send(**TEXT), "READ")
    assert {request.path for request in await receiver.wait_for(6)} == {"/mine"}


async def test_at_most_twenty_endpoints(gateway: Gateway, receiver: Receiver) -> None:
    for number in range(20):
        await _make(gateway, f"{receiver.url}/{number}")
    answer = await gateway.call("POST", HOOKS, {"url": f"{receiver.url}/20"})
    check_refused(answer, 409, "wrong_state")
    assert "20" in answer.json()["message"]
    listed = (await gateway.call("GET", HOOKS)).json()["data"]
    assert [hook["url"] for hook in listed] == [f"{receiver.url}/{number}" for number in range(20)]
    await gateway.call("DELETE", f"{HOOKS}/{listed[0]['id']}")
    await _make(gateway, f"{receiver.url}/20")
