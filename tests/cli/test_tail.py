"""`gatepost tail` beside a running gateway: events as they happen, as text and as lines of JSON, until Ctrl-C."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import NO_WATCHDOG, Run, invoke, obey_ctrl_c
from tests.gateway.checks import TEXT, feed
from tests.patience import PATIENCE
from tests.running_gateway import Gateway, running_gateway


@pytest.fixture
async def gateway(parted_database_url: str) -> AsyncIterator[Gateway]:
    async with running_gateway(parted_database_url, **NO_WATCHDOG) as made:
        yield made


class Tail:
    """The command in a process of its own."""

    def __init__(self, program: asyncio.subprocess.Process) -> None:
        self._program = program

    async def line(self) -> str:
        assert self._program.stdout is not None
        return (await asyncio.wait_for(self._program.stdout.readline(), PATIENCE)).decode().rstrip("\n")

    async def events(self, count: int) -> list[Any]:
        return [json.loads(await self.line()) for _ in range(count)]

    async def interrupt(self) -> tuple[int | None, bytes]:
        """Ctrl-C; returns how it ended."""
        self._program.send_signal(signal.SIGINT)
        _, err = await asyncio.wait_for(self._program.communicate(), PATIENCE)
        return self._program.returncode, err


@asynccontextmanager
async def tailing(gateway: Gateway, *arguments: str) -> AsyncIterator[Tail]:
    command = ["-m", "gatepost.cli", "tail", *arguments, "--database-url", gateway.settings.database.url]
    pipe = asyncio.subprocess.PIPE
    program = await asyncio.create_subprocess_exec(
        sys.executable, *command, stdout=pipe, stderr=pipe, preexec_fn=obey_ctrl_c
    )
    try:
        yield Tail(program)
    finally:
        if program.returncode is None:
            program.kill()
            await program.wait()


async def test_behind_an_event_and_on_until_ctrl_c(gateway: Gateway) -> None:
    await gateway.until_status(await gateway.send(**TEXT), "READ")
    known = await feed(gateway)
    async with tailing(gateway, gateway.channel, "--after", known[1]["id"], "--json") as tail:
        assert await tail.events(4) == known[2:]
        await gateway.send(**TEXT)
        assert (await tail.events(1))[0]["sequence"] == len(known) + 1
        assert await tail.interrupt() == (0, b"")


async def test_some_types_of_all_channels_as_text(gateway: Gateway) -> None:
    stranger = await gateway.new_stranger()
    begin = "evt_" + "0" * 32
    async with tailing(gateway, "--after", begin, "--types", "message_notification") as tail:
        await gateway.send(**TEXT | {"body": "To\x1b[31m you"})
        first = await tail.line()
        assert "15550001111" in first
        assert first.endswith(
            "message_notification created  who: 5511999998888, direction: out, type: text, "
            "status: PENDING, body: To\N{REPLACEMENT CHARACTER}[31m you"
        )
        await gateway.call("POST", "/api/v1/message/send", TEXT, key=stranger)
        assert "15550002222" in await tail.line()
        assert await tail.interrupt() == (0, b"")


def test_what_makes_no_sense(run: Run, channel: str, tmp_path: Path) -> None:
    for wrong in (("--types", "smoke"), ("--types", ","), ("--after", "evt_1")):
        assert run("tail", channel, *wrong, "--json").error()["code"] == "invalid_field"
    assert run("tail", "ch_" + "0" * 32, "--json").error()["code"] == "not_found"
    refused = invoke("tail", "--data", str(tmp_path))
    assert refused.code == 1
    assert "No gateway is running" in refused.err
