"""What people write: taken in once, with who they are and what they answer."""

from typing import Any

from tests.gateway.checks import PERSON, TEXT, feed, until, written
from tests.running_gateway import Gateway

NUMBER = "100000000000001"


async def _say(gateway: Gateway, text: str, **more: Any) -> str:
    said = {"phone_number_id": NUMBER, "from": PERSON, "text": text, **more}
    wamid: str = (await gateway.sandbox("POST", "/control/say", said))["wamid"]
    return wamid


async def _heard(gateway: Gateway, count: int) -> list[Any]:
    """The incoming messages in the feed, once there are so many."""

    async def received() -> list[Any] | None:
        found = [event for event in await feed(gateway) if event["data"].get("direction") == "in"]
        return found if len(found) == count else None

    found: list[Any] = await until(received)
    return found


async def test_somebody_writes_first(gateway: Gateway) -> None:
    wamid = await _say(gateway, "Is anybody there? ✓", name="Ana Maria")
    (event,) = await _heard(gateway, 1)
    assert (event["type"], event["action"], event["sequence"]) == ("message_notification", "created", 3)
    data = event["data"]
    assert data["key"]["remoteJid"] == f"{PERSON}@s.whatsapp.net"
    assert data["key"]["fromMe"] is False
    assert (data["direction"], data["type"]) == ("in", "text")
    assert data["content"] == {"body": "Is anybody there? ✓"}
    assert (data["contact"]["phone"], data["contact"]["name"]) == (PERSON, "Ana Maria")
    assert data["conversation"]["id"].startswith("cv_")
    assert data["context"] is None
    assert not {"status", "client_ref"} & set(data)
    message = (await gateway.call("GET", f"/api/v1/messages/{data['key']['id']}")).json()["data"]
    assert (message["direction"], message["status"], message["network_id"]) == ("in", "RECEIVED", wamid)
    trace = (await gateway.call("GET", f"/api/v1/messages/{data['key']['id']}/trace")).json()["data"]
    assert [step["step"] for step in trace["steps"]] == ["received"]
    cancel = await gateway.call("POST", f"/api/v1/messages/{data['key']['id']}/cancel")
    assert cancel.status == 404


async def test_an_answer_names_what_it_answers(gateway: Gateway) -> None:
    ours = await gateway.send(**TEXT)
    await gateway.until_status(ours, "READ")
    network_id = (await gateway.call("GET", f"/api/v1/messages/{ours}")).json()["data"]["network_id"]
    await _say(gateway, "Yes, please", reply_to=network_id)
    (event,) = await _heard(gateway, 1)
    assert event["data"]["context"] == {"reply_to": ours}
    sent = (await feed(gateway))[2]["data"]
    assert event["data"]["contact"]["id"] == sent["contact"]["id"]
    back = await gateway.send(phone=PERSON, body="Gladly", reply_to=event["data"]["key"]["id"])
    await gateway.until_status(back, "READ")
    accepted = (await gateway.sandbox("GET", "/control/ledger?kind=accepted"))["entries"][-1]
    incoming = (await gateway.sandbox("GET", "/control/ledger?kind=incoming"))["entries"][-1]
    assert accepted["context"] == incoming["wamid"]


async def test_people_and_conversations_exist_once(gateway: Gateway) -> None:
    await gateway.send(**TEXT)
    for number in range(5):
        await _say(gateway, f"Message {number}", name="Ana" if number < 4 else "Ana Maria")
    received = await _heard(gateway, 5)
    assert [event["data"]["content"]["body"] for event in received] == [f"Message {number}" for number in range(5)]
    assert len({event["data"]["contact"]["id"] for event in received}) == 1
    assert received[-1]["data"]["contact"]["name"] == "Ana Maria"
    counts = await written(gateway)
    assert (counts["contacts"], counts["conversations"], counts["messages"], counts["used"]) == (1, 1, 6, 1)


async def test_a_callback_that_comes_twice_is_one_message(gateway: Gateway) -> None:
    await gateway.sandbox("POST", "/control/faults", {"fault": "duplicate", "copies": 3})
    await _say(gateway, "Only once")
    message_id = await gateway.send(**TEXT)
    await gateway.until_status(message_id, "READ")
    await _heard(gateway, 1)
    await _say(gateway, "And once more")
    await _heard(gateway, 2)
    events = await feed(gateway)
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    assert (await written(gateway))["messages"] == 3
    acks = [event["data"]["status"] for event in events if event["type"] == "ack_notification"]
    assert acks == ["SENT", "DELIVERED", "READ"]
