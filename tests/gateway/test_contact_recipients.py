"""Messages to a contact instead of a phone number, also to people whose number is not known."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.gateway.checks import PERSON, SEND, TEXT, check_refused, feed, until, written
from tests.gateway.test_drafts import DRAFTS, decide
from tests.running_gateway import Gateway

USER_ID = "BR.1349"
NUMBER = "100000000000001"
NOBODY = "ct_" + "0" * 32


async def hidden_contact(gateway: Gateway, user_id: str = USER_ID, phone: str = PERSON) -> str:
    """Let a person with a hidden number write; return the id of the contact."""
    said = {"from": phone, "type": "text", "text": {"body": "Hi"}, "user_id": user_id, "phone_hidden": True}
    await gateway.sandbox("POST", f"/control/numbers/{NUMBER}/incoming", said)

    async def look() -> Any:
        return [event["data"] for event in await feed(gateway) if event["data"].get("direction") == "in"]

    contact: str = (await until(look))[-1]["contact"]["id"]
    return contact


async def reveal_number(gateway: Gateway) -> None:
    """Let the same person write with the number."""
    said = {"from": PERSON, "type": "text", "text": {"body": "Me again"}, "user_id": USER_ID, "phone_hidden": False}
    await gateway.sandbox("POST", f"/control/numbers/{NUMBER}/incoming", said)

    async def look() -> Any:
        return [event for event in await feed(gateway) if event["data"].get("content") == {"body": "Me again"}]

    await until(look)


async def test_the_response_names_the_user_id(gateway: Gateway) -> None:
    contact = await hidden_contact(gateway)
    answer = await gateway.call("POST", SEND, {"contact": contact, "body": "Hello"})
    data = answer.json()["data"]
    message_id = data["key"]["id"]
    assert data["key"] == {"remoteJid": f"{USER_ID}@user", "fromMe": True, "id": message_id}
    assert data["contacts"] == [{"input": USER_ID, "wa_id": "", "user_id": USER_ID}]
    await gateway.until_status(message_id, "READ")
    (sent,) = (await gateway.sandbox("GET", "/control/ledger?kind=accepted"))["entries"]
    assert (sent["to"], sent["content"]) == (PERSON, {"body": "Hello"})


async def test_wrong_recipients_change_nothing(gateway: Gateway) -> None:
    stranger = await gateway.new_stranger()
    contact = await hidden_contact(gateway)
    before = await written(gateway)
    for fields, field in (
        ({}, "phone"),
        ({"phone": None, "contact": None}, "phone"),
        ({"phone": PERSON, "contact": contact}, "contact"),
        ({"contact": ""}, "contact"),
        ({"contact": contact.removeprefix("ct_")}, "contact"),
        ({"contact": "cv_" + contact.removeprefix("ct_")}, "contact"),
        ({"contact": contact + "0"}, "contact"),
        ({"contact": NOBODY}, "contact"),
    ):
        check_refused(
            await gateway.call("POST", SEND, {"body": "Hello", **fields}), 422, "invalid_field", field, fields
        )
    answer = await gateway.call("POST", SEND, {"contact": contact, "body": "Hello"}, key=stranger)
    check_refused(answer, 422, "invalid_field", "contact")
    assert await written(gateway) == before


async def test_a_contact_that_opted_out_gets_no_bulk_message(gateway: Gateway) -> None:
    contact = await hidden_contact(gateway)
    await gateway.call("PATCH", f"/api/v1/contacts/{contact}", {"opted_out": True})
    bulk = {"contact": contact, "body": "Offer", "priority": "bulk"}
    check_refused(await gateway.call("POST", SEND, bulk), 422, "opted_out", "contact")


async def test_batches_schedules_and_replays(gateway: Gateway) -> None:
    contact = await hidden_contact(gateway)
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    batch = {
        "messages": [
            {"contact": contact, "body": "One"},
            {"phone": "5511999990001", "body": "Two"},
            {"contact": NOBODY, "body": "Three"},
            {"contact": contact, "body": "Four", "send_at": later},
        ]
    }
    answer = await gateway.call("POST", "/api/v1/messages/batch", batch)
    results = answer.json()["data"]["results"]
    assert [result["success"] for result in results] == [True, True, False, True]
    assert results[3]["data"]["status"] == "SCHEDULED"
    keyed, body = {"idempotency-key": "order-7"}, {"contact": contact, "body": "Once"}
    first = await gateway.call("POST", SEND, body, headers=keyed)
    assert (await gateway.call("DELETE", f"/api/v1/contacts/{contact}")).status == 200
    again = await gateway.call("POST", SEND, body, headers=keyed)
    assert (again.status, again.body) == (200, first.body)
    check_refused(await gateway.call("POST", SEND, body), 422, "invalid_field", "contact")


async def test_a_contact_is_found_while_it_changes(gateway: Gateway) -> None:
    contact = await hidden_contact(gateway)
    sending = asyncio.gather(*(gateway.send(contact=contact, body=f"Number {n}") for n in range(20)))
    await reveal_number(gateway)
    sent = await sending
    for message_id in sent:
        await gateway.until_status(message_id, "READ")
        message = (await gateway.call("GET", f"/api/v1/messages/{message_id}")).json()["data"]
        assert message["contact"]["id"] == contact
    entries = (await gateway.sandbox("GET", "/control/ledger?kind=accepted"))["entries"]
    assert [entry["to"] for entry in entries] == [PERSON] * 20
    last = await gateway.call("POST", SEND, {"contact": contact, "body": "By number"})
    assert last.json()["data"]["key"]["remoteJid"] == f"{PERSON}@s.whatsapp.net"


async def test_a_new_user_id_belongs_to_the_same_contact(gateway: Gateway) -> None:
    contact = await hidden_contact(gateway)
    system = {"from": PERSON, "type": "system", "system": {"type": "user_changed_user_id", "user_id": "BR.2"}}
    await gateway.sandbox("POST", f"/control/numbers/{NUMBER}/incoming", system)
    await gateway.sandbox("PUT", f"/control/people/{PERSON}", {"user_id": "BR.2", "phone_hidden": True})

    async def changed() -> bool:
        answer = await gateway.call("POST", SEND, {"contact": contact, "body": "Still there?"})
        return bool(answer.json()["data"]["contacts"][0]["user_id"] == "BR.2")

    await until(changed)
    said = {"from": PERSON, "type": "text", "text": {"body": "Yes"}}
    await gateway.sandbox("POST", f"/control/numbers/{NUMBER}/incoming", said)

    async def answered() -> Any:
        return [event["data"] for event in await feed(gateway) if event["data"].get("content") == {"body": "Yes"}]

    assert (await until(answered))[0]["contact"]["id"] == contact
    sent = await gateway.send(contact=contact, body="Good")
    await gateway.until_status(sent, "READ")


async def test_a_draft_to_a_person_whose_number_is_hidden(gateway: Gateway) -> None:
    contact = await hidden_contact(gateway)
    message = {"contact": contact, "body": "Hello"}
    made = (await gateway.call("POST", DRAFTS, {"message": message})).json()["data"]
    assert (made["contact"]["id"], made["phone"], made["message"]["contact"]) == (contact, None, contact)
    wrong = ({"contact": NOBODY}, {"phone": PERSON})
    for recipient in wrong:
        body = {"message": {"body": "Hello", **recipient}, "revision": 1}
        answer = await gateway.call("PATCH", f"{DRAFTS}/{made['id']}", body)
        check_refused(answer, 422, "invalid_field", f"message.{next(iter(recipient))}")
    edited = {"message": message | {"body": "Hello again"}, "revision": 1}
    assert (await gateway.call("PATCH", f"{DRAFTS}/{made['id']}", edited)).status == 200
    approved = (await decide(gateway, made, "approve", {})).json()["data"]
    await gateway.until_status(approved["message_id"], "READ")
    check_refused(
        await gateway.call("POST", DRAFTS, {"message": message | {"contact": NOBODY}}), 422, "invalid_field", "contact"
    )


async def test_a_draft_is_sent_after_its_contact_was_merged(gateway: Gateway) -> None:
    known = await gateway.send(**TEXT)
    await gateway.until_status(known, "READ")
    stays = (await gateway.call("GET", f"/api/v1/messages/{known}")).json()["data"]["contact"]["id"]
    contact = await hidden_contact(gateway)
    assert contact != stays
    made = (await gateway.call("POST", DRAFTS, {"message": {"contact": contact, "body": "Hello"}})).json()["data"]
    await reveal_number(gateway)
    approved = (await decide(gateway, made, "approve", {"anyway": True})).json()["data"]
    assert approved["contact"]["id"] == stays
    await gateway.until_status(approved["message_id"], "READ")
    check_refused(await gateway.call("POST", SEND, {"contact": contact, "body": "Hi"}), 422, "invalid_field", "contact")
