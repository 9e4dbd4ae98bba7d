"""The feed: everything that changes is pushed, in order, to every reader, and no reader can fill the memory."""

import asyncio
import contextlib
import json
import socket
from pathlib import Path

import pytest
from pyreqwest.client import Client

from gatepost_sandbox import SandboxSettings
from gatepost_sandbox.feeds import FEEDS_MAX
from tests.patience import PATIENCE
from tests.sandbox.conftest import running
from tests.sandbox.driver import NUMBER, START, Driver
from tests.sandbox.qr.peer import PHONE

from .phone import ANA, PersonPhone, open_feed, until_closed


async def test_a_message_and_its_statuses_are_pushed(sandbox: Driver) -> None:
    async with open_feed(sandbox) as feed:
        wamid = (await sandbox.text(ANA, "ring")).wamid
        data = await feed.until("message")
        assert (data["message"]["id"], data["message"]["view"]) == (wamid, {"text": "ring"})
        assert data["chat"]["person"] == ANA
        await sandbox.advance(2)
        for status in ("sent", "delivered", "read"):
            assert (await feed.until("message", id=wamid, status=status))["message"]["view"] == {"text": "ring"}


async def test_what_the_feed_pushes_is_what_a_request_returns(sandbox: Driver) -> None:
    ana = PersonPhone(sandbox)
    async with open_feed(sandbox) as feed:
        sent = await ana.send("text", text="hi")
        assert await feed.until("message") == {"chat": await ana.chat(), "message": sent}


async def test_several_readers_and_one_person(sandbox: Driver) -> None:
    async with open_feed(sandbox) as all_, open_feed(sandbox, f"?person={ANA}") as of_ana:
        await sandbox.text("5511999990001")
        await sandbox.text(ANA)
        assert (await all_.until("message"))["chat"]["person"] == "5511999990001"
        assert (await all_.until("message"))["chat"]["person"] == ANA
        assert (await of_ana.until("message"))["chat"]["person"] == ANA


async def test_other_changes_are_named(sandbox: Driver) -> None:
    async with open_feed(sandbox) as feed:
        for method, path, body, what in (
            ("PUT", f"people/{ANA}", {"name": "Ana"}, "people"),
            ("PATCH", f"numbers/{NUMBER}", {"name": "New"}, "numbers"),
            ("POST", f"numbers/{NUMBER}/quality", {"rating": "YELLOW"}, "numbers"),
            ("POST", "phones", {"phone": PHONE}, "phones"),
            ("POST", "faults", {"fault": "drop", "to": "1"}, "faults"),
            ("PATCH", "settings", {"delays": {"read": 3}}, "settings"),
            ("POST", "clock", {"advance": 1}, "clock"),
        ):
            await sandbox.control(method, path, body)
            await feed.until("changed", what=what)


async def test_a_reading_request_is_no_change(sandbox: Driver) -> None:
    async with open_feed(sandbox) as feed:
        for path in ("templates", "numbers", "people", "phones", "sessions", "chats", f"chats/{ANA}/{NUMBER}"):
            await sandbox.control("GET", path)
        await sandbox.control("PUT", f"people/{ANA}", {"name": "Ana"})
        assert await feed.event() == ("changed", {"what": "people"})


async def test_a_reset_changes_everything_and_the_feed_goes_on(sandbox: Driver) -> None:
    async with open_feed(sandbox) as feed:
        await sandbox.text(ANA)
        await sandbox.control("POST", "reset", {"keep_numbers": True})
        await feed.until("changed", what="all")
        assert (await sandbox.control("GET", "chats"))["chats"] == []
        await sandbox.text(ANA, "after")
        assert (await feed.until("message"))["message"]["view"] == {"text": "after"}


async def test_chats_that_are_gone_are_read_again(sandbox: Driver) -> None:
    await sandbox.text(ANA)
    async with open_feed(sandbox) as feed:
        await sandbox.control("POST", f"people/{ANA}/number", {"phone": "5511999997777"})
        await feed.until("changed", what="all")
        await sandbox.control("DELETE", f"numbers/{NUMBER}")
        await feed.until("changed", what="all")


