"""What a person sees of an official number besides its messages: online, or when it was seen last."""

import pytest

from tests.sandbox.driver import Driver

from .phone import ANA, PersonPhone, open_feed

START = 1_700_000_000


@pytest.fixture
def ana(sandbox: Driver) -> PersonPhone:
    return PersonPhone(sandbox)


async def test_an_official_number_is_online_for_a_while_after_it_sent(sandbox: Driver, ana: PersonPhone) -> None:
    await ana.send("text", text="anybody there?")
    assert (await ana.chat())["presence"] is None
    await sandbox.text(ANA)
    seen = {"until": START + 30, "last_seen": START}
    await sandbox.advance(29)
    assert (await ana.chat())["presence"] == {"online": True, **seen}
    await sandbox.advance(1)
    assert (await ana.chat())["presence"] == {"online": False, **seen}


async def test_an_official_number_is_online_after_it_read(sandbox: Driver, ana: PersonPhone) -> None:
    sent = await ana.send("text", text="hi")
    await sandbox.advance(100)
    async with open_feed(sandbox) as feed:
        await sandbox.post({"messaging_product": "whatsapp", "status": "read", "message_id": sent["id"]})
        pushed = (await feed.until("message", status="read"))["chat"]["presence"]
    assert pushed == {"online": True, "until": START + 130, "last_seen": START + 100}


async def test_a_blocked_business_shows_nothing_of_itself(sandbox: Driver, ana: PersonPhone) -> None:
    await sandbox.text(ANA)
    assert (await ana.act("block", {"blocked": True}))["presence"] is None
    assert (await ana.act("block", {"blocked": False}))["presence"]["online"]
