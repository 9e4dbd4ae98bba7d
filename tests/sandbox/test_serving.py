"""The program as a whole: front page, health, numbers, start and stop, and that it stands alone."""

import asyncio
import re
import signal
import sys
import textwrap
from pathlib import Path
from typing import Any

import gatepost_sandbox
from gatepost_sandbox.graph.asgi import BODY_MAX, read_body
from tests.patience import PATIENCE

from .driver import NUMBER, TOKEN, Driver

DOCS = Path(__file__).parents[2] / "docs" / "reference"
PROGRAM = """
import asyncio, sys
from gatepost_sandbox import SandboxSettings, serve
asyncio.run(serve("127.0.0.1", 0, SandboxSettings(), ready=lambda port: print(port, flush=True)))
print("ended well", flush=True)
"""


async def test_the_front_page_lists_every_control_route(empty: Driver) -> None:
    page = (await empty.call("GET", "/")).raw.decode()
    for path in ("numbers", "people", "say", "faults", "clock", "reset", "ledger", "ledger/summary", "settings"):
        assert f"/control/{path}" in page
    assert (await empty.call("GET", "/healthz")).json == {"status": "ok"}


async def test_every_control_route_is_documented(empty: Driver) -> None:
    page = (await empty.call("GET", "/")).raw.decode()
    docs = "".join(page.read_text() for page in sorted(DOCS.glob("sandbox*.md")))
    routes = re.findall(r"^  (\w+) +(/control/\S+)", page, re.MULTILINE)
    assert len(routes) > 20
    for method, path in routes:
        assert f"`{method} {path.replace(':str', '')}`" in docs


async def test_numbers_are_listed_changed_and_removed(sandbox: Driver) -> None:
    [number] = await sandbox.control("GET", "numbers")
    assert number == await sandbox.control("GET", f"numbers/{NUMBER}")
    changed = await sandbox.control("PATCH", f"numbers/{NUMBER}", {"name": "New", "limits": {"throughput": 1000}})
    assert (changed["name"], changed["limits"], changed["effective"]["limits"]["pair_burst"]) == (
        "New",
        {"throughput": 1000},
        45,
    )
    changed = await sandbox.control("PATCH", f"numbers/{NUMBER}", {"limits": {"window": True}})
    assert changed["limits"] == {"throughput": 1000, "window": True}
    for bad in ({"phone_number_id": "1"}, {"limits": {"throughput": -1}}, {"limits": {"speed": 1}}, {"colour": 1}):
        assert (await sandbox.call("PATCH", f"/control/numbers/{NUMBER}", bad)).status == 400
    assert await sandbox.control("GET", f"numbers/{NUMBER}") == changed
    await sandbox.control("DELETE", f"numbers/{NUMBER}")
    assert (await sandbox.call("DELETE", f"/control/numbers/{NUMBER}")).status == 404
    assert (await sandbox.text()).code == 190


DEEP = b"[" * 5_000
QR_CODE = {"prefilled_message": "Hello", "code": ["A"]}


async def test_bodies_that_cannot_be_read(sandbox: Driver) -> None:
    for path in (f"{NUMBER}/messages", f"{NUMBER}/block_users", NUMBER):
        refused = await sandbox.call("POST", f"/v25.0/{path}", DEEP, TOKEN)
        assert (refused.status, refused.code) == (400, 100)
    assert (await sandbox.call("PUT", "/control/people/5511999990001", b'{"name":%b' % DEEP)).status == 400
    assert (await sandbox.call("POST", f"/v25.0/{NUMBER}/message_qrdls", QR_CODE, TOKEN)).status == 400
    assert (await sandbox.call("GET", "/control/people/abc")).status == 400
    changed = {"from": "5511999990001", "type": "system", "system": {"type": []}}
    await sandbox.control("POST", f"numbers/{NUMBER}/incoming", changed)
    form = {"type": "nfm_reply", "nfm_reply": {"response_json": DEEP.decode()}}
    filled = {"from": "5511999990001", "type": "interactive", "interactive": form}
    await sandbox.control("POST", f"numbers/{NUMBER}/incoming", filled)
    [chat] = (await sandbox.control("GET", "chats"))["chats"]
    assert chat["last"]["view"] == {"unsupported": True}


async def test_a_body_that_is_too_large_is_not_read_to_its_end() -> None:
    piece, asked = b"x" * (1024 * 1024), 0

    async def receive() -> dict[str, Any]:
        nonlocal asked
        asked += 1
        return {"type": "http.request", "body": piece, "more_body": True}

    assert await asyncio.wait_for(read_body(receive), PATIENCE) is None
    assert asked == BODY_MAX // len(piece) + 1


async def test_settings_that_belong_elsewhere(empty: Driver) -> None:
    reply = await empty.call("PATCH", "/control/settings", {"seed": 3})
    assert (reply.status, reply.json) == (400, {"error": "seed: use /control/clock or /control/reset"})
    assert (await empty.call("PATCH", "/control/settings", {"delays": {"sent": -1}})).status == 400
    assert (await empty.call("PATCH", "/control/settings", {"delays": {"tomorrow": 1}})).status == 400
    assert (await empty.call("POST", "/control/clock", b"{")).status == 400


async def test_sigterm_ends_the_program_well_though_a_request_hangs() -> None:
    program = await asyncio.create_subprocess_exec(sys.executable, "-c", PROGRAM, stdout=asyncio.subprocess.PIPE)
    assert program.stdout is not None
    port = int(await program.stdout.readline())
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for path, body in (
        ("/control/numbers", '{"phone_number_id":"1","phone":"15550001111","token":"t","app_secret":"s"}'),
        ("/control/faults", '{"fault":"accept_hang","seconds":3600}'),
        ("/v25.0/1/messages", '{"messaging_product":"whatsapp","to":"5511999990000","text":{"body":"x"}}'),
    ):
        head = f"POST {path} HTTP/1.1\r\nHost: [::1]\r\nAuthorization: Bearer t\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        if path.startswith("/control"):
            assert b"200" in await reader.readuntil(b"\r\n\r\n")
            await reader.read(4096)
    await asyncio.sleep(0.1)
    program.send_signal(signal.SIGTERM)
    rest = await asyncio.wait_for(program.stdout.read(), PATIENCE)
    assert (rest.decode().strip(), await program.wait()) == ("ended well", 0)
    writer.close()


def test_it_imports_nothing_else_of_gatepost() -> None:
    folder = Path(gatepost_sandbox.__file__).parent
    for file in folder.rglob("*.py"):
        for line in file.read_text().splitlines():
            if re.match(r"\s*(from|import) gatepost", textwrap.dedent(line)):
                assert re.match(r"\s*(from|import) gatepost_sandbox\b", line), f"{file.name}: {line}"
