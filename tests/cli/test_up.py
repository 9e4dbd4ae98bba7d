"""`gatepost up`: all of it, from nothing to a message that was read, and down again."""

import json
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gatepost.cli.up import call
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
        _, told = program.communicate(timeout=PATIENCE)
    assert program.returncode == 0, told


def ask(url: str, key: str, body: dict[str, str] | None = None) -> Any:
    return call(url, body, {"Authorization": f"Bearer {key}"})


def test_from_nothing_to_a_read_message_and_down(database_url: str, tmp_path: Path) -> None:
    with started(database_url, tmp_path) as said:
        told = json.loads((tmp_path / "quickstart.json").read_text())
        base, key = told["base_url"], told["channels"][0]["api_key"]
        for word in (base, told["sandbox_url"], told["dashboard"]["email"], told["dashboard"]["password"]):
            assert word in said
        assert all(channel["api_key"] in said for channel in told["channels"])
        send, read = [shlex.split(line) for line in said.splitlines() if line.strip().startswith("curl")]
        assert f"Authorization: Bearer {key}" in send
        answer = ask(send[2], key, json.loads(send[-1]))
        id_ = answer["data"]["key"]["id"]
        deadline = time.monotonic() + PATIENCE
        while ask(read[2].replace("ID", id_), key)["data"]["status"] != "READ":
            assert time.monotonic() < deadline
            time.sleep(0.05)
    for url in (base, told["sandbox_url"]):
        with pytest.raises(OSError, match="refused"):
            call(f"{url}/healthz")
