"""The seed decides everything, a reset starts again, and every reason of a disconnect can be simulated."""

import re
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from gatepost_sandbox import SandboxSettings
from tests.sandbox.conftest import running
from tests.sandbox.driver import START, Driver

from .conftest import Dial, link_up
from .peer import ANA, PHONE, Peer, S

ECHO = "15555550123"


async def a_day(driver: Driver, dial: Dial, seed: int) -> list[Any]:
    """The same things happen; returns every frame and the ledger."""
    await driver.control("POST", "reset", {"seed": seed, "start": START, "frozen": True})
    peer = await dial("?auto_scan=1")
    await peer.open()
    await driver.advance(2)
    await driver.control("POST", "faults", {"fault": "refuse", "code": 500, "probability": 0.5})
    for number in range(8):
        await peer.send(number, ECHO if number % 2 else ANA)
    await driver.control("POST", f"phones/{PHONE}/incoming", {"from": {"phone": ANA}, "content": {"body": "Hi"}})
    await driver.advance(60)
    return [await peer.take(), peer.answers, await driver.ledger(phone_number_id=PHONE)]


async def test_the_seed_decides_everything(empty: Driver, dial: Dial) -> None:
    first, second, other = [await a_day(empty, dial, seed) for seed in (5, 5, 6)]
    assert first == second
    assert first[0] != other[0]


async def test_a_reset_cuts_the_links_and_forgets(empty: Driver, linked: Peer, dial: Dial) -> None:
    await empty.control("POST", "reset", {})
    with pytest.raises(ConnectionClosed):
        await linked.settle()
    assert await empty.control("GET", "sessions") == []
    again = await dial()
    await again.open()
    assert (await again.states())[-1] == ("waiting_for_scan", "started")


async def test_a_reset_may_keep_phones_and_devices(empty: Driver, linked: Peer, dial: Dial) -> None:
    await linked.send()
    said = {"from": {"phone": ANA}, "type": "text", "content": {"body": "Hi"}}
    first = await empty.control("POST", f"phones/{PHONE}/incoming", said)
    await empty.control("POST", "reset", {"keep_numbers": True})
    again = await dial()
    await again.open()
    assert (await again.states())[-1] == ("connected", "started")
    assert (await empty.control("GET", f"phones/{PHONE}/messages"))["messages"] == []
    assert (await empty.control("POST", f"phones/{PHONE}/incoming", said))["id"] != first["id"]


async def test_phones_and_sessions_are_shown(empty: Driver, linked: Peer) -> None:
    await empty.control("POST", "phones", {"phone": PHONE, "name": "Shop", "auto_scan": 3})
    [phone] = await empty.control("GET", "phones")
    assert (phone["name"], phone["auto_scan"], phone["sessions"]) == ("Shop", 3, [S])
    assert (await empty.call("GET", f"/control/phones/{ANA}")).status == 404
    for bad in ({"phone": "x"}, {"phone": PHONE, "auto_scan": -1}, {"phone": PHONE, "colour": 1}):
        assert (await empty.call("POST", "/control/phones", bad)).status == 400
    assert await empty.control("GET", "sessions") == [
        {
            "session": S,
            "phone": PHONE,
            "state": "connected",
            "reason": "linked",
            "code": None,
            "pairing_code": None,
            "last_seq": 0,
            "waiting": 0,
        }
    ]


async def test_messages_are_paged(empty: Driver, linked: Peer) -> None:
    for number in range(4):
        await linked.send(number)
    page = (await empty.control("GET", f"phones/{PHONE}/messages?skip=1&limit=2"))["messages"]
    assert [int(message["id"], 16) for message in page] == [1, 2]


async def test_official_numbers_and_phones_live_in_one_world(empty: Driver, linked: Peer) -> None:
    await empty.register()
    assert (await empty.text(ANA)).status == 200
    await linked.send(1, ANA)
    assert [row["phone_number_id"] for row in await empty.ledger(kind="accepted", to=ANA)] == [
        "106540352242922",
        PHONE,
    ]


async def test_the_sandbox_ends_though_a_link_is_open() -> None:
    with running(SandboxSettings()) as port:
        socket = await connect(f"ws://127.0.0.1:{port}/qr/link", proxy=None)
        peer = Peer(socket)
        await peer.open()
        assert (await peer.states())[-1] == ("waiting_for_scan", "started")
    with pytest.raises(ConnectionClosed):
        await peer.settle()
    await socket.close()


async def test_many_sessions_on_one_link(empty: Driver, dial: Dial) -> None:
    peer = await dial()
    for number in range(20):
        await link_up(empty, peer, f"ch_{number}", f"1555000{number:04}")
    for number in range(20):
        assert (await peer.send(number, session=f"ch_{number}"))["ok"] is True
    await empty.advance(10)
    events = await peer.take()
    assert {(e["session"], e["status"], e["seq"]) for e in events} == {
        (f"ch_{number}", status, seq)
        for number in range(20)
        for seq, status in enumerate(("sent", "delivered", "read"), 1)
    }


async def test_the_front_page_shows_the_link(empty: Driver) -> None:
    page = (await empty.call("GET", "/")).raw.decode()
    assert "/qr/link" in page
    assert len(re.findall(r"/control/phones", page)) >= 14
