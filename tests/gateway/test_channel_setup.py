"""Channels that an owner creates: credentials are tested first, and are never shown."""

import asyncio
from typing import Any

from gatepost.admin import accounts
from gatepost.api.credential_test import CREDENTIAL_TESTS
from tests.gateway.checks import check_refused, until
from tests.gateway.people import Person, new_person
from tests.gateway.test_account import CHANNELS, LOG, read
from tests.running_gateway import Answer, Gateway, running_gateway

TEST = CHANNELS + "/test"
WABA = "200000000000007"
GIVEN = {"phone_number_id": "100000000000007", "waba_id": WABA, "token": "t0ken-7", "app_secret": "s3cret-7"}
OFFICIAL: dict[str, Any] = {"kind": "official", "name": "The bakery", **GIVEN}
QR: dict[str, Any] = {"kind": "qr", "name": "The phone", "phone": "15550003333"}


async def register(gateway: Gateway, **fields: Any) -> None:
    """Register the number at the sandbox."""
    number = {**GIVEN, "phone": "15550007777", "name": "Bakery Ltd"} | fields
    await gateway.sandbox("POST", "/control/numbers", number)


async def run_test(person: Person, **fields: Any) -> dict[str, Any]:
    answer = await person.call("POST", TEST, GIVEN | fields)
    assert answer.status == 200, answer.body
    data: dict[str, Any] = answer.json()["data"]
    return {check["name"]: check["ok"] for check in data["checks"]} | {"ok": data["ok"], "phone": data["phone"]}


async def test_each_check_says_what_is_wrong(gateway: Gateway) -> None:
    owner = await new_person(gateway)
    await register(gateway)
    names = ("token", "permissions", "number", "app_secret", "business_account", "subscription")
    fine = dict.fromkeys(names, True) | {"ok": True, "phone": "15550007777"}
    assert await run_test(owner) == fine
    dead = await run_test(owner, token="other")
    assert dead == dict.fromkeys(names[:5]) | {"token": False, "ok": False, "phone": None}
    assert await run_test(owner, app_secret="other") == fine | {"app_secret": False, "ok": False}
    missing = await run_test(owner, phone_number_id="1")
    assert (missing["number"], missing["token"], missing["app_secret"], missing["ok"]) == (False, True, None, False)
    hidden = await run_test(owner, waba_id="1")
    assert (hidden["business_account"], hidden["number"], hidden["ok"]) == (False, True, False)
    await gateway.new_channel(gateway.account_id, "15550009999", "100000000000009", waba_id="200000000000009")
    await register(gateway, scopes=["whatsapp_business_messaging"])
    narrow = await run_test(owner)
    assert (narrow["permissions"], narrow["business_account"], narrow["ok"]) == (False, False, False)
    await register(gateway, status="DISCONNECTED")
    assert await run_test(owner) == fine | {"number": False}, "it can be registered later"
    answer = await owner.call("POST", TEST, {key: value for key, value in GIVEN.items() if key != "waba_id"})
    account = answer.json()["data"]["checks"][4]
    assert (account["name"], account["ok"], account["required"]) == ("business_account", None, False)
    assert all(check["advice"] for check in answer.json()["data"]["checks"] if check["ok"] is False)


async def test_a_number_of_another_account_and_one_without_a_subscription(gateway: Gateway) -> None:
    owner = await new_person(gateway)
    await register(gateway)
    await register(gateway, phone_number_id="100000000000008", phone="15550008888", waba_id="200000000000008")
    assert (await run_test(owner, waba_id="200000000000008"))["business_account"] is False
    graph = f"{gateway.sandbox_url}/v25.0/{WABA}/subscribed_apps"
    await gateway.call("DELETE", graph, key=GIVEN["token"])
    found = await run_test(owner)
    assert (found["subscription"], found["ok"]) == (False, True)


