"""User ids are off by default; if they are on, every callback has them."""

import json

import pytest

from gatepost_sandbox.people import default_user_id, phone_behind

from .driver import NUMBER, Driver, Receiver

ANA = "5511999990000"


@pytest.mark.parametrize("phone", ["5511999990000", "0000001", "999999999999999"])
def test_a_user_id_leads_back_to_its_phone(phone: str) -> None:
    assert phone_behind(default_user_id(phone)) == phone


@pytest.mark.parametrize("strange", ["US.7", "US.", "BR.x", "US.1349"])
def test_other_user_ids_lead_nowhere(strange: str) -> None:
    assert phone_behind(strange) is None


@pytest.mark.parametrize("everybody", [True, False])
async def test_messages_and_statuses_carry_them_when_asked(
    sandbox: Driver, receiver: Receiver, everybody: bool
) -> None:
    await sandbox.control("PATCH", "settings", {"user_ids": everybody})
    user_id = default_user_id("5511999990000")
    await sandbox.control("POST", "say", {"phone_number_id": NUMBER, "from": "5511999990000", "text": "hi"})
    await sandbox.text("5511999990000")
    await sandbox.advance(10)
    values = [json.loads(body)["entry"][0]["changes"][0]["value"] for body in receiver.bodies]
    seen = [value.get("contacts", [{}])[0].get("user_id") for value in values]
    assert seen == [user_id if everybody else None] * 4
    if everybody:
        assert (await sandbox.text(user_id)).status == 200


@pytest.mark.parametrize("everybody", [True, False])
async def test_a_message_to_an_unknown_user_id_cannot_be_delivered(
    sandbox: Driver, receiver: Receiver, everybody: bool
) -> None:
    await sandbox.control("PATCH", "settings", {"user_ids": everybody})
    assert (await sandbox.text("BR.404")).status == 200
    await sandbox.advance(10)
    assert receiver.updates()[-1]["errors"][0]["code"] == 131026


async def test_the_user_id_of_a_person_who_wrote_is_kept(sandbox: Driver, receiver: Receiver) -> None:
    said = {"from": ANA, "type": "text", "text": {"body": "Hi"}, "user_id": "BR.7", "phone_hidden": True}
    await sandbox.control("POST", f"numbers/{NUMBER}/incoming", said)
    reply = await sandbox.text("BR.7")
    assert reply.json["contacts"] == [{"input": "BR.7", "wa_id": "", "user_id": "BR.7"}]
    await sandbox.control("POST", f"numbers/{NUMBER}/incoming", said | {"user_id": "BR.8", "phone_hidden": False})
    assert (await sandbox.text("BR.8")).json["contacts"][0]["wa_id"] == ANA
    await sandbox.text("BR.7")
    await sandbox.advance(10)
    failed = [update for update in receiver.updates() if update.get("status") == "failed"]
    assert [update["recipient_user_id"] for update in failed] == ["BR.7"]
