"""The channel as its key sees it: what it is, what it can carry, and what holds it back."""

import re
import threading
from typing import Any

import pytest
import segno

from tests.gateway.checks import until
from tests.running_gateway import FAST_NETWORK, Gateway

CHANNEL = "/api/v1/channel"
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


async def test_both_kinds(gateway: Gateway) -> None:
    official = (await gateway.call("GET", CHANNEL)).json()["data"]
    assert (official["id"], official["kind"], official["phone"]) == (gateway.channel, "official", "15550001111")
    assert official["connection"] == {
        "state": "connected",
        "reason": "The channel was added; its number needs no linking.",
    }
    assert "text" in official["capabilities"]["types"]
    assert official["limits"] == FAST_NETWORK
    assert official["pair"] == {"seconds": 0, "burst": 10_000, "free_at": None, "waiting": 0}
    assert "token" not in str(official)
    qr = await gateway.new_qr_channel(gateway.account_id)
    linked = (await gateway.call("GET", CHANNEL, key=await gateway.new_key(qr.id))).json()["data"]
    assert (linked["kind"], linked["phone"]) == ("qr", "15550003333")
    assert linked["connection"]["state"] == "disconnected"


async def test_a_picture_of_a_code_does_not_block_the_event_loop(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads, make = [], segno.make

    def noted(*given: Any, **named: Any) -> segno.QRCode:
        threads.append(threading.current_thread())
        return make(*given, **named)

    monkeypatch.setattr(segno, "make", noted)
    qr = await gateway.new_qr_channel(gateway.account_id)
    await gateway.db.execute(
        "INSERT INTO channel_links (channel_id, qr, qr_until) VALUES ($1, '2@x', now() + interval '1 hour')", qr.id
    )
    key = await gateway.new_key(qr.id)
    assert (await gateway.call("GET", f"{CHANNEL}/qr?format=png", key=key)).body.startswith(b"\x89PNG")
    assert len(threads) == 1
    assert threads[0] is not threading.current_thread()


async def test_a_full_tier_says_so_until_somebody_writes(gateway: Gateway) -> None:
    channel = await gateway.new_channel(
        gateway.account_id, "15550005555", "100000000000005", FAST_NETWORK | {"tier": 1}
    )
    gateway.key = await gateway.new_key(channel.id)
    first = await gateway.send(phone="5511999990001", body="Opens a conversation")
    await gateway.until_status(first, "READ")
    second = await gateway.send(phone="5511999990002", body="Has to wait")

    async def held() -> object:
        return (await gateway.call("GET", CHANNEL)).json()["data"]["waiting"]

    waiting = await until(held)
    assert waiting["because"] == "The number may open no more conversations within 24 hours"
    assert MOMENT.fullmatch(waiting["until"]), waiting
    tier = (await gateway.call("GET", CHANNEL)).json()["data"]["tier"]
    assert (tier["used"], tier["limit"], tier["free"], tier["waiting"]) == (1, 1, 0, 1)
    assert tier["free_at"] == waiting["until"]
    trace = (await gateway.call("GET", f"/api/v1/messages/{second}/trace")).json()["data"]
    assert trace["waiting"] == waiting | {"message_id": None}
    assert (waiting["rule"], trace["message"]["waiting"]) == ("tier", trace["waiting"])
    shown = (await gateway.call("GET", f"/api/v1/messages/{second}")).json()["data"]
    assert shown["waiting"] == trace["waiting"]
    assert trace["message"]["status"] == "PENDING"
    again = await gateway.send(phone="5511999990001", body="Goes on in the open conversation")
    await gateway.until_status(again, "READ")
    said = {"phone_number_id": "100000000000005", "from": "5511999990002", "text": "Hello?"}
    await gateway.sandbox("POST", "/control/say", said)
    await gateway.until_status(second, "READ")