async def test_an_official_channel_is_created_and_shows_no_secret(gateway: Gateway) -> None:
    owner = await new_person(gateway)
    await register(gateway)
    wrong = await owner.call("POST", CHANNELS, OFFICIAL | {"token": "dead-token"})
    check_refused(wrong, 422, "invalid_field", "token")
    assert b"dead-token" not in wrong.body
    open_ = OFFICIAL | {"limits": {"window": 0}}
    made = await owner.call("POST", CHANNELS, open_, headers={"idempotency-key": "one"})
    assert made.status == 201, made.body
    again = await owner.call("POST", CHANNELS, open_, headers={"idempotency-key": "one"})
    assert (again.body, again.headers["idempotent-replayed"]) == (made.body, "true")
    channel = made.json()["data"]
    second = await owner.call("POST", CHANNELS, open_, headers={"idempotency-key": "two"})
    check_refused(second, 422, "invalid_field", "phone_number_id")
    assert channel["id"] in second.json()["message"]
    assert (channel["phone"], channel["connection"], channel["name"]) == ("15550007777", "connected", "The bakery")
    assert channel["callback_url"] == f"{gateway.url}/callbacks/cloud/{channel['id']}"
    assert channel["network"] == {"phone_number_id": GIVEN["phone_number_id"], "waba_id": WABA}
    await register(gateway, callback_url=channel["callback_url"], verify_token=channel["verify_token"])
    owner.channel = channel["id"]
    sent = await owner.call("POST", "/api/v1/message/send", {"phone": "5511999998888", "body": "Hello"})
    assert sent.status == 200, sent.body
    shown = await owner.call("GET", CHANNELS)
    log = await read(owner, LOG + "?action=channel_created")
    assert log[0]["target"] == channel["id"]
    for secret in (GIVEN["token"], GIVEN["app_secret"]):
        assert not [body for body in (made.body, shown.body, repr(log).encode()) if secret.encode() in body]
    assert channel["verify_token"].encode() not in shown.body


async def test_a_qr_channel_is_created(gateway: Gateway) -> None:
    owner = await new_person(gateway)
    made = await owner.call("POST", CHANNELS, QR | {"limits": {"throughput": 2}})
    channel = made.json()["data"]
    assert (made.status, channel["connection"], channel["limits"]) == (201, "disconnected", {"throughput": 2})
    assert "verify_token" not in channel


REFUSED: list[tuple[Any, str]] = [
    (QR | {"kind": "fax"}, "kind"),
    (QR | {"name": ""}, "name"),
    (QR | {"phone": "+1 555"}, "phone"),
    ({"kind": "qr", "name": "A"}, "phone"),
    (QR | {"token": "t"}, "token"),
    (QR | {"limits": {"speed": 1}}, "speed"),
    (QR | {"base_url": "http://127.0.0.1:1"}, "base_url"),
    (OFFICIAL | {"phone": "15550001111"}, "phone"),
    (OFFICIAL | {"phone_number_id": "x"}, "phone_number_id"),
    (OFFICIAL | {"waba_id": "../1"}, "waba_id"),
    (OFFICIAL | {"token": "two words"}, "token"),
    (OFFICIAL | {"token": "x" * 1025}, "token"),
    ({key: value for key, value in OFFICIAL.items() if key != "app_secret"}, "app_secret"),
]


async def test_what_is_refused_creates_nothing(gateway: Gateway) -> None:
    owner, stranger = await new_person(gateway), await new_person(gateway, account_id=await gateway.new_account())
    for body, field in REFUSED:
        answer = await owner.call("POST", CHANNELS, body)
        code = "invalid_phone" if "+" in str(body) else "invalid_field"
        check_refused(answer, 422, code, field, body)
    path = f"{CHANNELS}/{gateway.channel}"
    check_refused(await stranger.call("PATCH", path, {"token": "t"}), 404, "not_found")
    assert len(await read(owner, CHANNELS)) == 1


