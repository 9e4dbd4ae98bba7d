"""Webhook secrets in the API: shown once, rotated with both valid for a while, used to verify deliveries."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
import pytest

from gatepost.admin.headers import seal_headers
from gatepost.admin.signing import make_secret, seal_signing_secrets
from gatepost.admin.vault import Vault
from gatepost.webhooks.signature import signature_headers
from gatepost_client import verify_webhook
from tests.conftest import Answer, Receiver
from tests.gateway.checks import check_refused
from tests.movable_clock import MovableClock
from tests.running_gateway import Gateway, running_gateway

HOOKS = "/api/v1/webhooks"
WEEK = 604_800
URL = "http://127.0.0.1:54321/"


async def made(gateway: Gateway, **fields: Any) -> Any:
    answer = await gateway.call("POST", HOOKS, {"url": URL, **fields})
    assert answer.status == 201, answer.body
    return answer.json()["data"]


async def rotated(gateway: Gateway, hook: str, **options: Any) -> Any:
    answer = await gateway.call("POST", f"{HOOKS}/{hook}/rotate-secret", options)
    assert answer.status == 200, answer.body
    assert answer.json()["message"] == "Secret rotated"
    return answer.json()["data"]


async def shown(gateway: Gateway, hook: str) -> Any:
    data = (await gateway.call("GET", f"{HOOKS}/{hook}")).json()["data"]
    assert data in (await gateway.call("GET", HOOKS)).json()["data"]
    return data


async def test_a_secret_is_shown_once_and_its_time_always(database_url: str) -> None:
    clock = MovableClock(datetime(2026, 11, 15, 10, 0, tzinfo=UTC))
    async with running_gateway(database_url, clock=clock) as gateway:
        hook = await made(gateway)
        assert (hook["signing"], hook["public_key"]) == ("v1", None)
        assert hook["secrets"] == [{"signing": "v1", "public_key": None, "until": None}]
        second = await rotated(gateway, hook["id"])
        third = await rotated(gateway, hook["id"], overlap=3600, signing="v1a")
        assert second["secret"].startswith("whsec_")
        assert third["secret"] == third["public_key"] == third["secrets"][0]["public_key"]
        assert third["secret"].startswith("whpk_")
        assert [one["until"] for one in second["secrets"]] == [None, "2026-11-16T10:00:00.000Z"]
        assert [one["signing"] for one in third["secrets"]] == ["v1a", "v1", "v1"]
        assert [one["until"] for one in third["secrets"]] == [None, *["2026-11-15T11:00:00.000Z"] * 2]
        now = await shown(gateway, hook["id"])
        assert now == {name: value for name, value in third.items() if name != "secret"}
        text = str(now)
        assert "whsk_" not in text
        assert hook["secret"] not in text
        assert second["secret"] not in text
        clock.advance(3599)
        assert len((await shown(gateway, hook["id"]))["secrets"]) == 3
        clock.advance(1)
        assert len((await shown(gateway, hook["id"]))["secrets"]) == 1


async def test_an_endpoint_may_begin_with_a_public_key(gateway: Gateway) -> None:
    hook = await made(gateway, signing="v1a")
    assert hook["secret"] == hook["public_key"]
    check_refused(await gateway.call("POST", HOOKS, {"url": URL, "signing": "v2"}), 422, "invalid_field", "signing")
    change = {"signing": "v1"}  # only a rotation may change it
    check_refused(await gateway.call("PATCH", f"{HOOKS}/{hook['id']}", change), 422, "invalid_field", "signing")


async def test_bad_rotations_change_nothing(gateway: Gateway) -> None:
    hook = (await made(gateway))["id"]
    before = await shown(gateway, hook)
    path = f"{HOOKS}/{hook}/rotate-secret"
    for body, field in (
        ({"overlap": -1}, "overlap"),
        ({"overlap": WEEK + 1}, "overlap"),
        ({"overlap": 10**30}, "overlap"),
        ({"overlap": 1.5}, "overlap"),
        ({"overlap": "1h"}, "overlap"),
        ({"overlap": None}, "overlap"),
        ({"signing": "v2"}, "signing"),
        ({"secret": "whsec_mine"}, "secret"),
    ):
        check_refused(await gateway.call("POST", path, body), 422, "invalid_field", field, about=body)
    check_refused(await gateway.call("POST", path, raw=b"{"), 400, "malformed_json")
    check_refused(await gateway.call("POST", f"{HOOKS}/we_{'0' * 32}/rotate-secret", {}), 404, "not_found")
    assert await shown(gateway, hook) == before
    for overlap in (0, 1, WEEK - 1, WEEK):
        await rotated(gateway, hook, overlap=overlap)


async def test_an_eleventh_live_secret_is_refused(gateway: Gateway) -> None:
    hook = (await made(gateway))["id"]
    for count in range(2, 11):
        assert len((await rotated(gateway, hook))["secrets"]) == count
    before = await shown(gateway, hook)
    answer = await gateway.call("POST", f"{HOOKS}/{hook}/rotate-secret", {})
    check_refused(answer, 409, "wrong_state")
    assert "at most 10" in answer.json()["message"]
    assert await shown(gateway, hook) == before
    assert len((await rotated(gateway, hook, overlap=0))["secrets"]) == 1


# -- is it genuine? ---------------------------------------------------------------------------------------------------


async def judged(gateway: Gateway, hook: str, headers: dict[str, str], body: str) -> Any:
    answer = await gateway.call("POST", f"{HOOKS}/{hook}/verify", {"headers": headers, "body": body})
    assert answer.status == 200, answer.body
    verdict = answer.json()["data"]
    assert answer.json()["message"] == ("Genuine" if verdict["valid"] else "Not genuine")
    return verdict


async def test_a_delivery_is_judged_by_the_secrets_of_its_endpoint(database_url: str) -> None:
    clock = MovableClock(datetime(2026, 11, 15, 10, 0, tzinfo=UTC))
    stamp, body = int(clock.now().timestamp()), '{"text":"Olá"}'
    async with running_gateway(database_url, clock=clock) as gateway:
        hook, other = await made(gateway), await made(gateway)
        old = signature_headers([hook["secret"]], "evt_1", stamp, body.encode())
        at = {"timestamp": "2026-11-15T10:00:00.000Z", "age_seconds": 0}
        good = {"valid": True, "reason": None, "signed_by": "current", **at}
        assert await judged(gateway, hook["id"], old, body) == good
        strange = await judged(gateway, other["id"], old, body)
        assert (strange["valid"], strange["signed_by"], strange["age_seconds"]) == (False, None, 0)
        assert "No signature matches" in strange["reason"]
        new = (await rotated(gateway, hook["id"], overlap=200))["secret"]
        assert await judged(gateway, hook["id"], old, body) == good | {"signed_by": "previous"}
        clock.advance(200)
        late = await judged(gateway, hook["id"], old, body)
        assert (late["valid"], late["signed_by"], late["age_seconds"]) == (False, "previous", 200)
        assert "has expired" in late["reason"]
        fresh = signature_headers([new], "evt_1", stamp, body.encode())
        clock.advance(101)
        aged = await judged(gateway, hook["id"], fresh, body)
        assert (aged["valid"], aged["signed_by"], aged["age_seconds"]) == (False, "current", 301)


async def test_whatever_is_given_to_judge(gateway: Gateway) -> None:
    hook = (await made(gateway))["id"]
    verdict = await judged(gateway, hook, {}, "")
    assert verdict == {
        "valid": False,
        "reason": "The header webhook-id is missing.",
        "signed_by": None,
        "timestamp": None,
        "age_seconds": None,
    }
    headers = {"webhook-id": "x", "webhook-timestamp": "9" * 11, "webhook-signature": "v1,x"}
    assert (await judged(gateway, hook, headers, "😀"))["valid"] is False
    path = f"{HOOKS}/{hook}/verify"
    for body, field in (
        ({"body": ""}, "headers"),
        ({"headers": {}}, "body"),
        ({"headers": {"a": 1}, "body": ""}, "headers.a"),
    ):
        check_refused(await gateway.call("POST", path, body), 422, "invalid_field", field, about=body)
    check_refused(await gateway.call("POST", f"{HOOKS}/nobody/verify", {"headers": {}, "body": ""}), 404, "not_found")


async def test_an_endpoint_whose_key_is_lost_gets_a_new_secret_and_stops_no_other(
    gateway: Gateway, receiver: Receiver
) -> None:
    lost = await made(gateway, url=f"{receiver.url}/lost", headers={"X-Shop": "7"})
    endpoint_id, lost_key = UUID(lost["id"].removeprefix("we_")), Vault(bytes(32))
    await gateway.db.execute(
        "UPDATE endpoints SET secret = $2, headers = $3 WHERE id = $1",
        endpoint_id,
        seal_signing_secrets(lost_key, endpoint_id, [make_secret("v1")]),
        msgspec.json.encode(seal_headers(lost_key, endpoint_id, {"X-Shop": "7"})).decode(),
    )
    await made(gateway, url=f"{receiver.url}/other")
    await gateway.send(phone="5511999998888", body="Hello")
    assert {one.path for one in await receiver.wait_for(2)} == {"/other"}
    seen = await shown(gateway, lost["id"])
    assert (seen["secrets"], seen["headers"]) == ([], {"X-Shop": "***"})
    secret = (await rotated(gateway, lost["id"]))["secret"]
    answer = await gateway.call("PATCH", f"{HOOKS}/{lost['id']}", {"headers": {"X-Shop": "8"}})
    assert answer.json()["data"]["headers"] == {"X-Shop": "8"}
    while not (arrived := [one for one in receiver.requests if one.path == "/lost"]):
        await receiver.wait_for(len(receiver.requests) + 1)
    assert arrived[0].headers["x-shop"] == "8"
    assert verify_webhook(secret, arrived[0].headers, arrived[0].body).id == arrived[0].headers["webhook-id"]


# -- a test event -----------------------------------------------------------------------------------------------------


async def tried(gateway: Gateway, hook: str, **options: Any) -> Any:
    answer = await gateway.call("POST", f"{HOOKS}/{hook}/test", options)
    assert answer.status == 200, answer.body
    trial = answer.json()["data"]
    assert answer.json()["message"] == ("Delivered" if trial["delivered"] else "Not delivered")
    return trial


@pytest.mark.parametrize("state", ["active", "paused", "disabled"])
async def test_a_test_event_reaches_an_endpoint_in_any_state(gateway: Gateway, receiver: Receiver, state: str) -> None:
    hook = await made(gateway, url=receiver.url + "/hook", headers={"X-Shop": "7"})
    second = (await rotated(gateway, hook["id"], signing="v1a"))["secret"]
    async with gateway.db.connection() as conn:
        await conn.execute("UPDATE endpoints SET state = $1", state)
    trial = await tried(gateway, hook["id"])
    (request,) = receiver.requests
    assert (trial["delivered"], trial["status"], trial["error"]) == (True, 200, None)
    assert trial["latency_ms"] > 0
    assert trial["request"]["url"] == receiver.url + "/hook"
    assert trial["request"]["body"] == request.body.decode()
    assert request.headers["x-shop"] == trial["request"]["headers"]["X-Shop"] == "7"
    event = request.json()
    assert (event["type"], event["sequence"], event["test"]) == ("message_notification", 0, True)
    assert (event["channel"]["id"], event["channel"]["phone"]) == (gateway.channel, "15550001111")
    assert event["id"] == request.headers["webhook-id"]
    for secret in (hook["secret"], second):
        assert verify_webhook(secret, request.headers, request.body).id == event["id"]
    # It leaves no trace: neither in the feed, nor in the log, nor in how the endpoint stands.
    assert (await gateway.call("GET", "/api/v1/events")).json()["data"] == []
    assert (await gateway.call("GET", f"{HOOKS}/{hook['id']}/attempts")).json()["data"] == []
    assert (await shown(gateway, hook["id"]))["state"] == state
    assert len(receiver.requests) == 1


async def test_a_test_event_of_every_type_with_the_options_of_the_endpoint(
    gateway: Gateway, receiver: Receiver
) -> None:
    events = {"message_notification": False, "system_notification": True}
    hook = await made(gateway, url=receiver.url, events=events, batch={"most": 5, "wait": 0.5})
    for type_ in (None, "order_notifications", "system_notification", "message_notification"):
        trial = await tried(gateway, hook["id"], **({"type": type_} if type_ else {}))
        (event,) = receiver.requests[-1].json()["events"]
        assert event["type"] == (type_ or "ack_notification")
        assert trial["request"]["headers"]["webhook-id"].startswith("bat_")
    for wrong in ("smoke_signals", 7, ""):
        answer = await gateway.call("POST", f"{HOOKS}/{hook['id']}/test", {"type": wrong})
        check_refused(answer, 422, "invalid_field", "type", about=wrong)
    check_refused(await gateway.call("POST", f"{HOOKS}/{hook['id']}/test", {"kind": "x"}), 422, "invalid_field", "kind")
    assert len(receiver.requests) == 4


async def test_a_failed_test_event_shows_the_whole_error(gateway: Gateway, receiver: Receiver) -> None:
    hook = await made(gateway, url=receiver.url)
    receiver.answer = Answer(500, {"X-Said": "no"}, b"x" * 65_537)
    trial = await tried(gateway, hook["id"])
    assert (trial["delivered"], trial["status"], trial["answer"]["truncated"]) == (False, 500, True)
    assert trial["answer"]["body"] == "x" * 65_536
    assert ["x-said", "no"] in trial["answer"]["headers"]
    receiver.answer = Answer(204, {}, b"")
    assert (await tried(gateway, hook["id"]))["delivered"] is True
    away = await tried(gateway, (await made(gateway, url="http://127.0.0.1:1/"))["id"])
    assert (away["delivered"], away["status"], away["answer"]["body"]) == (False, None, "")
    assert "could not be connected to" in away["error"]
    before = len(receiver.requests)
    async with gateway.db.connection() as conn:
        await conn.execute("UPDATE endpoints SET url = 'http://169.254.169.254/'")
    forbidden = await tried(gateway, hook["id"])
    assert "metadata" in forbidden["error"]
    assert len(receiver.requests) == before


async def test_a_process_without_an_owner_can_test_too(database_url: str, receiver: Receiver) -> None:
    async with running_gateway(database_url, role="api") as gateway:
        trial = await tried(gateway, (await made(gateway, url=receiver.url))["id"])
    assert trial["delivered"] is True
    assert msgspec.json.decode(trial["request"]["body"])["test"] is True
