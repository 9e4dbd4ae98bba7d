"""The channel as its key sees it: what it is, what it can carry, and what holds it back."""

import re

from tests.gateway.checks import until
from tests.house import FAST_NETWORK, House

CHANNEL = "/api/v1/channel"
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


async def test_both_kinds(house: House) -> None:
    official = (await house.call("GET", CHANNEL)).json()["data"]
    assert (official["id"], official["kind"], official["phone"]) == (house.channel, "official", "15550001111")
    assert official["connection"] == {
        "state": "connected",
        "reason": "The channel was added; its number needs no linking.",
    }
    assert "text" in official["capabilities"]["types"]
    assert official["limits"] == FAST_NETWORK
    assert official["pair"] == {"seconds": 0, "burst": 10_000, "free_at": None, "waiting": 0}
    assert "token" not in str(official)
    qr = await house.new_qr_channel(house.account_id)
    linked = (await house.call("GET", CHANNEL, key=await house.new_key(qr.id))).json()["data"]
    assert (linked["kind"], linked["phone"]) == ("qr", "15550003333")
    assert linked["connection"]["state"] == "disconnected"


async def test_a_full_tier_says_so_until_somebody_writes(house: House) -> None:
    channel = await house.new_channel(house.account_id, "15550005555", "100000000000005", FAST_NETWORK | {"tier": 1})
    house.key = await house.new_key(channel.id)
    first = await house.send(phone="5511999990001", body="Opens a conversation")
    await house.until_status(first, "READ")
    second = await house.send(phone="5511999990002", body="Has to wait")

    async def held() -> object:
        return (await house.call("GET", CHANNEL)).json()["data"]["waiting"]

    waiting = await until(held)
    assert waiting["because"] == "The number may open no more conversations within 24 hours"
    assert MOMENT.fullmatch(waiting["until"]), waiting
    tier = (await house.call("GET", CHANNEL)).json()["data"]["tier"]
    assert (tier["used"], tier["limit"], tier["free"], tier["waiting"]) == (1, 1, 0, 1)
    assert tier["free_at"] == waiting["until"]
    trace = (await house.call("GET", f"/api/v1/messages/{second}/trace")).json()["data"]
    assert trace["waiting"] == waiting | {"message_id": None}
    assert (waiting["rule"], trace["message"]["waiting"]) == ("tier", trace["waiting"])
    shown = (await house.call("GET", f"/api/v1/messages/{second}")).json()["data"]
    assert shown["waiting"] == trace["waiting"]
    assert trace["message"]["status"] == "PENDING"
    again = await house.send(phone="5511999990001", body="Goes on in the open conversation")
    await house.until_status(again, "READ")
    said = {"phone_number_id": "100000000000005", "from": "5511999990002", "text": "Hello?"}
    await house.sandbox("POST", "/control/say", said)
    await house.until_status(second, "READ")