async def test_the_ledger_is_pushed_to_those_who_ask(sandbox: Driver) -> None:
    async with open_feed(sandbox, "?ledger=true") as feed, open_feed(sandbox) as other:
        await sandbox.text(ANA)
        row = await feed.until("ledger")
        assert [row] == await sandbox.ledger(kind="accepted")
        await other.until("message")
        assert [name for name, _ in other.seen] == ["ready", "message"]


async def test_there_is_a_largest_number_of_feeds(sandbox: Driver) -> None:
    async with contextlib.AsyncExitStack() as feeds:
        for _ in range(FEEDS_MAX):
            await feeds.enter_async_context(open_feed(sandbox))
        reply = await sandbox.call("GET", "/control/feed")
        assert reply.status == 503
        assert str(FEEDS_MAX) in reply.json["error"]
    await until_closed(sandbox, 0)


async def test_a_silent_feed_has_heartbeats(sandbox: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gatepost_sandbox.feeds.HEARTBEAT", 0.01)
    async with open_feed(sandbox) as feed:
        assert await feed.block() == ": heartbeat"


async def test_a_slow_reader_gets_one_event_instead_of_all(sandbox: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader reads nothing until far more than the buffers of both sockets was written."""
    monkeypatch.setattr("gatepost_sandbox.feeds.BUFFER_MAX", 200_000)
    host, port = sandbox.base.removeprefix("http://").split(":")
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    plain.connect((host, int(port)))
    reader, writer = await asyncio.open_connection(sock=plain, limit=2**12)
    writer.write(f"GET /control/feed HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    assert b"event: ready" in await reader.readuntil(b"event: ready")
    ana = PersonPhone(sandbox)
    for _ in range(150):
        await ana.send("text", text="x" * 60_000)
    read = b""
    async with asyncio.timeout(PATIENCE):
        while b'"what":"all"' not in read[-70_000:]:
            read = read[-70_000:] + await reader.read(2**16)
    await ana.send("text", text="the last one")
    async with asyncio.timeout(PATIENCE):
        while b"the last one" not in read[-70_000:]:
            read = read[-70_000:] + await reader.read(2**16)
    writer.close()
    await writer.wait_closed()


async def test_a_stop_ends_the_feed_and_a_restart_keeps_the_chat(client: Client, tmp_path: Path) -> None:
    settings = SandboxSettings(seed=7, start=START, frozen=True)
    with running(settings, tmp_path / "sandbox") as port:
        sandbox = Driver(client, port)
        await sandbox.register()
        await sandbox.text(ANA)
        before = await PersonPhone(sandbox).show()
        feeds = contextlib.AsyncExitStack()
        feed = await feeds.enter_async_context(open_feed(sandbox))
        assert feed.seen
    async with feeds:
        assert await feed.block() is None
    with running(settings, tmp_path / "sandbox") as port:
        assert await PersonPhone(Driver(client, port)).show() == before


@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
async def test_other_origins_are_refused(client: Client, sandbox: Driver, origin: str) -> None:
    ana = PersonPhone(sandbox)
    for path in ("feed", "chats", ana.path, f"files/{NUMBER}/1"):
        answer = await client.get(f"{sandbox.base}/control/{path}").header("Origin", origin).build().send()
        assert answer.status == 403, path
    body = json.dumps({"type": "text", "text": "x"}).encode()
    for headers, status in (
        ({"Origin": origin, "Content-Type": "application/json"}, 403),
        ({"Content-Type": "text/plain"}, 415),
    ):
        for action in ("send", "read"):
            request = client.post(f"{sandbox.base}/control/{ana.path}/{action}").headers(headers).body_bytes(body)
            assert (await request.build().send()).status == status
    assert await ana.messages() == []
