"""The control API answers to its own address only, takes no page's word, and changes nothing by anything but JSON."""

import json
from typing import Any

import pytest
import websockets

from tests.for_each import for_each

from .driver import Driver

MOVE = b'{"advance": 60}'
JSON = {"Content-Type": "application/json"}


async def ask(sandbox: Driver, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> tuple[int, Any]:
    request = sandbox._client.request(method, f"{sandbox.base}{path}")
    for name, value in headers.items():
        request = request.header(name, value)
    answer = await (request.body_bytes(body) if body else request).build().send()
    return answer.status, json.loads(bytes(await answer.bytes()))


def own(sandbox: Driver) -> str:
    return sandbox.base.removeprefix("http://")


@for_each("method", ["GET", "POST"])
@for_each("host", ["evil.example", "evil.example:8081", "127.0.0.1.evil.example", "localhost.evil.org"])
async def test_a_name_that_is_not_its_own_is_refused(empty: Driver, host: str, method: str) -> None:
    before = await empty.control("GET", "clock")
    body = MOVE if method == "POST" else b""
    status, seen = await ask(empty, method, "/control/clock", {**JSON, "Host": host}, body)
    assert status == 403
    assert host in seen["error"]
    assert (await empty.control("GET", "clock"))["now"] == before["now"]


@pytest.mark.parametrize("host", ["localhost", "localhost:8081", "127.0.0.1:1", "[::1]:8081", "192.168.1.7:8081"])
async def test_its_own_addresses_are_not(empty: Driver, host: str) -> None:
    status, _ = await ask(empty, "GET", "/control/clock", {"Host": host})
    assert status == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
async def test_a_page_of_another_site_is_refused(empty: Driver, origin: str) -> None:
    status, _ = await ask(empty, "POST", "/control/clock", {**JSON, "Origin": origin}, MOVE)
    assert status == 403
    status, _ = await ask(empty, "DELETE", "/control/faults", {"Origin": origin})
    assert status == 403


async def test_its_own_page_is_not(empty: Driver) -> None:
    status, _ = await ask(empty, "POST", "/control/clock", {**JSON, "Origin": empty.base}, MOVE)
    assert status == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", None])
async def test_a_change_that_is_not_json_is_refused(empty: Driver, kind: str | None) -> None:
    before = await empty.control("GET", "clock")
    status, seen = await ask(empty, "POST", "/control/clock", {} if kind is None else {"Content-Type": kind}, MOVE)
    assert status == 415
    assert "application/json" in seen["error"]
    assert (await empty.control("GET", "clock"))["now"] == before["now"]


async def test_json_may_name_its_charset_and_nothing_needs_no_type(empty: Driver) -> None:
    status, _ = await ask(empty, "POST", "/control/clock", {"Content-Type": "application/json; charset=utf-8"}, MOVE)
    assert status == 200
    status, _ = await ask(empty, "POST", "/control/reset", {})
    assert status == 200


async def test_the_network_itself_answers_to_any_name(sandbox: Driver) -> None:
    headers = {"Host": "graph.example", "Origin": "https://shop.example", "Authorization": "Bearer nobody"}
    status, seen = await ask(sandbox, "GET", "/v25.0/1", headers)
    assert (status, seen["error"]["code"]) == (401, 190)


async def test_a_page_of_another_site_opens_no_link(empty: Driver) -> None:
    with pytest.raises(websockets.exceptions.InvalidStatus):
        async with websockets.connect(f"ws://{own(empty)}/qr/link", origin="https://evil.example"):  # type: ignore[arg-type]
            pass
    port = int(own(empty).rpartition(":")[2])
    evil = f"evil.example:{port}"  # a name that leads to this machine
    with pytest.raises(websockets.exceptions.InvalidStatus):
        async with websockets.connect(f"ws://{evil}/qr/link", origin=f"http://{evil}", host="127.0.0.1", port=port):  # type: ignore[arg-type]
            pass
