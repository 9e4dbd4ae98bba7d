"""From the first code to a connected device, and all the ways it does not get there."""

import contextlib
import json

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.sandbox.driver import Driver

from .conftest import Dial, link_up
from .peer import BEN, PHONE, Peer, S

WAITING = [("connecting", "started"), ("waiting_for_scan", "started")]


async def codes(peer: Peer) -> list[tuple[str, float]]:
    return [(event["code"], event["seconds"]) for event in await peer.take() if event["event"] == "qr"]


async def test_six_codes_and_then_no_more(empty: Driver, peer: Peer) -> None:
    assert await peer.open() == {"re": 1, "ok": True}
    events = await peer.take()
    assert [event.get("state") for event in events] == ["connecting", "waiting_for_scan", None]
    seen = [(events[-1]["code"], events[-1]["seconds"])]
    for seconds in (60, 20, 20, 20, 20):
        await empty.advance(seconds - 0.001)
        assert await codes(peer) == []
        await empty.advance(0.001)
        seen += await codes(peer)
    assert [seconds for _, seconds in seen] == [60, 20, 20, 20, 20, 20]
    assert len({code for code, _ in seen}) == 6
    await empty.advance(19.999)
    assert await peer.take() == []
    await empty.advance(0.001)
    assert await peer.states() == [("disconnected", "scan_expired")]
    await empty.advance(3600)
    assert await peer.take() == []
    await peer.open()
    assert await peer.states() == WAITING


async def test_a_scan_links_restarts_and_connects(empty: Driver, peer: Peer) -> None:
    await empty.control("POST", "phones", {"phone": PHONE, "name": "Shop"})
    await peer.open()
    [code] = [event["code"] for event in await peer.take() if event["event"] == "qr"]
    await empty.control("POST", f"phones/{PHONE}/scan", {"code": code})
    linked, *rest = await peer.take()
    lid = (await empty.control("GET", f"phones/{PHONE}"))["lid"]
    assert linked == {"event": "linked", "session": S, "phone": PHONE, "lid": lid, "name": "Shop"}
    assert [(e["state"], e["reason"]) for e in rest] == [
        ("disconnected", "restart_required"),
        ("connecting", "restart_required"),
    ]
    assert (await peer.send())["sure"] is True
    await empty.advance(0.5)
    assert await peer.states() == [("connected", "linked")]
    assert (await peer.send())["ok"] is True
    assert (await empty.control("GET", f"phones/{PHONE}"))["sessions"] == [S]


@pytest.mark.parametrize(("age", "status"), [(59.999, 200), (60.0, 409)])
async def test_a_code_can_be_scanned_until_its_last_moment(empty: Driver, peer: Peer, age: float, status: int) -> None:
    await peer.open()
    [(code, _)] = await codes(peer)
    await empty.advance(age)
    assert (await empty.call("POST", f"/control/phones/{PHONE}/scan", {"code": code})).status == status


async def test_a_code_is_scanned_once(empty: Driver, peer: Peer) -> None:
    await peer.open()
    [(code, _)] = await codes(peer)
    await empty.control("POST", f"phones/{PHONE}/scan", {"code": code})
    for body in ({"code": code}, {"session": S}, {"session": "nobody"}):
        assert (await empty.call("POST", f"/control/phones/{PHONE}/scan", body)).status == 409
    for wrong in ({}, {"code": code, "session": S}, {"colour": 1}):
        assert (await empty.call("POST", f"/control/phones/{PHONE}/scan", wrong)).status == 400


async def test_whichever_phone_scans_is_the_one_that_is_linked(empty: Driver, peer: Peer) -> None:
    await peer.open(phone=None)
    await empty.control("POST", f"phones/{BEN}/scan", {"session": S})
    assert [event["phone"] for event in await peer.take() if event["event"] == "linked"] == [BEN]


async def test_a_pairing_code_is_typed_by_its_phone(empty: Driver, peer: Peer) -> None:
    assert (await peer.ask("pair", phone=PHONE))["error"]["title"] == "Not open"
    await peer.open()
    first = (await peer.ask("pair", phone=PHONE))["code"]
    code = (await peer.ask("pair", phone=PHONE))["code"]
    assert (len(code), code[4]) == (9, "-")
    assert first != code
    for phone, typed in ((BEN, code), (PHONE, first), (PHONE, "AAAA-AAAA")):
        assert (await empty.call("POST", f"/control/phones/{phone}/pair", {"code": typed})).status == 409
    await empty.advance(159.999)
    await empty.control("POST", f"phones/{PHONE}/pair", {"code": code})
    await empty.advance(0.5)
    assert (await peer.states())[-1] == ("connected", "linked")
    assert (await peer.ask("pair", phone=PHONE))["error"]["title"] == "Not waiting"


async def test_a_pairing_code_dies_with_the_last_code(empty: Driver, peer: Peer) -> None:
    await peer.open()
    code = (await peer.ask("pair", phone=PHONE))["code"]
    await empty.advance(160)
    assert (await empty.call("POST", f"/control/phones/{PHONE}/pair", {"code": code})).status == 409


