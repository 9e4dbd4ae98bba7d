"""`gatepost up`: all of it, from nothing to a message that was read, and down again."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from gatepost.admin import demo
from gatepost.cli.http_call import call
from gatepost.cli.sandbox.control_client import ControlClient
from gatepost.cli.up import sandbox_folder
from gatepost.database_lifecycle import opened_for_gateway
from gatepost.model.errors import Conflict
from gatepost.running_address import note_address
from gatepost.settings import load
from gatepost.start_errors import CannotStart
from gatepost.store.embedded.data_folder import lock_data_folder
from gatepost_sandbox.storage import Folder
from tests.cli.conftest import Run
from tests.patience import PATIENCE


@contextmanager
def started(database_url: str, data: Path) -> Iterator[str]:
    """A whole gateway in processes of its own; gives what it says once it is ready, and then stops it."""
    places = ["--port", "0", "--sandbox-port", "0", "--data", str(data), "--database-url", database_url]
    program = subprocess.Popen(
        [sys.executable, "-m", "gatepost.cli", "up", *places],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert program.stdout is not None
        said = ""
        while "/messages/ID" not in said:
            line = program.stdout.readline()
            assert line or program.poll() is None, program.communicate()[1]
            said += line
        yield said
    finally:
        program.send_signal(signal.SIGINT)
        _, seen = program.communicate(timeout=PATIENCE)
    assert program.returncode == 0, seen


def ask(url: str, key: str, body: dict[str, str] | None = None) -> Any:
    return call(url, body, {"Authorization": f"Bearer {key}"})


def test_from_nothing_to_a_read_message_and_down(database_url: str, tmp_path: Path) -> None:
    with started(database_url, tmp_path) as said:
        seen = json.loads((tmp_path / "quickstart.json").read_text())
        base, key = seen["base_url"], seen["channels"][0]["api_key"]
        assert base in said
        assert seen["sandbox_url"] in said
        owner = seen["dashboard"]
        assert f"{owner['url']}  (sign in as {owner['email']} with {owner['password']})" in said
        assert all(channel["api_key"] in said for channel in seen["channels"])
        send, read = [shlex.split(line) for line in said.splitlines() if line.strip().startswith("curl")]
        assert f"Authorization: Bearer {key}" in send
        answer = ask(send[2], key, json.loads(send[-1]))
        id_ = answer["data"]["key"]["id"]
        deadline = time.monotonic() + PATIENCE
        while ask(read[2].replace("ID", id_), key)["data"]["status"] != "READ":
            assert time.monotonic() < deadline
            time.sleep(0.05)
    for url in (base, seen["sandbox_url"]):
        with pytest.raises(OSError, match="refused"):
            call(f"{url}/healthz")


def test_a_second_start_names_the_gateway_that_runs(tmp_path: Path) -> None:
    note_address(tmp_path, "http://127.0.0.1:8080")
    refused = pytest.raises(Conflict, match=r"already, at http://127\.0\.0\.1:8080\. Stop it")
    with lock_data_folder(tmp_path), closing(Folder(tmp_path / "sandbox")), refused:
        sandbox_folder(tmp_path, patience=0)


async def test_a_database_that_cannot_be_reached_is_named() -> None:
    settings = load(overrides={"database.url": "postgresql://gatepost@127.0.0.1:1/gatepost"})
    with pytest.raises(CannotStart, match=r"database\.url"):
        async with opened_for_gateway(settings):
            pass


def test_the_database_of_a_real_gateway_is_refused(run: Run, account: str, database_url: str, tmp_path: Path) -> None:
    places = ["--port", "0", "--sandbox-port", "0", "--data", str(tmp_path), "--database-url", database_url]
    ended = subprocess.run(
        [sys.executable, "-m", "gatepost.cli", "up", *places],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 1
    assert "has accounts, but not that of the demo" in ended.stderr
    assert [one["id"] for one in run("account", "list", "--json").json()] == [account]


def wait_until_refused(url: str, key: str, body: dict[str, Any], code: str) -> None:
    """Repeats a request that succeeds until the gateway rejects it; any other error fails the test."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            call(url, body, {"Authorization": f"Bearer {key}"})
        except OSError as error:
            answer = str(error)
            break
        time.sleep(0.05)
    else:
        pytest.fail(f"{url} was never rejected with {code}")
    assert code in answer


