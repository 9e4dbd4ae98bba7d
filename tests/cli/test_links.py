"""`gatepost channel link` and `logout` beside a running gateway: the codes, the phone that scans, and every end."""

import asyncio
import io
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gatepost.cli.links import draw
from gatepost.cli.output import LinePrinter, OutputLine
from gatepost.model import ids
from tests.cli.conftest import NO_WATCHDOG, Ran, Run, invoke
from tests.patience import PATIENCE
from tests.running_gateway import Gateway, running_gateway

PHONE = "15550003333"


@pytest.fixture
async def gateway(parted_database_url: str) -> AsyncIterator[Gateway]:
    async with running_gateway(parted_database_url, **NO_WATCHDOG) as made:
        yield made


@pytest.fixture
async def channel(gateway: Gateway) -> str:
    return ids.format_id("ch", (await gateway.new_qr_channel(gateway.account_id, PHONE)).id)


async def run_beside(gateway: Gateway, *arguments: str) -> Ran:
    """Run a command to its end, as a person at a terminal beside the gateway."""
    url = gateway.settings.database.url
    return await asyncio.to_thread(invoke, "channel", *arguments, "--database-url", url)


class Linking:
    """`gatepost channel link` in a process of its own, read line by line as it speaks."""

    def __init__(self, program: asyncio.subprocess.Process) -> None:
        self._program = program
        self.out = ""

    async def line_with(self, words: str) -> str:
        """The next line with these words; all lines stay in `out`."""
        assert self._program.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while line := (await self._program.stdout.readline()).decode():
                self.out += line
                if words in line:
                    return line
        raise AssertionError(f"no {words!r} in {self.out!r}")

    async def event(self, name: str) -> dict[str, Any]:
        """The next event of this name."""
        return dict(json.loads(await self.line_with(f'"event":"{name}"')))

    async def end(self) -> tuple[int, str]:
        """Its exit code and what it said of errors."""
        out, err = await asyncio.wait_for(self._program.communicate(), PATIENCE)
        self.out += out.decode()
        assert self._program.returncode is not None
        return self._program.returncode, err.decode()


async def link(gateway: Gateway, *arguments: str) -> Linking:
    places = ("--database-url", gateway.settings.database.url)
    command = ["-m", "gatepost.cli", "channel", "link", *arguments, *places, "--wait", f"{PATIENCE:g}s"]
    pipe = asyncio.subprocess.PIPE
    return Linking(await asyncio.create_subprocess_exec(sys.executable, *command, stdout=pipe, stderr=pipe))


async def scan(gateway: Gateway, code: str) -> None:
    await gateway.sandbox("POST", f"/control/phones/{PHONE}/scan", {"code": code})


