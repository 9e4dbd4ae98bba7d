"""The secret key on the command line: a missing one is no reason to make another."""

import os
import subprocess
import sys
from pathlib import Path

from gatepost.admin.vault import KEY_FILE
from tests.cli.conftest import Run
from tests.patience import PATIENCE


def create_official(run: Run, account: str, phone: str = "15550007777") -> str:
    secrets = ["--phone-number-id", "100", "--token", "t", "--app-secret", "s"]
    about = ["--kind", "official", "--phone", phone, *secrets]
    return str(run("channel", "create", account, *about, "--json").json()["id"])


def test_commands_that_need_the_key_refuse_without_it(run: Run, account: str, tmp_path: Path) -> None:
    channel = create_official(run, account)
    (tmp_path / KEY_FILE).unlink()
    refused = run("webhook", "create", channel, "https://shop.example.com/hook")
    assert (refused.code, refused.out) == (1, "")
    assert f"The file {tmp_path / KEY_FILE} is missing" in refused.err
    assert not (tmp_path / KEY_FILE).exists()
    assert run("channel", "list", "--json").json()[0]["id"] == channel


def test_the_gateway_refuses_to_start_and_names_the_file(
    run: Run, account: str, database_url: str, tmp_path: Path
) -> None:
    create_official(run, account)
    (tmp_path / KEY_FILE).unlink()
    places = ["--database-url", database_url, "--data", str(tmp_path), "--port", "0"]
    ended = subprocess.run(
        [sys.executable, "-m", "gatepost.cli", "serve", *places],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert ended.returncode == 1
    assert f"Error: The file {tmp_path / KEY_FILE} is missing" in ended.stderr
    assert not (tmp_path / KEY_FILE).exists()


def test_a_lost_key_is_replaced_on_request_and_what_it_encrypted_is_listed(
    run: Run, account: str, tmp_path: Path
) -> None:
    channel = create_official(run, account)
    (tmp_path / KEY_FILE).unlink()
    seen = run("secret-key", "replace", "--yes", "--json").json()
    assert seen == {"replaced": True, "channels": [channel], "endpoints": []}
    assert create_official(run, account, "15550008888") != channel