async def test_a_new_token_is_tested_and_replaces_a_dead_one(gateway: Gateway) -> None:
    owner, agent = await new_person(gateway), await new_person(gateway, "agent")
    path = f"{CHANNELS}/{gateway.channel}"
    number = "/control/numbers/100000000000001"
    picture = await gateway.call("POST", "/api/v1/media", raw=b"a picture", headers={"content-type": "image/png"})
    await gateway.sandbox("PATCH", number, {"token": "new-token"})
    image = await gateway.send(phone="5511999997777", type="image", media={"id": picture.json()["data"]["id"]})
    message = await gateway.send(phone="5511999998888", body="Hello")

    async def rejected() -> Any:
        found = await read(owner, path)
        return found if found["token_rejected_at"] else None

    found = await until(rejected)
    assert (found["connection"], "token" in found["reason"]) == ("limited", True)
    check_refused(await agent.call("PATCH", path, {"token": "new-token"}), 403, "missing_role")
    check_refused(await owner.call("PATCH", path, {"token": "guess"}), 422, "invalid_field", "token")
    check_refused(await owner.call("PATCH", path, {"app_secret": "guess"}), 422, "invalid_field", "token")
    assert (await read(owner, path))["token_rejected_at"]
    changed = await owner.call("PATCH", path, {"token": "new-token", "name": "Renamed"})
    assert changed.status == 200, changed.body
    found = await read(owner, path)
    assert (found["connection"], found["token_rejected_at"], found["name"]) == ("connected", None, "Renamed")
    for id_ in (message, image):
        await gateway.until_status(id_, "READ")  # the wait of a broken number ends with its new token
    entry = (await read(owner, LOG + "?action=channel_changed"))[0]
    assert entry["details"] == {"name": "Renamed", "credentials": "replaced"}
    qr = (await owner.call("POST", CHANNELS, QR)).json()["data"]["id"]
    check_refused(await owner.call("PATCH", f"{CHANNELS}/{qr}", {"token": "t"}), 422, "invalid_field", "token")


async def test_reading_the_number_finds_a_dead_token(gateway: Gateway) -> None:
    owner, path = await new_person(gateway), f"{CHANNELS}/{gateway.channel}"
    number = "/control/numbers/100000000000001"
    await gateway.sandbox("PATCH", number, {"token": "other"})
    check_refused(await owner.call("GET", "/api/v1/channel/health"), 422, "network_refused")
    assert (await read(owner, path))["token_rejected_at"]
    await gateway.sandbox("PATCH", number, {"token": "token"})
    assert (await owner.call("GET", "/api/v1/channel/health")).status == 200
    found = await read(owner, path)
    assert (found["connection"], found["token_rejected_at"]) == ("connected", None)


async def test_the_plan_limits_the_channels(gateway: Gateway) -> None:
    account = await gateway.new_account("starter")
    owner = await new_person(gateway, account_id=account)
    limit = gateway.settings.plans["starter"].channels
    assert limit is not None

    async def create(number: int) -> Answer:
        return await owner.call("POST", CHANNELS, QR | {"phone": f"1555000{number:04}"})

    for number in range(limit - 1):
        assert (await create(number)).status == 201
    both = await asyncio.gather(create(100), create(101))
    assert sorted(one.status for one in both) == [201, 409]
    check_refused(await create(102), 409, "channel_limit_reached")
    assert len(await read(owner, CHANNELS)) == limit
    first = (await read(owner, CHANNELS))[0]["id"]
    assert (await owner.call("DELETE", f"{CHANNELS}/{first}")).status == 200
    assert (await create(103)).status == 201
    await accounts.change_plan(gateway.db, account, "unlimited", plans=gateway.settings.plans)
    assert (await create(104)).status == 201


async def test_tests_are_limited_by_account(gateway: Gateway) -> None:
    owner = await new_person(gateway)
    await register(gateway)
    for _ in range(CREDENTIAL_TESTS):
        assert (await owner.call("POST", TEST, GIVEN)).status == 200
    check_refused(await owner.call("POST", TEST, GIVEN), 429, "rate_limited")
    check_refused(await owner.call("POST", CHANNELS, OFFICIAL), 429, "rate_limited")
    stranger = await new_person(gateway, account_id=await gateway.new_account())
    assert (await stranger.call("POST", TEST, GIVEN)).status == 200


async def test_a_network_that_does_not_answer(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, cloud__base_url="http://127.0.0.1:1") as gateway:
        owner = await new_person(gateway)
        answer = await owner.call("POST", TEST, GIVEN)
        check_refused(answer, 503, "network_unavailable")
        check_refused(await owner.call("POST", CHANNELS, OFFICIAL), 503, "network_unavailable")
        assert GIVEN["token"].encode() not in answer.body
        assert len(await read(owner, CHANNELS)) == 1