async def test_a_link_may_ask_phones_to_scan_by_themselves(empty: Driver, dial: Dial) -> None:
    peer = await dial("?auto_scan=2")
    await peer.open()
    await empty.advance(1.999)
    assert await peer.states() == WAITING
    await empty.advance(0.501)
    assert (await peer.states())[-1] == ("connected", "linked")


async def test_a_phone_may_scan_by_itself(empty: Driver, dial: Dial) -> None:
    peer = await dial("?auto_scan=2")
    await empty.control("POST", "phones", {"phone": PHONE, "auto_scan": 70})
    await peer.open()
    await empty.advance(69.999)
    assert [event["event"] for event in await peer.take()] == ["connection", "connection", "qr", "qr"]
    await empty.advance(0.501)
    assert (await peer.states())[-1] == ("connected", "linked")


async def test_a_scan_by_itself_does_not_come_after_the_end(empty: Driver, dial: Dial) -> None:
    peer = await dial("?auto_scan=10")
    await peer.open()
    await peer.ask("close")
    await empty.advance(200)
    assert await peer.states() == [*WAITING, ("disconnected", "closed")]


@pytest.mark.parametrize("query", ["?auto_scan=soon", "?auto_scan=-1", "?auto_scan=inf"])
async def test_a_link_with_an_invalid_option_is_refused(dial: Dial, query: str) -> None:
    with pytest.raises(InvalidStatus):
        await dial(query)


async def test_a_scan_may_fail(empty: Driver, peer: Peer) -> None:
    await peer.open()
    await empty.control("POST", f"phones/{PHONE}/scan", {"session": S, "fail": True})
    assert await peer.states() == [*WAITING, ("disconnected", "pair_failed")]
    await empty.advance(200)
    assert await peer.take() == []


async def test_a_banned_phone_cannot_be_linked(empty: Driver, peer: Peer) -> None:
    await empty.control("POST", f"phones/{PHONE}/ban", {})
    await peer.open()
    await empty.control("POST", f"phones/{PHONE}/scan", {"session": S})
    assert await peer.states() == [*WAITING, ("disconnected", "pair_failed")]


async def test_a_known_device_connects_without_a_scan(empty: Driver, linked: Peer, dial: Dial) -> None:
    assert await linked.ask("close") == {"re": max(linked.answers), "ok": True}
    assert await linked.states() == [("disconnected", "closed")]
    assert (await linked.send())["error"]["title"] == "Not connected"
    again = await dial()
    await again.open()
    assert await again.states() == [("connecting", "started"), ("connected", "started")]
    assert await linked.take() == [{"event": "connection", "session": S, "state": "disconnected", "reason": "replaced"}]


async def test_logging_out_forgets_the_device(linked: Peer) -> None:
    assert (await linked.ask("logout"))["ok"] is True
    assert await linked.states() == [("logged_out", "logged_out")]
    await linked.open()
    assert await linked.states() == WAITING


async def test_opening_again_on_the_same_link_reports_its_state(empty: Driver, peer: Peer) -> None:
    await peer.open()
    [(code, _)] = await codes(peer)
    await empty.advance(15)
    await peer.open()
    state, qr = await peer.take()
    assert (state["state"], qr["code"], qr["seconds"]) == ("waiting_for_scan", code, 45)
    await empty.control("POST", f"phones/{PHONE}/scan", {"session": S})
    await empty.advance(0.5)
    await peer.take()
    await peer.open()
    assert await peer.states() == [("connected", "linked")]


async def test_two_sessions_share_a_link_and_a_phone(empty: Driver, linked: Peer) -> None:
    await link_up(empty, linked, "ch_2")
    await empty.control("POST", f"phones/{PHONE}/incoming", {"from": {"phone": BEN}, "content": {"body": "Hi"}})
    assert [(event["session"], event["seq"]) for event in await linked.take()] == [(S, 1), ("ch_2", 1)]


async def test_a_session_belongs_to_one_link(empty: Driver, linked: Peer, dial: Dial) -> None:
    other = await dial()
    assert (await other.send())["error"]["title"] == "Not open"
    await other.open()
    assert (await other.send())["ok"] is True
    assert (await linked.send(2))["error"]["title"] == "Not open"


async def test_frames_that_make_no_sense(peer: Peer) -> None:
    assert (await peer.ask("dance"))["error"]["title"] == "Malformed frame"
    assert (await peer.ask("open", session=""))["error"]["details"].endswith("`$.session`")
    assert (await peer.ask("open", phone="+1 555"))["error"]["title"] == "Malformed frame"
    await peer.socket.send("[1]")
    with pytest.raises(ConnectionClosed) as closed:
        await peer.settle()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1007


async def test_a_frame_has_its_limit(peer: Peer) -> None:
    bare = json.dumps({"op": "ping", "ref": 77, "pad": ""})
    full = bare.replace('""', f'"{"x" * (2**20 - len(bare))}"')
    assert len(full) == 2**20
    await peer.socket.send(full)
    assert (await peer.answer(77))["ok"] is True
    with contextlib.suppress(ConnectionClosed):  # it may end while the frame is still being sent
        await peer.socket.send(full + " ")
    with pytest.raises(ConnectionClosed):
        await peer.settle()


async def test_only_one_path_is_a_link(dial: Dial) -> None:
    with pytest.raises(InvalidStatus):
        await dial("/further")
