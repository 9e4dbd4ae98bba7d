"""A gateway that is told to stop, while it runs and while it starts; and a command that started the database."""

import asyncio
import json
import os
import re
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from gatepost.cli.serve import check_port
from gatepost.stop_signals import stop_on_signals
from gatepost.store.embedded import running_dsn
from gatepost.store.embedded.data_folder import holder_of
from gatepost.store.embedded.postmaster import leftovers
from gatepost.store.pool import Database
from tests.cli.conftest import Run, invoke
from tests.gateway.test_export import fill
from tests.patience import PATIENCE, patience


async def test_open_streams_do_not_hold_up_the_end(run: Run, channel: str, database_url: str, tmp_path: Path) -> None:
    key = await asyncio.to_thread(lambda: run("key", "create", channel, "test", "--json").json()["key"])
    places = ("--database-url", database_url, "--data", str(tmp_path), "--port", "0", "--role", "api")
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "gatepost.cli", "serve", *places),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "GATEPOST_SERVER__DRAIN_SECONDS": "600", "NO_COLOR": "1"},
    )
    try:
        assert program.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while not (found := re.search(rb"http://127\.0\.0\.1:([0-9]+)", await program.stdout.readline())):
                pass
        reader, writer = await asyncio.open_connection("127.0.0.1", int(found.group(1)), family=socket.AF_INET)
        head = f"GET /api/v1/events/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n"
        writer.write(head.encode())
        assert b"retry: 2000" in await asyncio.wait_for(reader.readuntil(b"\n\n"), PATIENCE)
        program.send_signal(signal.SIGHUP)  # its terminal was closed
        rest = await asyncio.wait_for(reader.read(), PATIENCE)
        assert rest.endswith(b"0\r\n\r\n")  # a clean end, not a cut
        assert await asyncio.wait_for(program.wait(), PATIENCE) == 0
        writer.close()
        check_port("127.0.0.1", int(found.group(1)), "--port")  # free for the next gateway at once
    finally:
        if program.returncode is None:
            program.kill()
            await program.wait()


async def test_an_export_that_is_cut_off_is_one_line_of_the_log(
    run: Run, channel: str, database_url: str, tmp_path: Path
) -> None:
    key = await asyncio.to_thread(lambda: run("key", "create", channel, "test", "--json").json()["key"])
    await asyncio.to_thread(run, "send", channel, "5511999998888", "Hello")
    db = await Database.connect(database_url, connections=1)
    await fill(db, channel, 20_000)
    await db.close()
    places = ("--database-url", database_url, "--data", str(tmp_path), "--port", "0", "--role", "api")
    with (tmp_path / "log").open("wb") as log:
        program = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "gatepost.cli", "serve", *places),
            stderr=log,
            env={**os.environ, "GATEPOST_SERVER__DRAIN_SECONDS": "1"},
        )
    try:
        async with patience((tmp_path / "log").read_text):
            while not (found := re.search(r'"http://127\.0\.0\.1:([0-9]+)"', (tmp_path / "log").read_text())):
                await asyncio.sleep(0.02)
        reader, writer = await asyncio.open_connection("127.0.0.1", int(found.group(1)), limit=1024)
        head = f"GET /api/v1/messages/export HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n"
        writer.write(head.encode())
        assert (await asyncio.wait_for(reader.readline(), PATIENCE)).startswith(b"HTTP/1.1 200")
        program.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(program.wait(), PATIENCE) == 0
        rest = await asyncio.wait_for(reader.read(), PATIENCE)
        assert not rest.endswith(b"0\r\n\r\n")  # the client sees that it is incomplete
        writer.close()
    finally:
        if program.returncode is None:
            program.kill()
            await program.wait()
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    [cut] = [line for line in lines if line["event"] == "answer cut off"]
    assert (cut["path"], cut["reason"]) == ("/api/v1/messages/export", "The gateway is stopping.")
    assert not [line for line in lines if "exception" in line]


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("moment", ["folder", "database"])
@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_while_it_starts_stops_the_database_too(
    data: Path, name: signal.Signals, moment: str, processes: int
) -> None:
    options = ("--port", "0", "--processes", str(processes), "--data", str(data))
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "gatepost.cli", "serve", *options),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    async with patience(lambda: f"it did not get as far: {program.returncode}"):
        while holder_of(data) is None or (moment == "database" and running_dsn(data) is None):
            await asyncio.sleep(0.01)
    program.send_signal(name)
    program.send_signal(name)  # an impatient user
    _, errors = await asyncio.wait_for(program.communicate(), PATIENCE)
    assert program.returncode == 0, errors
    assert b"Traceback" not in errors
    assert running_dsn(data) is None
    assert not [process for folder in data.iterdir() for process in leftovers(folder)]


async def test_nohup_is_respected() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        stop_on_signals(lambda: None)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        for name in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().remove_signal_handler(name)
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_to_a_command_stops_the_database_that_it_started(data: Path, name: signal.Signals) -> None:
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "gatepost.cli", "migrate", "--data", str(data)),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    async with patience(lambda: f"it did not get as far: {program.returncode}"):
        while running_dsn(data) is None:
            await asyncio.sleep(0.01)
    program.send_signal(name)
    _, errors = await asyncio.wait_for(program.communicate(), PATIENCE)
    assert (program.returncode, errors) == (128 + name, b"")
    assert running_dsn(data) is None
    assert not [process for folder in data.iterdir() for process in leftovers(folder)]


async def test_commands_at_the_same_time_share_the_database_and_the_last_one_stops_it(data: Path) -> None:
    """Before, the first one stopped it, whatever the others were doing."""

    def run(*arguments: str) -> Any:
        return invoke(*arguments, "--data", str(data), "--json").json()

    await asyncio.to_thread(run, "migrate")
    account = (await asyncio.to_thread(run, "account", "create", "Shop"))["id"]
    number = ("--kind", "qr", "--phone", "15550001111")
    channel = (await asyncio.to_thread(run, "channel", "create", account, *number))["id"]
    first, second = [await send_and_wait(data, channel, body) for body in ("first", "second")]
    first.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(first.wait(), PATIENCE) == 0
    assert [one["name"] for one in await asyncio.to_thread(run, "account", "list")] == ["Shop"]
    rotated = await asyncio.to_thread(invoke, "secret-key", "rotate", "--data", str(data))
    assert "is in use by another Gatepost" in rotated.err
    second.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(second.wait(), PATIENCE) == 0
    assert running_dsn(data) is None
    assert holder_of(data) is None


async def send_and_wait(data: Path, channel: str, body: str) -> asyncio.subprocess.Process:
    """Start a command that waits for a message that no gateway sends."""
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "gatepost.cli", "send", channel, "5511999998888", body, "--wait", "10m", "--data", str(data)),
        stdout=asyncio.subprocess.DEVNULL,
    )
    async with patience(lambda: f"it did not get as far: {program.returncode}"):
        while not (dsn := running_dsn(data)) or not await is_stored(dsn, body):
            await asyncio.sleep(0.02)
    return program


async def is_stored(dsn: str, body: str) -> bool:
    with suppress(OSError, asyncpg.PostgresError):  # the server is starting
        conn = await asyncpg.connect(dsn)
        try:
            return bool(await conn.fetchval("SELECT EXISTS (SELECT FROM messages WHERE content ~ $1)", body))
        finally:
            await conn.close()
    return False
