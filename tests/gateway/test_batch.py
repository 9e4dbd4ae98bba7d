"""Many sends in one request: one commit, each with its own result."""

import asyncio
from typing import Any

import pytest

from gatepost.model.times import month_of
from tests.gateway.checks import check_refused, feed, written
from tests.running_gateway import Gateway

BATCH = "/api/v1/messages/batch"


def texts(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [{"phone": f"5511900{number:06}", "body": f"Text {number}"} for number in range(start, start + count)]


async def test_a_thousand_and_not_one_more(gateway: Gateway) -> None:
    before = await written(gateway)
    check_refused(await gateway.call("POST", BATCH, {"messages": texts(1001)}), 422, "invalid_field", "messages")
    check_refused(await gateway.call("POST", BATCH, {"messages": []}), 422, "invalid_field", "messages")
    assert await written(gateway) == before
    answer = await gateway.call("POST", BATCH, {"messages": texts(1000)})
    assert answer.status == 200, answer.body
    data = answer.json()["data"]
    assert (data["accepted"], data["refused"], len(data["results"])) == (1000, 0, 1000)
    assert answer.json()["message"] == "1,000 of 1,000 messages accepted"
    first = data["results"][0]
    assert (first["success"], first["data"]["status"]) == (True, "PENDING")
    assert first["data"]["key"]["remoteJid"] == "5511900000000@s.whatsapp.net"
    assert (await written(gateway))["messages"] == 1000


async def test_one_bad_item_spoils_nothing(gateway: Gateway) -> None:
    bad: list[Any] = [
        {"phone": "12", "body": "x"},
        {"phone": "5511900000001"},
        {"phone": "5511900000001", "body": "x", "color": "red"},
        {"phone": "5511900000001", "body": "x", "reply_to": "0" * 32},
        {"phone": "5511900000001", "type": "poll", "poll": {"question": "?", "options": ["a", "b"]}},
        7,
    ]
    good = texts(3)
    mixed = [good[0], bad[0], bad[1], good[1], *bad[2:], good[2]]
    data = (await gateway.call("POST", BATCH, {"messages": mixed})).json()["data"]
    assert (data["accepted"], data["refused"]) == (3, 6)
    assert [result["success"] for result in data["results"]] == [True, False, False, True, *[False] * 4, True]
    codes = [result["error"]["code"] for result in data["results"] if not result["success"]]
    invalid = "invalid_field"
    assert codes == ["invalid_phone", invalid, invalid, invalid, "unsupported_on_channel", invalid]
    counts = await written(gateway)
    assert (counts["messages"], counts["used"]) == (3, 3)


async def test_it_goes_all_the_way_in_order(gateway: Gateway) -> None:
    sends = [{"phone": "5511900000001", "body": str(number)} for number in range(20)]
    data = (await gateway.call("POST", BATCH, {"messages": sends})).json()["data"]
    ids = [result["data"]["key"]["id"] for result in data["results"]]
    assert ids == sorted(ids)
    await gateway.until_status(ids[-1], "READ")
    accepted = (await gateway.sandbox("GET", "/control/ledger?kind=accepted"))["entries"]
    assert [row["content"]["body"] for row in accepted] == [str(number) for number in range(20)]


async def test_a_repeat_with_the_same_key_sends_nothing_twice(gateway: Gateway) -> None:
    body = {"messages": [*texts(5), {"phone": "12", "body": "x"}]}
    key = {"idempotency-key": "campaign-1"}
    first = (await gateway.call("POST", BATCH, body, headers=key)).json()["data"]
    again = await asyncio.gather(*(gateway.call("POST", BATCH, body, headers=key) for _ in range(3)))
    for answer in again:
        found = answer.json()["data"]
        assert [r["data"] for r in found["results"][:5]] == [r["data"] for r in first["results"][:5]]
        assert answer.headers["idempotent-replayed"] == "true"
    for other in (texts(5, 7), texts(7), [{"phone": "12", "body": "x"}, *texts(1)]):
        answer = await gateway.call("POST", BATCH, {"messages": other}, headers=key)
        check_refused(answer, 422, "idempotency_key_reused")
    assert (await written(gateway))["messages"] == 5


async def test_the_plan_cuts_a_batch_where_it_ends(gateway: Gateway) -> None:
    account = await gateway.new_account("starter")
    channel = await gateway.new_channel(account, "15550007777", "100000000000007")
    async with gateway.db.connection() as conn:
        await conn.execute("INSERT INTO account_usage VALUES ($1, $2, 11998)", account, month_of(gateway.clock.now()))
    key = await gateway.new_key(channel.id)
    data = (await gateway.call("POST", BATCH, {"messages": texts(4)}, key=key)).json()["data"]
    assert (data["accepted"], data["refused"]) == (2, 2)
    assert [r["error"]["code"] for r in data["results"][2:]] == ["plan_quota_exceeded"] * 2
    assert len([e for e in await feed(gateway, key=key) if e["type"] == "message_notification"]) == 2


@pytest.mark.parametrize("item", [b"1", b"{}", b'{"phone":"5511999998888","body":"a,b"}'])
async def test_many_more_messages_are_refused_before_they_are_read(gateway: Gateway, item: bytes) -> None:
    body = b'{"messages":[' + b",".join([item] * (1_000_000 // (len(item) + 1))) + b"]}"
    answer = await gateway.call("POST", BATCH, raw=body, headers={"content-type": "application/json"})
    check_refused(answer, 422, "invalid_field", "messages")
    assert b"but holds more" in answer.body  # not how many: nobody counted further
