"""Linking a phone: codes, scans, log-outs and everything that ends a link, each told with a reason."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from gatepost.networks.qr.reasons import reason_of
from tests.conformance.conftest import new_qr_line
from tests.conformance.line import new_person, until
from tests.conformance.qr_line import QrLine
from tests.house import House

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def line(house: House) -> AsyncIterator[QrLine]:
    """A fresh channel that no phone is linked to."""
    yield await new_qr_line(house, linked=False)


async def states(line: QrLine) -> list[str]:
    """What the feed tells of the connection: each step begins where the last one ended, and has a reason."""
    told = await line.connections()
    befores = ["disconnected", *(one["state"] for one in told)]
    assert [one["previous"] for one in told] == befores[:-1]
    assert all(one["reason"] or one["state"] == "connected" for one in told)
    return [one["state"] for one in told]


async def until_reason(line: QrLine, state: str, reason: str) -> None:
    channel = await line.until_state(state)
    assert channel["connection"]["reason"].startswith(reason_of(reason).says)


async def code_after(line: QrLine, old: str) -> str:
    async def look() -> str | None:
        code: str = (await line.get("/channel/qr"))["code"]
        return code if code != old else None

    found = await until(look)
    assert found is not None
    return found


async def test_codes_renew_until_one_is_scanned(line: QrLine) -> None:
    asked = await line.call("POST", "/channel/connect")
    assert asked.json()["data"]["connection"]["state"] == "disconnected"
    codes = [(await line.get("/channel/qr"))["code"]]
    for seconds in (60, 20, 20):
        await line.advance(seconds - 1)
        assert (await line.get("/channel/qr"))["code"] == codes[-1]
        await line.advance(1)
        codes.append(await code_after(line, codes[-1]))
    assert len(set(codes)) == 4
    assert (await line.call("GET", "/channel/qr?format=svg")).body.startswith(b"<?xml")
    for wrong in ("format=gif", "format=", "form=png"):
        answer = await line.call("GET", f"/channel/qr?{wrong}")
        assert (answer.status, answer.json()["error"]["code"]) == (422, "invalid_field")
    old = await line.house.call(
        "POST", f"{line.house.sandbox_url}/control/phones/{line.phone}/scan", {"code": codes[0]}, key=""
    )
    assert old.status == 409
    await line.phone_does("scan", {"code": codes[-1]})
    await line.advance(0.5)
    channel = await line.until_state("connected")
    assert channel["link"]["linked_at"]
    assert channel["link"]["qr_until"] is None
    shown = [event["qr"] for event in await line.connections() if "qr" in event]
    assert shown == codes
    steps = await states(line)
    assert (steps[0], steps[-1]) == ("connecting", "connected")
    assert steps[1:5] == ["waiting_for_scan"] * 4
    nothing = await line.call("GET", "/channel/qr")
    assert (nothing.status, nothing.json()["error"]["code"]) == (409, "wrong_state")
    await line.until_status(await line.send(new_person(), body="Hello"), "READ")


async def test_a_pairing_code_is_typed(line: QrLine) -> None:
    answer = await line.call("POST", "/channel/pairing-code", {})
    assert answer.status == 200, answer.body
    code = answer.json()["data"]["code"]
    assert len(code) == 9
    await line.phone_does("pair", {"code": code})
    await line.advance(0.5)
    await line.until_state("connected")


async def test_nobody_scans(line: QrLine) -> None:
    await line.call("POST", "/channel/connect")
    first = (await line.get("/channel/qr"))["code"]
    await line.advance(160)
    await until_reason(line, "disconnected", "scan_expired")
    refused = await line.call("GET", "/channel/qr")
    assert (refused.status, refused.json()["error"]["code"]) == (409, "wrong_state")
    assert reason_of("scan_expired").says in refused.json()["message"]
    await line.call("POST", "/channel/connect")
    assert (await line.get("/channel/qr"))["code"] != first


async def test_the_phone_gives_up_half_way(line: QrLine) -> None:
    await line.call("POST", "/channel/connect")
    code = (await line.get("/channel/qr"))["code"]
    await line.phone_does("scan", {"code": code, "fail": True})
    await until_reason(line, "disconnected", "pair_failed")
    await line.link()


async def test_logged_out_from_here(line: QrLine) -> None:
    await line.link()
    assert (await line.call("POST", "/channel/logout")).status == 200
    await until_reason(line, "logged_out", "logged_out")
    assert (await line.sandbox_session())["phone"] is None
    assert (await line.get("/channel"))["link"] == {
        "wanted": False,
        "linked_at": None,
        "qr_until": None,
        "locked_until": None,
    }
    waits = await line.send(new_person(), body="Waits for a phone")
    await line.link()
    await line.until_status(waits, "READ")


async def test_logged_out_from_the_phone(line: QrLine) -> None:
    await line.link()
    await line.phone_does("logout")
    await until_reason(line, "logged_out", "logged_out")
    assert not (await line.get("/channel"))["link"]["wanted"]
    await line.link()


async def test_logged_out_from_here_while_the_link_is_down(line: QrLine) -> None:
    await line.link()
    await line.phone_does("drop", {"reason": "replaced"})
    await until_reason(line, "disconnected", "replaced")
    await line.call("POST", "/channel/logout")
    await line.until_state("logged_out")
    assert (await line.sandbox_session())["phone"] is None


@pytest.mark.parametrize("reason", ["replaced", "outdated_client", "could_not_load"])
async def test_ends_that_wait_for_somebody(line: QrLine, reason: str) -> None:
    await line.link()
    await line.phone_does("drop", {"reason": reason})
    await until_reason(line, "disconnected", reason)
    assert not (await line.get("/channel"))["link"]["wanted"]
    await line.call("POST", "/channel/connect")
    await line.until_state("connected")
    assert (await line.sandbox_session())["phone"] == line.phone


@pytest.mark.parametrize("reason", ["network_gone", "stream_error"])
async def test_ends_that_mend_themselves(line: QrLine, reason: str) -> None:
    await line.link()
    await line.phone_does("drop", {"reason": reason})
    person = new_person()
    sent = await line.send(person, body="Over the gap")
    await line.say(person, "text", {"body": "Into the gap"})
    await line.until_status(sent, "READ")
    await line.heard(person, 1)
    told = [(one["state"], one["reason"]) for one in await line.connections()]
    assert ("disconnected", reason_of(reason).says) in told
    assert (await line.taken_once(sent)).content == {"body": "Over the gap"}
    assert (await states(line))[-1] == "connected"


async def test_banned(line: QrLine) -> None:
    await line.link()
    await line.phone_does("ban")
    await until_reason(line, "banned", "banned")
    waits: Any = await line.send(new_person(), body="Waits")
    assert (await line.message(waits))["status"] == "PENDING"
    await line.phone_does("ban", {"seconds": 0})
    await line.call("POST", "/channel/connect")
    await line.until_status(waits, "READ")
