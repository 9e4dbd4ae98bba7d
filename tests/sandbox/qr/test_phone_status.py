"""What befalls a phone and its links: lost, replaced, logged out, banned, locked."""

from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from tests.sandbox.driver import START, Driver

from .conftest import Dial
from .peer import ANA, BEN, PHONE, Peer, S

NOW = START + 0.5  # when the `linked` fixture is done


async def befall(driver: Driver, what: str, body: Any = None) -> Any:
    return await driver.control("POST", f"phones/{PHONE}/{what}", {} if body is None else body)


@pytest.mark.parametrize("reason", ["network_gone", "stream_error", "replaced", "outdated_client", "could_not_load"])
async def test_a_lost_connection_is_opened_again(empty: Driver, linked: Peer, reason: str) -> None:
    await befall(empty, "drop", {"reason": reason})
    assert await linked.states() == [("disconnected", reason)]
    refused = await linked.send()
    assert (refused["error"]["code"], refused["sure"]) == (0, True)
    await empty.advance(3600)
    assert await linked.take() == []
    await linked.open()
    assert await linked.states() == [("connecting", "started"), ("connected", "started")]
    assert (await linked.send())["ok"] is True


async def test_a_lost_connection_may_come_back_by_itself(empty: Driver, linked: Peer) -> None:
    await befall(empty, "drop", {"seconds": 30})
    await empty.advance(29.999)
    assert await linked.states() == [("disconnected", "network_gone")]
    await empty.advance(0.001)
    assert await linked.states() == [("connecting", "started"), ("connected", "started")]


async def test_opening_overtakes_coming_back(empty: Driver, linked: Peer) -> None:
    await befall(empty, "drop", {"seconds": 30})
    await linked.open()
    await linked.take()
    await empty.advance(60)
    assert await linked.take() == []


async def test_an_unknown_reason_is_refused(empty: Driver, linked: Peer) -> None:
    assert (await empty.call("POST", f"/control/phones/{PHONE}/drop", {"reason": "boredom"})).status == 400
    assert (await empty.call("POST", f"/control/phones/{ANA}/drop", {})).status == 404


async def test_the_link_itself_is_cut(empty: Driver, linked: Peer, dial: Dial) -> None:
    await empty.control("POST", f"phones/{PHONE}/cut")
    with pytest.raises(ConnectionClosed):
        await linked.settle()
    [session] = await empty.control("GET", "sessions")
    assert (session["state"], session["reason"], session["phone"]) == ("disconnected", "driver_gone", PHONE)
    again = await dial()
    await again.open()
    assert await again.states() == [("connecting", "started"), ("connected", "started")]


async def test_another_link_takes_the_session_over(linked: Peer, dial: Dial) -> None:
    other = await dial()
    await other.open()
    assert await linked.states() == [("disconnected", "replaced")]
    await linked.socket.close()
    assert (await other.send())["ok"] is True


async def test_logged_out_from_the_phone(empty: Driver, linked: Peer) -> None:
    await befall(empty, "logout")
    assert await linked.states() == [("logged_out", "logged_out")]
    assert (await linked.send())["error"]["title"] == "Not connected"
    await linked.open()
    assert (await linked.states())[-1] == ("waiting_for_scan", "started")


async def test_banned_for_ever(empty: Driver, linked: Peer) -> None:
    assert (await befall(empty, "ban"))["banned"] is True
    [event] = await linked.take()
    assert event == {"event": "connection", "session": S, "state": "banned", "reason": "banned"}
    assert (await linked.send())["sure"] is True
    await empty.advance(1e9)
    await linked.open()
    assert await linked.states() == [("connecting", "started"), ("banned", "banned")]
    await befall(empty, "ban", {"seconds": 0})
    assert await linked.states() == [("connected", "started")]


async def test_banned_for_a_while(empty: Driver, linked: Peer) -> None:
    await empty.advance(0.5)
    await befall(empty, "ban", {"seconds": 100})
    [event] = await linked.take()
    assert event["until"] == int(START) + 101
    await empty.advance(99.999)
    assert await linked.take() == []
    await empty.advance(0.001)
    assert await linked.states() == [("connected", "started")]


async def test_the_time_lock_spares_conversations_that_exist(empty: Driver, linked: Peer) -> None:
    await linked.send(1, ANA)
    await empty.control("POST", f"phones/{PHONE}/incoming", {"from": {"phone": BEN}, "content": {"body": "Hi"}})
    await empty.advance(10)
    await linked.take()
    seen = await befall(empty, "lock", {"seconds": 100})
    until = seen["locked_until"]
    [event] = await linked.take()
    assert (event["state"], event["reason"], event["until"]) == ("limited", "time_locked", int(until) + 1)
    refused = await linked.send(2, "15550007777")
    assert (refused["error"]["code"], refused["sure"]) == (463, True)
    assert [(await linked.send(3, ANA)).get("ok"), (await linked.send(4, BEN)).get("ok")] == [True, True]
    await linked.take()
    await empty.control("POST", "clock", {"set": until - 0.001})
    assert (await linked.send(2, "15550007777"))["error"]["code"] == 463
    await empty.control("POST", "clock", {"set": until})
    assert (await linked.states()) == [("connected", "started")]
    assert (await linked.send(2, "15550007777"))["ok"] is True


async def test_the_time_lock_is_reported_to_a_link_that_opens(empty: Driver, linked: Peer) -> None:
    await linked.ask("close")
    await befall(empty, "lock", {"seconds": 100})
    await linked.open()
    assert (await linked.states())[-1] == ("limited", "time_locked")
    await linked.open()
    assert [event["until"] for event in await linked.take()] == [int(NOW) + 101]
    await befall(empty, "lock", {"seconds": 0})
    assert await linked.states() == [("connected", "started")]


async def test_a_longer_lock_outlives_the_first(empty: Driver, linked: Peer) -> None:
    await befall(empty, "lock", {"seconds": 100})
    await befall(empty, "lock", {"seconds": 200})
    await linked.take()
    await empty.advance(199.999)
    assert await linked.take() == []
    await empty.advance(0.001)
    assert await linked.states() == [("connected", "started")]
