"""User ids are off by default; if they are on, every callback has them."""

import json

import pytest

from gatepost_sandbox.people import default_user_id, phone_behind

from .driver import NUMBER, Driver, Receiver


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