def wait_for_status(seen: dict[str, Any], id_: str, status: str) -> None:
    url, key = f"{seen['base_url']}/api/v1/messages/{id_}", seen["channels"][0]["api_key"]
    deadline = time.monotonic() + PATIENCE
    while ask(url, key)["data"]["status"] != status:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_window_closes_a_day_later_on_both_clocks(database_url: str, tmp_path: Path) -> None:
    places = ["--data", str(tmp_path), "--database-url", database_url]
    with started(database_url, tmp_path):
        seen = json.loads((tmp_path / "quickstart.json").read_text())
        channel = seen["channels"][0]
        send, key, phone = f"{seen['base_url']}/api/v1/message/send", channel["api_key"], "5511999998888"
        sandbox = ControlClient(seen["sandbox_url"])
        limits = [sys.executable, "-m", "gatepost.cli", "channel", "limits", channel["id"], "--window", "1", *places]
        subprocess.run(limits, check=True, capture_output=True, timeout=PATIENCE)
        text = {"phone": phone, "body": "Hello"}
        wait_until_refused(send, key, text, "window_closed")  # once the limit is in force: they never wrote
        deadline = time.monotonic() + PATIENCE
        number = sandbox.get("numbers")[0]["phone_number_id"]
        sandbox.post("say", {"phone_number_id": number, "from": phone, "text": "Is it open?"})
        messages = f"{seen['base_url']}/api/v1/messages?phone={phone}"
        while not any(one["direction"] == "in" for one in ask(messages, key)["data"]):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        id_ = ask(send, key, text)["data"]["key"]["id"]
        wait_for_status(seen, id_, "READ")

        sandbox.post("clock", {"advance": 25 * 3600})
        wait_until_refused(send, key, text, "window_closed")  # once the gateway's clock has followed
        by_command = [sys.executable, "-m", "gatepost.cli", "send", channel["id"], phone, "Hello", *places]
        refused = subprocess.run(by_command, check=False, capture_output=True, text=True, timeout=PATIENCE)
        assert (refused.returncode, "24 hours" in refused.stderr) == (1, True), refused
        template = {"phone": phone, "type": "template", "template": {"name": "hello_world", "language": "en_US"}}
        id_ = ask(send, key, template)["data"]["key"]["id"]  # type: ignore[arg-type]
        wait_for_status(seen, id_, "READ")


def command(database_url: str, data: Path, *words: str) -> Any:
    """The JSON answer of a command."""
    program = [sys.executable, "-m", "gatepost.cli", *words, "--json", "--data", str(data)]
    done = subprocess.run(
        [*program, "--database-url", database_url], check=True, capture_output=True, text=True, timeout=PATIENCE
    )
    return json.loads(done.stdout)


def test_the_second_phone_waits_for_a_person_to_scan(database_url: str, tmp_path: Path) -> None:
    with started(database_url, tmp_path):
        seen = json.loads((tmp_path / "quickstart.json").read_text())
        sandbox, base = ControlClient(seen["sandbox_url"]), f"{seen['base_url']}/api/v1/channel"
        windows = {number["phone"]: number["effective"]["limits"]["window"] for number in sandbox.get("numbers")}
        assert {phone for phone, window in windows.items() if window} == {demo.WINDOW_PHONE}
        channels = {one["phone"]: one["id"] for one in command(database_url, tmp_path, "channel", "list")}
        key = command(database_url, tmp_path, "key", "create", channels[demo.UNLINKED_PHONE], "Test")["key"]
        ask(f"{base}/connect", key, {})
        wait_for_connection(base, key, "waiting_for_scan")
        wait_for_connection(base, seen["channels"][1]["api_key"], "connected")  # the demo's own phone scans its code
        assert {phone["phone"] for phone in sandbox.get("phones") if phone["auto_scan"] is not None} == {demo.QR_PHONE}
        sandbox.post(f"phones/{demo.UNLINKED_PHONE}/scan", {"session": channels[demo.UNLINKED_PHONE]})
        wait_for_connection(base, key, "connected")


def wait_for_connection(url: str, key: str, state: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while (found := ask(url, key)["data"]["connection"]["state"]) != state:
        assert time.monotonic() < deadline, found
        time.sleep(0.05)


def test_a_killed_sandbox_is_started_again_as_it_was(database_url: str, tmp_path: Path) -> None:
    with started(database_url, tmp_path):
        seen = json.loads((tmp_path / "quickstart.json").read_text())
        send, key = f"{seen['base_url']}/api/v1/message/send", seen["channels"][0]["api_key"]
        sandbox = ControlClient(seen["sandbox_url"])
        sandbox.put("people/5511999998888", {"name": "Ana", "character": "in_chat"})
        pid = int((tmp_path / "sandbox" / "lock").read_text())
        os.kill(pid, signal.SIGKILL)
        id_ = ask(send, key, {"phone": "5511999998888", "body": "Hello"})["data"]["key"]["id"]
        wait_for_status(seen, id_, "READ")
        assert int((tmp_path / "sandbox" / "lock").read_text()) != pid
        assert sandbox.get("people/5511999998888")["name"] == "Ana"
        assert [row["to"] for row in sandbox.get("ledger", kind="accepted")["entries"]] == ["5511999998888"]
