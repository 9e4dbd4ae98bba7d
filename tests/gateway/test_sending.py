"""Sending to the letter of the seed, on both kinds of channel."""

import time
from datetime import datetime

from tests.gateway.checks import PERSON, SEND, TEXT, feed, written
from tests.running_gateway import Gateway


async def test_official_channel_answers_as_the_seed_shows(gateway: Gateway) -> None:
    answer = await gateway.call("POST", SEND, TEXT)
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-request-id"].startswith("req_")
    body = answer.json()
    assert set(body) == {"success", "message", "data"}
    assert body["success"] is True
    assert body["message"] == "Message queued"
    data = body["data"]
    message_id = data["key"]["id"]
    assert data["key"] == {"remoteJid": f"{PERSON}@s.whatsapp.net", "fromMe": True, "id": message_id}
    assert data["status"] == "PENDING"
    assert data["messaging_product"] == "whatsapp"
    assert data["contacts"] == [{"input": PERSON, "wa_id": PERSON}]
    assert data["messages"] == [{"id": message_id, "message_status": "accepted"}]
    assert not {"message", "messageType", "messageTimestamp"} & set(data)
    await gateway.until_status(message_id, "READ")
    accepted = (await gateway.sandbox("GET", "/control/ledger?kind=accepted"))["entries"]
    assert [(entry["to"], entry["content"]["body"]) for entry in accepted] == [(PERSON, "Hello")]


async def test_a_qr_channel_queues_and_says_why_nothing_was_sent(gateway: Gateway) -> None:
    channel = await gateway.new_qr_channel(gateway.account_id)
    key = await gateway.new_key(channel.id)
    before = int(time.time())
    data = (await gateway.call("POST", SEND, TEXT | {"ttl": 1}, key=key)).json()["data"]
    message_id = data["key"]["id"]
    assert data["key"] == {"remoteJid": f"{PERSON}@s.whatsapp.net", "fromMe": True, "id": message_id}
    assert data["status"] == "PENDING"
    assert data["message"] == {"conversation": "Hello"}
    assert data["messageType"] == "conversation"
    assert before <= data["messageTimestamp"] <= time.time()
    assert not {"messaging_product", "contacts", "messages"} & set(data)
    trace = (await gateway.call("GET", f"/api/v1/messages/{message_id}/trace", key=key)).json()["data"]
    assert trace["waiting"]["rule"] in ("not_connected", "queue")
    gateway.key = key
    await gateway.until_status(message_id, "EXPIRED")
    last = (await feed(gateway))[-1]
    assert last["type"] == "ack_notification"
    assert (last["data"]["status"], last["data"]["ack"], last["data"]["previous"]) == ("EXPIRED", -1, "PENDING")
    assert last["data"]["error"]["code"] == "expired"
    assert last["data"]["error"]["details"] == "The channel is not connected"
    assert last["channel"]["kind"] == "qr"


async def test_a_send_writes_each_thing_once(gateway: Gateway) -> None:
    await gateway.send(**TEXT)
    await gateway.send(**TEXT)
    assert await written(gateway) | {"events": 0} == {
        "messages": 2,
        "events": 0,
        "contacts": 1,
        "conversations": 1,
        "scheduled_messages": 0,
        "idempotency_keys": 0,
        "used": 2,
    }


async def test_every_field_is_kept_and_shown(gateway: Gateway) -> None:
    first = await gateway.send(**TEXT)
    await gateway.until_status(first, "READ")
    fields = {"type": "text", "preview_url": True, "client_ref": "order-7", "ttl": 60, "priority": "bulk"}
    second = await gateway.send(**TEXT, **fields, reply_to=first, on_unknown="fail")
    await gateway.until_status(second, "READ")
    message = (await gateway.call("GET", f"/api/v1/messages/{second}")).json()["data"]
    assert message["content"] == {"body": "Hello", "preview_url": True}
    assert (message["client_ref"], message["priority"], message["reply_to"]) == ("order-7", "bulk", first)
    assert (message["direction"], message["type"], message["ack"]) == ("out", "text", 3)
    assert message["key"]["id"] == second
    assert message["error"] is None
    lifetime = _time(message["expires_at"]) - _time(message["created_at"])
    assert lifetime.total_seconds() == 60
    assert message["created_at"] <= message["sent_at"] <= message["delivered_at"] <= message["read_at"]
    accepted = (await gateway.sandbox("GET", "/control/ledger?kind=accepted"))["entries"]
    assert accepted[1]["content"] == {"body": "Hello", "preview_url": True}
    assert accepted[1]["context"] == accepted[0]["wamid"] == await _network_id(gateway, first)


async def test_a_refusal_of_the_network_ends_in_failed(gateway: Gateway) -> None:
    rule = {"fault": "refuse", "code": 131026, "details": "Not on the network", "to": PERSON}
    await gateway.sandbox("POST", "/control/faults", rule)
    message_id = await gateway.send(**TEXT, client_ref="order-8")
    await gateway.until_status(message_id, "FAILED")
    message = (await gateway.call("GET", f"/api/v1/messages/{message_id}")).json()["data"]
    assert message["error"]["code"] == 131026
    assert message["error"]["details"] == "Not on the network"
    last = (await feed(gateway))[-1]["data"]
    assert (last["status"], last["ack"], last["client_ref"]) == ("FAILED", -1, "order-8")
    assert last["error"] == message["error"]


async def _network_id(gateway: Gateway, message_id: str) -> str:
    network_id: str = (await gateway.call("GET", f"/api/v1/messages/{message_id}")).json()["data"]["network_id"]
    return network_id


def _time(text: str) -> datetime:
    assert text.endswith("Z")
    assert text[19] == "."
    return datetime.fromisoformat(text)
