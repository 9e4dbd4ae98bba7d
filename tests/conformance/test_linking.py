"""Linking a phone: codes, scans, log-outs and everything that ends a link, each reported with a reason."""

from typing import Any

import pytest
import pytest_asyncio

from gatepost.networks.qr.reasons import reason_of
from tests.conformance.conftest import Lines, over
from tests.conformance.line import new_person, until
from tests.conformance.linked_line import LinkedLine
from tests.conformance.qr_line import QrLine

pytestmark = pytest.mark.asyncio(loop_scope="package")


@pytest_asyncio.fixture(loop_scope="package", params=["qr", "phone"])
async def line(request: Any, lines: Lines) -> LinkedLine:
    """A fresh channel that no phone is linked to."""
    return await lines.unlinked(request.param)


async def states(line: LinkedLine) -> list[str]:
    """The states of the connection in the feed: each step begins where the last one ended, and has a reason."""
    seen = await line.connections()
    befores = ["disconnected", *(one["state"] for one in seen)]
    assert [one["previous"] for one in seen] == befores[:-1]
    assert all(one["reason"] for one in seen)
    assert all(one["reason"] == reason_of("linked").text for one in seen if one["state"] == "connected")
    return [one["state"] for one in seen]


async def until_reason(line: LinkedLine, state: str, reason: str) -> None:
    now: dict[str, Any] = {}

    async def look() -> bool:
        now.update((await line.get("/channel"))["connection"])
        return now["state"] == state and (now["reason"] or "").startswith(reason_of(reason).text)

    await until(look, what=lambda: f"{state} because of {reason}; it is {now}")


async def code_after(line: LinkedLine, old: str) -> str:
    async def look() -> str | None:
        code: str = (await line.get("/channel/qr"))["code"]
        return code if code != old else None

    found = await until(look)
    assert found is not None
    return found


@over("qr")  # the library's own clock moves the codes on
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
    old = await line.gateway.call(
        "POST", f"{line.gateway.sandbox_url}/control/phones/{line.phone}/scan", {"code": codes[0]}, key=""
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


async def test_a_pairing_code_is_typed(line: LinkedLine) -> None:
    answer = await line.call("POST", "/channel/pairing-code", {})
    assert answer.status == 200, answer.body
    code = answer.json()["data"]["code"]
    assert len(code) == 9
    await line.type_code(code)
    await line.until_state("connected")


@over("qr")  # the library's own clock again
async def test_nobody_scans(line: LinkedLine) -> None:
    await line.call("POST", "/channel/connect")
    first = (await line.get("/channel/qr"))["code"]
    await line.advance(160)
    await until_reason(line, "disconnected", "scan_expired")
    refused = await line.call("GET", "/channel/qr")
    assert (refused.status, refused.json()["error"]["code"]) == (409, "wrong_state")
    assert reason_of("scan_expired").text in refused.json()["message"]
    await line.call("POST", "/channel/connect")
    assert (await line.get("/channel/qr"))["code"] != first


@over("qr")  # a phone that gives up says nothing to the library
async def test_the_phone_gives_up_half_way(line: QrLine) -> None:
    await line.call("POST", "/channel/connect")
    code = (await line.get("/channel/qr"))["code"]
    await line.phone_does("scan", {"code": code, "fail": True})
    await until_reason(line, "disconnected", "pair_failed")
    await line.link()


async def test_logged_out_from_here(line: LinkedLine) -> None:
    await line.link()
    assert (await line.call("POST", "/channel/logout")).status == 200
    await until_reason(line, "logged_out", "logged_out_here")
    assert not await line.is_linked()
    assert (await line.get("/channel"))["link"] == {
        "wanted": False,
        "linked_at": None,
        "qr_until": None,
        "locked_until": None,
    }
    waits = await line.send(new_person(), body="Waits for a phone")
    await line.link()
    await line.until_status(waits, "READ")


async def test_logged_out_from_the_phone(line: LinkedLine) -> None:
    await line.link()
    await line.end("logged_out")
    await until_reason(line, "logged_out", "logged_out")
    assert not (await line.get("/channel"))["link"]["wanted"]
    await line.link()


async def test_logged_out_from_here_while_the_link_is_down(line: LinkedLine) -> None:
    await line.link()
    await line.end("replaced")
    await until_reason(line, "disconnected", "replaced")
    await line.call("POST", "/channel/logout")
    await line.until_state("logged_out")
    assert not await line.is_linked()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        *(("qr", reason) for reason in ("replaced", "outdated_client", "could_not_load")),
        *(("phone", reason) for reason in ("replaced", "outdated_client")),  # it is loaded, as other tests show
    ],
    indirect=["line"],
)
async def test_ends_that_need_a_person(line: LinkedLine, reason: str) -> None:
    await line.link()
    await line.end(reason)
    await until_reason(line, "disconnected", reason)
    # After a problem of the installation the gateway tries again by itself, within an hour.
    assert (await line.get("/channel"))["link"]["wanted"] is (reason != "replaced")
    await line.heal()
    await line.call("POST", "/channel/connect")
    await line.until_state("connected")
    assert await line.is_linked()


@pytest.mark.parametrize(
    ("line", "reason"),
    [("qr", "network_gone"), ("qr", "stream_error"), ("phone", "network_gone")],
    indirect=["line"],
)
async def test_ends_after_which_the_link_reconnects(line: LinkedLine, reason: str) -> None:
    await line.link()
    await line.end(reason)
    person = new_person()
    sent = await line.send(person, body="Over the gap")
    await line.say(person, "text", {"body": "Into the gap"})
    await line.until_status(sent, "READ")
    await line.received(person, 1)
    seen = [one["reason"] for one in await line.connections() if one["state"] == "disconnected"]
    assert seen
    assert seen[-1].startswith(reason_of(reason).text)  # the library may say more
    assert (await line.taken_once(sent)).content == {"body": "Over the gap"}
    assert (await states(line))[-1] == "connected"


async def test_banned(line: LinkedLine) -> None:
    await line.link()
    await line.end("banned")
    await until_reason(line, "banned", "banned")
    waits: Any = await line.send(new_person(), body="Waits")
    assert (await line.message(waits))["status"] == "PENDING"
    await line.heal()
    await line.call("POST", "/channel/connect")
    await line.until_status(waits, "READ")
