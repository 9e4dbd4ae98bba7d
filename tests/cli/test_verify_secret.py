"""`gatepost webhook verify`: a secret that nobody sees in the list of processes."""

import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer import testing

from gatepost.cli.root import app
from gatepost.model.signing import new_secret
from gatepost.webhooks.signature import signature_headers
from tests.cli.test_webhook_signing import BODY
from tests.patience import PATIENCE

VARIABLE = "GATEPOST_WEBHOOK_SECRET"


def headers_of(secret: str) -> list[str]:
    signed = signature_headers([secret], "evt_1", int(time.time()), BODY)
    return [part for name, value in signed.items() for part in ("--header", f"{name}: {value}")]


@pytest.fixture
def body(tmp_path: Path) -> str:
    """Give the file of a delivery's body."""
    file = tmp_path / "body.json"
    file.write_bytes(BODY)
    return str(file)


def verify(*arguments: str, given: str | None = None, **env: str) -> tuple[int, Any]:
    """Runs it with standard input and variables; gives its code and what it says."""
    runner = testing.CliRunner()
    ran = runner.invoke(app, ["webhook", "verify", *arguments, "--json"], input=given, env={"NO_COLOR": "1", **env})
    return ran.exit_code, json.loads(ran.stdout or ran.stderr)


def test_it_may_be_in_a_variable(body: str) -> None:
    secret, other = new_secret(), new_secret()
    assert verify(body, *headers_of(secret), **{VARIABLE: secret})[1]["valid"] is True
    assert verify(body, *headers_of(secret), **{VARIABLE: f"{other} {secret}"})[1]["secret"] == 2
    assert verify(body, *headers_of(secret), "--secret", secret, **{VARIABLE: other})[1]["valid"] is True
    code, seen = verify(body, *headers_of(secret), **{VARIABLE: other})
    assert (code, seen["valid"]) == (1, False)


def test_it_may_be_a_line_of_standard_input(body: str) -> None:
    secret = new_secret()
    assert verify(body, *headers_of(secret), "--secret", "-", given=secret + "\nmore")[1]["valid"] is True
    assert verify(body, *headers_of(secret), "--secret", "-", given=new_secret() + "\n")[0] == 1


def test_the_body_and_the_secret_cannot_both_be_standard_input() -> None:
    secret = new_secret()
    code, seen = verify(*headers_of(secret), "--secret", "-", given=secret)
    assert code == 1
    assert seen["error"]["fields"][0]["field"] == "secret"
    assert VARIABLE in seen["error"]["message"]


def test_a_person_at_a_terminal_is_asked_and_nothing_is_shown(body: str) -> None:
    secret = new_secret()
    main, side = pty.openpty()
    started = [
        sys.executable,
        "-m",
        "gatepost.cli",
        "webhook",
        "verify",
        body,
        *headers_of(secret),
        "--secret",
        "-",
        "--json",
    ]
    process = subprocess.Popen(started, stdin=side, stdout=subprocess.PIPE, start_new_session=True, stderr=side)
    os.close(side)
    shown = b""
    while b"Secret: " not in shown:
        shown += os.read(main, 1000)
    os.write(main, secret.encode() + b"\n")
    out, _ = process.communicate(timeout=PATIENCE)
    os.close(main)
    assert json.loads(out)["valid"] is True
    assert secret.encode() not in shown


def test_help_describes_it() -> None:
    shown = testing.CliRunner().invoke(app, ["webhook", "verify", "--help"], env={"NO_COLOR": "1", "COLUMNS": "200"})
    assert VARIABLE in shown.stdout
    assert "standard input" in shown.stdout
