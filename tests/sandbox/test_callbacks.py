"""Statuses and messages as callbacks: shape, signature, retry, batches, handshake."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gatepost_sandbox.wire import text_update, webhook_body
from tests.patience import PATIENCE

from .driver import NUMBER, PHONE, START, VERIFY, WABA, Driver, Receiver

PRICING = {"billable": False, "pricing_model": "PMP", "type": "free_customer_service", "category": "service"}


async def test_sent_delivered_read_in_the_networks_shape(sandbox: Driver, receiver: Receiver) -> None:
    wamid = (await sandbox.text("+5511999990000", biz_opaque_callback_data="mine:1")).wamid
    await sandbox.advance(10)
    [first, *_] = [json.loads(body) for body in receiver.bodies]
    value = first["entry"][0]["changes"][0]["value"]
    assert first == {
        "object": "whatsapp_business_account",
        "entry": [{"id": WABA, "changes": [{"field": "messages", "value": value}]}],
    }
    assert value["metadata"] == {"display_phone_number": PHONE, "phone_number_id": NUMBER}
    common = {"id": wamid, "recipient_id": "5511999990000", "biz_opaque_callback_data": "mine:1"}
    sent, delivered, read = receiver.updates()
    assert sent == {**common, "status": "sent", "timestamp": str(int(START)), "pricing": PRICING}
    assert delivered == {**common, "status": "delivered", "timestamp": str(int(START)), "pricing": PRICING}
    assert read == {**common, "status": "read", "timestamp": str(int(START))}
    assert receiver.signatures == ["good"] * 3


async def test_delays_are_counted_from_acceptance(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.control("PATCH", "settings", {"delays": {"sent": 10, "delivered": 20, "read": 30, "jitter": 0}})
    await sandbox.text()
    for moment, labels in ((9.9, 0), (0.1, 1), (9.9, 1), (0.1, 2), (10, 3)):
        await sandbox.advance(moment)
        assert len(receiver.updates()) == labels
    assert [int(update["timestamp"]) - int(START) for update in receiver.updates()] == [10, 20, 30]


async def test_a_number_has_delays_of_its_own(sandbox: Driver, receiver: Receiver) -> None:
    changed = await sandbox.control("PATCH", f"numbers/{NUMBER}", {"delays": {"sent": 100, "delivered": 100}})
    assert changed["effective"]["delays"]["sent"] == 100
    assert changed["effective"]["delays"]["read"] == 0.8
    await sandbox.text()
    await sandbox.advance(79)
    assert receiver.labels() == []
    await sandbox.advance(42)
    assert receiver.labels() == ["sent", "delivered", "read"]


async def test_a_skipped_delivered_leaves_its_price_to_read(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.control("PATCH", "settings", {"delays": {"skip_delivered": 1}})
    await sandbox.text()
    await sandbox.advance(10)
    assert [(update["status"], "pricing" in update) for update in receiver.updates()] == [
        ("sent", True),
        ("read", True),
    ]


async def test_text_beyond_ascii_is_escaped(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.control("POST", "say", {"phone_number_id": NUMBER, "from": "5511999990000", "text": "olá 👋 /"})
    await sandbox.advance(0)
    assert receiver.bodies[0].isascii()
    assert b"ol\\u00e1 \\ud83d\\udc4b /" in receiver.bodies[0]
    assert receiver.signatures == ["good"]


@given(st.text())
@example("\x7f")
def test_callback_bytes_are_those_of_an_ascii_json_writer(text: str) -> None:
    update = text_update("wamid.x", "5511999990000", "Ana", START, body=text)
    body = webhook_body(WABA, PHONE, NUMBER, [update])
    assert body == json.dumps(json.loads(body), separators=(",", ":")).encode()
    assert json.loads(body)["entry"][0]["changes"][0]["value"]["messages"][0]["text"]["body"] == text


async def test_anything_but_200_is_tried_again_with_back_off(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.control("PATCH", "settings", {"callbacks": {"retry": [10, 100]}, "default_character": "offline"})
    await sandbox.control("PATCH", "settings", {"delays": {"sent": 1, "jitter": 0}})
    receiver.answer = lambda count: (500, 204, 200)[count - 1]
    await sandbox.text()
    for moment, attempts in ((1, 1), (9.9, 1), (0.1, 2), (99, 2), (1, 3), (1000, 3)):
        await sandbox.advance(moment)
        assert len(receiver.bodies) == attempts
    assert len(set(receiver.bodies)) == 1
    tried = await sandbox.ledger(kind="callback")
    assert [(entry["attempt"], entry["http_status"]) for entry in tried] == [(1, 500), (2, 204), (3, 200)]
    counts = await sandbox.counts()
    assert (counts["callbacks.failed_attempts"], counts["callbacks.delivered"]) == (2, 1)


async def test_a_callback_is_given_up_after_the_last_retry(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.control("PATCH", "settings", {"callbacks": {"retry": [1]}, "default_character": "offline"})
    receiver.answer = lambda _: None  # the connection is cut
    await sandbox.text()
    await sandbox.advance(100)
    counts = await sandbox.counts()
    assert (len(receiver.bodies), counts["callbacks.failed_attempts"], counts["callbacks.abandoned"]) == (2, 2, 1)
    assert all(entry["error"] for entry in await sandbox.ledger(kind="callback"))


async def test_a_dead_address_does_not_hold_back_another_number(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.register("http://127.0.0.1:9/", phone_number_id="2002", phone="15550002222", verify=False)
    await sandbox.post({"messaging_product": "whatsapp", "to": "5511999990000", "text": {"body": "x"}}, number="2002")
    await sandbox.text()
    await sandbox.advance(10)
    assert receiver.labels() == ["sent", "delivered", "read"]


async def test_a_number_without_address_drops_its_callbacks(empty: Driver) -> None:
    await empty.register(None)
    await empty.text()
    await empty.advance(10)
    assert (await empty.counts())["callbacks.no_address"] == 3


async def test_batches_gather_until_full_or_late(sandbox: Driver, receiver: Receiver) -> None:
    delays = {"sent": 1, "delivered": 1000, "read": 2000, "jitter": 0}
    await sandbox.control("PATCH", "settings", {"delays": delays, "callbacks": {"batch_max": 3, "batch_wait": 5}})
    for index in range(5):
        await sandbox.text(f"551199999000{index}")
    await sandbox.advance(1)
    assert len(receiver.bodies) == 1
    await sandbox.advance(5)
    sizes = [len(json.loads(body)["entry"][0]["changes"][0]["value"]["statuses"]) for body in receiver.bodies]
    assert sizes == [3, 2]
    assert receiver.signatures == ["good", "good"]
    assert (await sandbox.call("PATCH", "/control/settings", {"callbacks": {"batch_max": 1001}})).status == 400


async def test_a_batch_keeps_the_order_of_statuses_and_messages(sandbox: Driver, receiver: Receiver) -> None:
    delays = {"sent": 1, "delivered": 3, "read": 1000, "jitter": 0}
    await sandbox.control("PATCH", "settings", {"delays": delays, "callbacks": {"batch_max": 10, "batch_wait": 5}})
    await sandbox.text()
    await sandbox.advance(2)
    await sandbox.control("POST", "say", {"phone_number_id": NUMBER, "from": "5511999990000", "text": "yes"})
    await sandbox.advance(10)
    [body] = receiver.bodies
    changes = json.loads(body)["entry"][0]["changes"]
    assert [set(change["value"]) - {"messaging_product", "metadata"} for change in changes] == [
        {"statuses"},
        {"contacts", "messages"},
        {"statuses"},
    ]


async def test_the_handshake(empty: Driver, receiver: Receiver) -> None:
    await empty.register(receiver.url)
    [handshake] = receiver.handshakes
    assert handshake == {
        "hub.mode": "subscribe",
        "hub.challenge": handshake["hub.challenge"],
        "hub.verify_token": VERIFY,
    }
    assert handshake["hub.challenge"].isdigit()


async def register_raw(sandbox: Driver, **changes: Any) -> tuple[int, str]:
    spec = {"phone_number_id": "1", "phone": "15550002222", "token": "t", "app_secret": "s", **changes}
    reply = await sandbox.call("POST", "/control/numbers", spec)
    return reply.status, reply.json.get("error", "")


async def test_a_failed_handshake_registers_nothing_and_says_why(empty: Driver, receiver: Receiver) -> None:
    status, why = await register_raw(empty, callback_url=receiver.url, verify_token="wrong")
    assert (status, "answered HTTP 403" in why) == (400, True)
    receiver.challenge_answer = "something else"
    status, why = await register_raw(empty, callback_url=receiver.url, verify_token=VERIFY)
    assert (status, "not the challenge" in why) == (400, True)
    status, why = await register_raw(empty, callback_url="http://127.0.0.1:9/", verify_token=VERIFY)
    assert (status, "could not reach" in why) == (400, True)
    status, why = await register_raw(empty, callback_url="no address", verify_token=VERIFY)
    assert (status, "could not reach" in why) == (400, True)
    assert await empty.control("GET", "numbers") == []
    assert await register_raw(empty, callback_url="http://127.0.0.1:9/", verify=False) == (200, "")


async def test_a_new_address_is_verified_and_used_from_then_on(sandbox: Driver, receiver: Receiver) -> None:
    other = Receiver()
    await other.open()
    await sandbox.text()
    await sandbox.control("PATCH", f"numbers/{NUMBER}", {"callback_url": other.url})
    await sandbox.advance(10)
    assert (len(other.handshakes), other.labels(), receiver.labels()) == (1, ["sent", "delivered", "read"], [])
    await other.close()


async def test_on_a_running_clock_statuses_come_by_themselves(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.control("POST", "clock", {"frozen": False, "speed": 20})
    for index in range(20):
        await sandbox.text(f"55119999900{index:02}")
    async with asyncio.timeout(PATIENCE):
        while len(receiver.updates()) < 60:
            await asyncio.sleep(0.01)
    assert sorted(receiver.labels()) == ["delivered"] * 20 + ["read"] * 20 + ["sent"] * 20


@pytest.mark.parametrize("field", ["phone", "phone_number_id", "token", "waba_id", "nonsense"])
async def test_a_bad_registration_is_refused(empty: Driver, field: str) -> None:
    status, why = await register_raw(empty, **{field: ""})
    assert status == 400
    assert field in why
