"""One person under both forms of a number, from the first contact on: window, conversation, contact, history."""

from typing import Any

import pytest

from tests.gateway.checks import SEND, until
from tests.running_gateway import FAST_NETWORK, Gateway

NUMBER = "100000000000005"
# as the network writes it, and as somebody here may write it
FORMS = [
    ("553188887777", "5531988887777"),
    ("5511988887777", "551188887777"),
    ("5215512345678", "525512345678"),
    ("5491123456789", "541123456789"),
]


async def _windowed(gateway: Gateway) -> str:
    """The key of a channel that keeps the 24-hour window."""
    limits = FAST_NETWORK | {"window": 1}
    channel = await gateway.new_channel(gateway.account_id, "15550005555", NUMBER, limits)
    return await gateway.new_key(channel.id)


async def _list(gateway: Gateway, key: str, path: str) -> list[Any]:
    found: list[Any] = (await gateway.call("GET", f"/api/v1/{path}", key=key)).json()["data"]
    return found


async def _hear(gateway: Gateway, key: str, person: str) -> Any:
    said = {"phone_number_id": NUMBER, "from": person, "text": "Hello?"}
    await gateway.sandbox("POST", "/control/say", said)

    async def received() -> Any:
        return await _list(gateway, key, "messages?direction=in")

    return (await until(received))[0]


@pytest.mark.parametrize(("written", "meant"), FORMS)
async def test_an_answer_to_the_other_form_is_inside_the_window(gateway: Gateway, written: str, meant: str) -> None:
    key = await _windowed(gateway)
    received = await _hear(gateway, key, meant)
    assert received["contact"]["phone"] == written
    for phone in (meant, written):
        sent = await gateway.call("POST", SEND, {"phone": phone, "body": "Here we are"}, key=key)
        assert sent.status == 200, sent.body
    assert len(await _list(gateway, key, "contacts")) == 1
    assert len(await _list(gateway, key, "conversations")) == 1
    for phone in (meant, written):
        assert len(await _list(gateway, key, f"messages?phone={phone}")) == 3
        assert len(await _list(gateway, key, f"contacts?phone={phone}")) == 1


@pytest.mark.parametrize(("written", "meant"), FORMS)
async def test_who_answers_under_the_other_form_is_the_same_person(gateway: Gateway, written: str, meant: str) -> None:
    channel = await gateway.new_channel(gateway.account_id, "15550005555", NUMBER)
    key = await gateway.new_key(channel.id)
    sent = await gateway.call("POST", SEND, {"phone": meant, "body": "Hello"}, key=key)
    assert sent.status == 200
    received = await _hear(gateway, key, written)
    contact = (await _list(gateway, key, "contacts"))[0]
    assert received["contact"]["id"] == contact["id"]
    assert len(await _list(gateway, key, "conversations")) == 1


async def test_contacts_one_by_one_and_in_batches(gateway: Gateway) -> None:
    for phone, status in (("553188887777", 201), ("5531988887777", 409), ("553188887777", 409)):
        assert (await gateway.call("POST", "/api/v1/contacts", {"phone": phone})).status == status
    table = b"phone,name\n525512345678,Ana\n5215512345678,Ana Maria\n5531988887777,Rui\n"
    imported = await gateway.call("POST", "/api/v1/contacts/import", raw=table, headers={"content-type": "text/csv"})
    assert imported.status == 200, imported.body
    messages = [{"phone": phone, "body": "Hello"} for phone in ("5491123456789", "541123456789", "5491123456789")]
    batch = await gateway.call("POST", "/api/v1/messages/batch", {"messages": messages})
    assert batch.json()["data"]["accepted"] == 3
    contacts = await _list(gateway, gateway.key, "contacts")
    assert sorted(one["phone"] for one in contacts) == ["525512345678", "541123456789", "553188887777"]
    assert {one["name"] for one in contacts} == {"Ana Maria", "Rui", None}


async def test_a_number_that_moved_leaves_neither_form_behind(gateway: Gateway) -> None:
    channel = await gateway.new_channel(gateway.account_id, "15550005555", NUMBER)
    key = await gateway.new_key(channel.id)
    before = await _hear(gateway, key, "553188887777")
    moved = {"type": "user_changed_number", "wa_id": "15557770001"}
    said = {"from": "553188887777", "type": "system", "system": moved}
    await gateway.sandbox("POST", f"/control/numbers/{NUMBER}/incoming", said)

    async def has_moved() -> bool:
        return [one["phone"] for one in await _list(gateway, key, "contacts")] == ["15557770001"]

    await until(has_moved)
    for phone in ("553188887777", "5531988887777"):
        assert not await _list(gateway, key, f"contacts?phone={phone}")
    sent = await gateway.call("POST", SEND, {"phone": "5531988887777", "body": "Who is it now?"}, key=key)
    assert sent.status == 200
    contacts = {one["phone"]: one["id"] for one in await _list(gateway, key, "contacts")}
    assert contacts["15557770001"] == before["contact"]["id"] != contacts["5531988887777"]