async def wait_for_state(gateway: Gateway, channel: str, state: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while (await run_beside(gateway, "show", channel, "--json")).json()["connection"] != state:
            await asyncio.sleep(0.05)


CONNECTED = {
    "event": "connection",
    "state": "connected",
    "reason": "The phone is linked and the network answers.",
}


async def test_a_code_is_shown_until_the_phone_scans_it(gateway: Gateway, channel: str) -> None:
    linking = await link(gateway, channel)
    await linking.line_with("On the phone: Linked devices")
    [session] = await gateway.sandbox("GET", "/control/sessions")
    assert draw(session["code"]) in linking.out
    await scan(gateway, session["code"])
    assert await linking.end() == (0, "")
    assert linking.out.endswith(f"The phone is linked: {PHONE} is connected.\n")
    again = await run_beside(gateway, "link", channel, "--json")
    assert json.loads(again.out) == CONNECTED


async def test_a_banned_number_is_not_waited_for(gateway: Gateway, channel: str) -> None:
    linking = await link(gateway, channel, "--json")
    await scan(gateway, (await linking.event("qr"))["code"])
    await linking.end()
    await gateway.sandbox("POST", f"/control/phones/{PHONE}/ban", {"seconds": 3600})
    await wait_for_state(gateway, channel, "banned")
    ran = await run_beside(gateway, "link", channel, "--json")
    assert ran.code == 1
    assert "The ban ends at" in json.loads(ran.err)["error"]["message"]


async def test_codes_are_renewed_and_printed_as_lines(gateway: Gateway, channel: str) -> None:
    linking = await link(gateway, channel, "--json")
    first = await linking.event("qr")
    await gateway.sandbox("POST", "/control/clock", {"advance": 61})
    second = await linking.event("qr")
    assert first["code"] != second["code"]
    assert second["until"] > "2026"
    await scan(gateway, second["code"])
    assert await linking.end() == (0, "")
    assert json.loads(linking.out.splitlines()[-1]) == CONNECTED


async def test_nobody_scans_and_it_can_be_asked_for_again(gateway: Gateway, channel: str) -> None:
    linking = await link(gateway, channel, "--json")
    await linking.event("qr")
    await gateway.sandbox("POST", "/control/clock", {"advance": 200})
    code, seen = await linking.end()
    assert code == 1
    assert json.loads(seen)["error"]["message"].startswith("The phone was not linked. ")
    linking = await link(gateway, channel, "--json")
    await scan(gateway, (await linking.event("qr"))["code"])
    assert await linking.end() == (0, "")


async def test_a_pairing_code_is_typed(gateway: Gateway, channel: str) -> None:
    linking = await link(gateway, channel, "--pairing-code", "15550004444", "--json")
    code = (await linking.event("pairing_code"))["code"]
    await gateway.sandbox("POST", "/control/phones/15550004444/pair", {"code": code})
    assert await linking.end() == (0, "")
    assert '"event":"qr"' not in linking.out


async def test_a_pairing_code_for_people(gateway: Gateway, channel: str) -> None:
    linking = await link(gateway, channel, "--pairing-code")
    code = (await linking.line_with("and type: ")).split()[-1]
    await gateway.sandbox("POST", f"/control/phones/{PHONE}/pair", {"code": code})
    assert await linking.end() == (0, "")


async def test_logout_unlinks_the_phone(gateway: Gateway, channel: str) -> None:
    linking = await link(gateway, channel, "--json")
    await scan(gateway, (await linking.event("qr"))["code"])
    assert await linking.end() == (0, "")
    asked = (await run_beside(gateway, "logout", channel, "--json")).json()
    assert (asked["id"], asked["was"], asked["logout"]) == (channel, "connected", "asked")
    await wait_for_state(gateway, channel, "logged_out")
    [session] = await gateway.sandbox("GET", "/control/sessions")
    assert session["phone"] is None


async def test_what_link_refuses(gateway: Gateway, channel: str) -> None:
    seen = (await run_beside(gateway, "link", gateway.channel, "--json")).error()
    assert seen["code"] == "unsupported_on_channel"
    assert (await run_beside(gateway, "logout", gateway.channel, "--json")).error()["code"] == "unsupported_on_channel"
    for arguments, field in (((PHONE,), "phone"), (("--wait", "soon"), "wait"), (("--pairing-code", "+1"), "phone")):
        seen = (await run_beside(gateway, "link", channel, *arguments, "--json")).error()
        assert seen["fields"][0]["field"] == field
    assert (await run_beside(gateway, "link", "ch_" + "0" * 32, "--json")).error()["code"] == "not_found"


def test_without_a_gateway_it_ends_with_a_sentence(run: Run, account: str, tmp_path: Path) -> None:
    made = run("channel", "create", account, "--kind", "qr", "--phone", PHONE, "--json").json()
    ran = run("channel", "link", made["id"], "--wait", "1s")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("Error: No phone was linked in time; the channel is disconnected.")
    alone = invoke("channel", "link", made["id"], "--data", str(tmp_path / "empty"))
    assert alone.code == 1
    assert alone.err == (
        f"Error: No gateway is running in {tmp_path / 'empty'}, and this command needs one. "
        f"Start it with: gatepost serve --data {tmp_path / 'empty'}\n"
    )


def test_it_asks_once_whether_a_gateway_runs(run: Run, account: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = run("channel", "create", account, "--kind", "qr", "--phone", PHONE, "--json").json()
    monkeypatch.setattr("gatepost.cli.links._PATIENCE", 0.3)
    assert run("channel", "link", made["id"], "--wait", "1s", "--json").out == '{"event":"waiting"}\n'
    assert run("channel", "link", made["id"], "--wait", "1s").out.count("Is a gateway running?") == 1


def test_a_code_is_drawn_in_half_blocks() -> None:
    lines = draw("2@AbCdEf,GhIjKl,MnOpQr").split("\n")
    assert {len(line) for line in lines} == {len(lines[0])}
    assert set("".join(lines)) <= set("█▀▄ ")
    assert lines[0] == "█" * len(lines[0])  # the quiet zone, two modules wide


def test_on_a_terminal_a_passing_line_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    printer = LinePrinter(as_json=False)
    for text, passing in (("a\nb", True), ("c", True), ("d", False), ("e", False)):
        printer.print(OutputLine({}, text, passing=passing))
    assert screen.getvalue() == "a\nb\n\x1b[2A\x1b[Jc\n\x1b[1A\x1b[Jd\ne\n"
    assert draw("x").startswith("\x1b[97;40m█")
