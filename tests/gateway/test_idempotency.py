"""The same request twice is one message, whatever happens in between."""

import asyncio
import base64
from collections import Counter
from datetime import timedelta
from typing import Any

import msgspec

from gatepost.admin import accounts, keys
from gatepost.model import ids
from gatepost.store.keys import list_keys
from tests.gateway.checks import SEND, TEXT, check_refused, written
from tests.running_gateway import Answer, Gateway, running_gateway

SECRET = base64.b64encode(b"k" * 32).decode()


async def _send(gateway: Gateway, idempotency_key: str, body: object = TEXT, key: str | None = None) -> Answer:
    return await gateway.call("POST", SEND, body, key=key, headers={"idempotency-key": idempotency_key})


async def test_the_same_answer_again(gateway: Gateway) -> None:
    first = await _send(gateway, "order-1")
    assert "idempotent-replayed" not in first.headers
    again = await _send(gateway, "order-1")
    assert (again.status, again.body) == (200, first.body)
    assert again.headers["idempotent-replayed"] == "true"
    quoted = await _send(gateway, '"order-1"')
    assert quoted.body == first.body
    assert again.headers["x-request-id"] != first.headers["x-request-id"]
    counts = await written(gateway)
    assert (counts["messages"], counts["used"], counts["idempotency_keys"]) == (1, 1, 1)
    other = await _send(gateway, "order-2")
    assert other.json()["data"]["key"]["id"] != first.json()["data"]["key"]["id"]


async def test_another_body_under_the_same_key(gateway: Gateway) -> None:
    first = await _send(gateway, "order-1")
    before = await written(gateway)
    for other in (TEXT | {"body": "Hello!"}, TEXT | {"ttl": 60}):
        check_refused(await _send(gateway, "order-1", other), 422, "idempotency_key_reused")
    respaced = msgspec.json.format(msgspec.json.encode(TEXT))
    answer = await gateway.call("POST", SEND, raw=respaced, headers={"idempotency-key": "order-1"})
    check_refused(answer, 422, "idempotency_key_reused")
    assert await written(gateway) | {"events": 0} == before | {"events": 0}
    assert (await _send(gateway, "order-1")).body == first.body


async def test_which_keys_there_are(gateway: Gateway) -> None:
    for good in ("k", "k" * 255, '"' + "q" * 255 + '"', "!~#$%&'()*+,-./:;<=>?@[]^_`{|}", '"'):
        assert (await _send(gateway, good)).status == 200, good
    before = await written(gateway)
    for bad in ("", '""', "k" * 256, '"' + "q" * 256 + '"', "two words", "tab\there", "é"):
        check_refused(await _send(gateway, bad), 400, "invalid_idempotency_key", about=bad)
    assert await written(gateway) | {"events": 0} == before | {"events": 0}


async def test_a_hundred_at_once_are_one(gateway: Gateway) -> None:
    answers = await asyncio.gather(*(_send(gateway, "order-1") for _ in range(100)))
    statuses = Counter(answer.status for answer in answers)
    assert set(statuses) <= {200, 409}
    assert len({answer.body for answer in answers if answer.status == 200}) == 1
    fresh = [answer for answer in answers if answer.status == 200 and "idempotent-replayed" not in answer.headers]
    assert len(fresh) == 1
    for answer in answers:
        if answer.status == 409:
            error = check_refused(answer, 409, "idempotency_in_progress")
            assert error["retryable"] is True
            assert answer.headers["retry-after"] == "1"
    counts = await written(gateway)
    assert (counts["messages"], counts["used"], counts["idempotency_keys"]) == (1, 1, 1)
    assert (await _send(gateway, "order-1")).body == fresh[0].body


async def test_two_bodies_race_for_one_key(gateway: Gateway) -> None:
    bodies = [TEXT | {"body": "One"}, TEXT | {"body": "Two"}]
    answers = await asyncio.gather(*(_send(gateway, "order-1", bodies[i % 2]) for i in range(40)))
    assert len({answer.body for answer in answers if answer.status == 200}) == 1
    assert {answer.status for answer in answers} <= {200, 409, 422}
    assert (await written(gateway))["messages"] == 1


async def test_a_restart_forgets_nothing(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, security__secret_key=SECRET) as gateway:
        key, first = gateway.key, await _send(gateway, "order-1")
        await gateway.until_status(first.json()["data"]["key"]["id"], "READ")
    async with running_gateway(parted_database_url, security__secret_key=SECRET) as gateway:
        again = await _send(gateway, "order-1", key=key)
        assert (again.status, again.body) == (200, first.body)
        assert again.headers["idempotent-replayed"] == "true"
        assert (await written(gateway))["messages"] == 1
        check_refused(await _send(gateway, "order-1", TEXT | {"ttl": 9}, key=key), 422, "idempotency_key_reused")


async def test_somebody_elses_key_is_another_key(gateway: Gateway) -> None:
    stranger = await gateway.new_stranger()
    mine, theirs = (
        await _send(gateway, "order-1"),
        await _send(gateway, "order-1", TEXT | {"body": "Other"}, key=stranger),
    )
    assert theirs.status == 200
    assert "idempotent-replayed" not in theirs.headers
    assert mine.json()["data"]["key"]["id"] != theirs.json()["data"]["key"]["id"]


async def test_a_new_api_key_of_the_channel_knows_the_old_requests(gateway: Gateway) -> None:
    first = await _send(gateway, "order-1")
    channel_id = ids.parse_id("ch", gateway.channel)
    assert channel_id
    old = (await list_keys(gateway.db, channel_id))[0]
    new = await keys.rotate_key(gateway.db, channel_id, old.id, overlap=timedelta(0), now=gateway.clock.now())
    again = await _send(gateway, "order-1", key=new.text)
    assert (again.status, again.body) == (200, first.body)


async def test_a_refusal_is_not_remembered(parted_database_url: str) -> None:
    small: dict[str, Any] = {"plans__small__title": "Small", "plans__small__messages_per_month": 1}
    async with running_gateway(parted_database_url, security__key_cache_seconds=0, **small) as gateway:
        await accounts.change_plan(gateway.db, gateway.account_id, "small", plans=gateway.settings.plans)
        assert (await _send(gateway, "order-1")).status == 200
        check_refused(await _send(gateway, "order-2"), 429, "plan_quota_exceeded")
        check_refused(await _send(gateway, "order-3", TEXT | {"phone": "x"}), 422, "invalid_phone", "phone")
        check_refused(await _send(gateway, "order-4", TEXT | {"reply_to": "0" * 32}), 422, "invalid_field", "reply_to")
        assert (await _send(gateway, "order-1")).headers["idempotent-replayed"] == "true"
        await accounts.change_plan(gateway.db, gateway.account_id, "unlimited", plans=gateway.settings.plans)
        for key in ("order-2", "order-3", "order-4"):
            answer = await _send(gateway, key)
            assert answer.status == 200
            assert "idempotent-replayed" not in answer.headers
