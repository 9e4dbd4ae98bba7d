"""`gatepost send` and `export`: what the API does, from the command line."""

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run, invoke, obey_ctrl_c
from tests.for_each import for_each
from tests.patience import PATIENCE

PERSON = "5511999998888"


def test_a_text_and_any_other_type(run: Run, channel: str) -> None:
    sent = run("send", channel, PERSON, "Hello", "--json").json()
    assert (sent["status"], sent["phone"], sent["content"]) == ("PENDING", PERSON, {"body": "Hello"})
    fields = '{"type": "location", "location": {"latitude": 38.7, "longitude": -9.1}, "client_ref": "42"}'
    assert run("send", channel, PERSON, "--fields", fields, "--json").json()["type"] == "location"
    waited = run("send", channel, PERSON, "Hello", "--wait", "1s", "--json").json()
    assert waited["status"] == "PENDING"
    shown = run("send", channel, PERSON, "Hello").out
    assert "--wait" in shown
    assert "body: Hello" in shown
    by_contact = run("send", channel, sent["contact"]["id"], "Hello", "--json").json()
    assert by_contact["contact"]["id"] == sent["contact"]["id"]


@for_each(
    ("arguments", "code", "words"),
    [
        (("+55", "Hello"), "invalid_phone", "digits only"),
        ((PERSON,), "invalid_field", "body"),
        (("ct_" + "0" * 32, "Hello"), "invalid_field", "names no contact"),
        ((PERSON, "Hello", "--fields", "[]"), "invalid_field", "must be a JSON object"),
        ((PERSON, "Hello", "--fields", "{"), "invalid_field", "is not JSON"),
        ((PERSON, "Hello", "--fields", '{"colour": 1}'), "invalid_field", "colour"),
        ((PERSON, "--fields", '{"type": "template", "template": {}}'), "unsupported_on_channel", "on this channel"),
    ],
)
def test_refusals(run: Run, channel: str, arguments: tuple[str, ...], code: str, words: str) -> None:
    error = run("send", channel, *arguments, "--json").error()
    assert (error["code"], words in error["message"]) == (code, True), error


def test_the_trial_holds_for_the_operator_too(run: Run, account: str, channel: str) -> None:
    assert run("account", "suspend", account).code == 0
    assert run("send", channel, PERSON, "Hello", "--json").error()["code"] == "account_suspended"


def test_exports(run: Run, channel: str, tmp_path: Path) -> None:
    for body in ("One", "Two\nlines", "Three"):
        run("send", channel, PERSON, body)
    lines = tmp_path / "messages.ndjson"
    seen = run("export", "messages", channel, str(lines), "--json").json()
    assert (seen["format"], seen["lines"], seen["bytes"]) == ("ndjson", 3, lines.stat().st_size)
    assert [json.loads(line)["content"]["body"] for line in lines.read_text().splitlines()] == [
        "Three",
        "Two\nlines",
        "One",
    ]
    assert run("export", "messages", channel, str(tmp_path / "messages.csv"), "--json").json()["lines"] == 3
    table = tmp_path / "contacts.csv"
    seen = run("export", "contacts", channel, str(table), "--json").json()
    assert (seen["format"], seen["lines"]) == ("csv", 1)
    assert PERSON in table.read_text()
    none = run("export", "messages", channel, str(tmp_path / "none"), "--to", "2020-01-01", "--json").json()
    assert (none["format"], none["lines"], none["bytes"]) == ("ndjson", 0, 0)


def test_an_export_overwrites_nothing(run: Run, channel: str, tmp_path: Path) -> None:
    there = tmp_path / "there.csv"
    there.write_text("mine")
    assert run("export", "contacts", channel, str(there), "--json").error()["code"] == "wrong_state"
    assert there.read_text() == "mine"
    for arguments in (("people", channel, "x"), ("contacts", channel, "x", "--format", "xml")):
        assert run("export", *arguments, "--json").error()["code"] == "invalid_field"


def test_a_wait_that_is_interrupted_shows_the_message(
    run: Run, channel: str, database_url: str, tmp_path: Path
) -> None:
    """Otherwise it would be sent again."""
    places = ["--database-url", database_url, "--data", str(tmp_path), "--json"]
    command = [sys.executable, "-m", "gatepost.cli", "send", channel, PERSON, "Hello", "--wait", "10m", *places]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, text=True, preexec_fn=obey_ctrl_c) as waiting:  # noqa: PLW1509
        try:
            exported = ""
            while PERSON not in exported:
                run("export", "messages", channel, str(tmp_path / "all.csv"))
                exported = (tmp_path / "all.csv").read_text()
                (tmp_path / "all.csv").unlink()
            waiting.send_signal(signal.SIGINT)
            shown, _ = waiting.communicate(timeout=PATIENCE)
        finally:
            waiting.kill()
    assert waiting.returncode == 0
    assert (json.loads(shown)["status"], json.loads(shown)["phone"]) == ("PENDING", PERSON)


def test_an_export_that_fails_leaves_no_file(run: Run, channel: str, database_url: str, tmp_path: Path) -> None:
    """Half of a file would be taken for all of it."""
    run("send", channel, PERSON, "Hello" * 800)
    places = ["--database-url", database_url, "--data", str(tmp_path)]
    failed = subprocess.run(
        [sys.executable, "-m", "gatepost.cli", "export", "messages", channel, str(tmp_path / "all.ndjson"), *places],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},  # compiled modules would be cut off too
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000)),  # as if the disk were full
    )
    assert (failed.returncode, failed.stderr) == (1, "Error: [Errno 27] File too large\n")
    assert list(tmp_path.glob("all*")) == []


def test_no_database_is_made_by_accident(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments in (("account", "list"), ("channel", "list"), ("send", "ch_" + "0" * 32, PERSON, "Hello")):
        error = invoke(*arguments, "--json").error()
        assert error["code"] == "not_found"
        assert str(tmp_path / "data") in error["message"]
    assert str(tmp_path / "dtaa") in invoke("account", "list", "--data", "dtaa", "--json").error()["message"]
    assert list(tmp_path.iterdir()) == []


def test_a_trial_can_end(run: Run, account: str) -> None:
    before = run("account", "show", account, "--json").json()["trial_ends_at"]
    ended = run("account", "trial", account, "--end", "--json").json()["trial_ends_at"]
    assert ended < before
    assert run("account", "trial", account, "--end", "--json").json()["trial_ends_at"] == ended
    for arguments in ((), ("--end", "--days", "3")):
        assert run("account", "trial", account, *arguments, "--json").error()["code"] == "invalid_field"


def test_the_callback_address_is_that_of_the_running_gateway(run: Run, account: str, tmp_path: Path) -> None:
    number = ("--phone-number-id", "1", "--token", "t", "--app-secret", "s", "--json")
    create = ("channel", "create", account, "--kind", "official", "--phone", "15550001112", *number)
    (tmp_path / "gateway.url").write_text("http://127.0.0.1:9080\n")
    assert run(*create).json()["callback_url"].startswith("http://127.0.0.1:9080/callbacks/cloud/ch_")


def test_codes_have_no_thousands_separator() -> None:
    from gatepost.cli.output import cell

    assert cell({"code": 131047, "count": 131047}) == "code: 131047, count: 131,047"
    assert cell([8080], "port") == "8080"
