"""`gatepost webhook rotate-secret`, `test` and `verify`, and the options of `create` and `change`."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gatepost.admin.demo import FILE, DemoSignIn, Quickstart
from gatepost.model.event import SYSTEM, TYPES
from gatepost.model.signing import new_secret, public_key
from gatepost.webhooks.signature import signature_headers
from gatepost_client import verify_webhook
from tests.cli.conftest import Run, invoke

URL = "https://example.com/hooks"
BODY = b'{"text":"Ol\xc3\xa1"}'
FIELDS = ("ordered", "batch", "batch_wait", "rate_limit", "payload_version")


class Receiver(ThreadingHTTPServer):
    """A customer's server in a thread of its own, as commands bring a loop of theirs."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taker)
        self.taken: list[tuple[dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"


class _Taker(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.taken.append(({name.lower(): value for name, value in self.headers.items()}, body))  # type: ignore[attr-defined]
        self.send_response(202)
        self.end_headers()
        self.wfile.write(b"taken")

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Give a running receiver."""
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


# -- options -----------------------------------------------------------------------------------------------------------


def test_options_are_stored_and_changed(run: Run, channel: str) -> None:
    plain = run("webhook", "create", channel, URL, "--json").json()
    assert [plain[name] for name in FIELDS] == [False, None, 0.0, None, 1]
    options = ["--ordered", "--batch", "50", "--batch-wait", "0.25", "--rate-limit", "10", "--payload-version", "1"]
    made = run("webhook", "create", channel, URL, *options, "--json").json()
    assert [made[name] for name in FIELDS] == [True, {"most": 50, "wait": 0.25}, 0.25, 10, 1]
    same = run("webhook", "change", made["id"], "--url", URL + "/2", "--json").json()
    assert [same[name] for name in (*FIELDS, "events")] == [made[name] for name in (*FIELDS, "events")]
    off = ["--no-ordered", "--batch", "1", "--rate-limit", "0"]
    changed = run("webhook", "change", made["id"], *off, "--json").json()
    assert [changed[name] for name in FIELDS] == [False, None, 0.0, None, 1]
    assert changed["events"] == dict.fromkeys(TYPES, True) | {SYSTEM: False}
    again = run("webhook", "change", made["id"], "--batch", "100", "--events", SYSTEM, "--json").json()
    assert (again["batch"], again["batch_wait"]) == ({"most": 100, "wait": 1.0}, 1.0)
    assert again["events"] == dict.fromkeys(TYPES, False) | {SYSTEM: True}
    assert SYSTEM in run("webhook", "list", channel).out


@pytest.mark.parametrize(
    ("option", "value", "field"),
    [
        ("--batch", "0", "batch.most"),
        ("--batch", "101", "batch.most"),
        ("--batch-wait", "1.5", "batch.wait"),
        ("--rate-limit", "1001", "rate_limit"),
        ("--payload-version", "2", "version"),
        ("--signing", "v2", "signing"),
    ],
)
def test_options_beyond_their_limits_create_nothing(
    run: Run, channel: str, option: str, value: str, field: str
) -> None:
    seen = run("webhook", "create", channel, URL, option, value, "--json").error()
    assert (seen["code"], seen["fields"][0]["field"]) == ("invalid_field", field)
    assert run("webhook", "list", channel, "--json").json() == []


# -- secrets ----------------------------------------------------------------------------------------------------------


def test_a_secret_is_rotated_to_another_kind(run: Run, channel: str) -> None:
    made = run("webhook", "create", channel, URL, "--json").json()
    rotated = run("webhook", "rotate-secret", made["id"], "--overlap", "1h", "--signing", "v1a", "--json").json()
    assert rotated["secret"] == rotated["public_key"]
    assert [(one["signing"], one["until"] is None) for one in rotated["secrets"]] == [("v1a", True), ("v1", False)]
    shown = run("webhook", "show", made["id"], "--secret", "--json").json()
    assert shown == rotated
    assert "whsk_" not in json.dumps(shown)
    for overlap, good in (("7d", True), ("169h", False), ("soon", False)):
        ran = run("webhook", "rotate-secret", made["id"], "--overlap", overlap, "--json")
        assert ran.code == (0 if good else 1), overlap
    last = run("webhook", "rotate-secret", made["id"], "--overlap", "0", "--json").json()
    assert len(last["secrets"]) == 1


def test_a_test_event_is_posted_and_shown(run: Run, channel: str, receiver: Receiver, tmp_path: Path) -> None:
    config = tmp_path / "open.toml"
    config.write_text('[webhooks]\nallow = ["127.0.0.0/8"]\n')
    opened = ("--config", str(config), "--json")
    made = run("webhook", "create", channel, receiver.url, "--header", "X-Shop: 7", *opened).json()
    run("webhook", "change", made["id"], "--state", "disabled", *opened).json()
    tried = run("webhook", "test", made["id"], "--type", "order_notifications", *opened).json()
    assert (tried["delivered"], tried["status"], tried["answer_body"], tried["error"]) == (True, 202, "taken", None)
    ((headers, body),) = receiver.taken
    event = verify_webhook(made["secret"], headers, body)
    assert (event.type, event.sequence, headers["x-shop"]) == ("order_notifications", 0, "7")
    assert tried["body"] == body.decode()
    refused = run("webhook", "test", made["id"], "--json")
    closed = json.loads(refused.out)
    assert (refused.code, closed["delivered"]) == (1, False)
    assert "loopback" in closed["error"]
    wrong = run("webhook", "test", made["id"], "--type", "smoke", *opened).error()
    assert wrong["fields"][0]["field"] == "type"
    assert len(receiver.taken) == 1
    signed_in = DemoSignIn("http://127.0.0.1:8080/", "owner@demo.example", "secret")
    quickstart = Quickstart("http://127.0.0.1:8080", "http://127.0.0.1:8081", signed_in, ())
    (tmp_path / FILE).write_bytes(msgspec.json.encode(quickstart))  # the gateway of `gatepost up` allows this machine
    assert run("webhook", "test", made["id"], "--json").json()["delivered"] is True
    assert run("webhook", "create", channel, receiver.url).code == 0


# -- is it genuine? ---------------------------------------------------------------------------------------------------


def options(secret: str, headers: dict[str, str]) -> list[str]:
    return ["--secret", secret, *(part for name, value in headers.items() for part in ("--header", f"{name}: {value}"))]


@pytest.mark.parametrize("kind", ["v1", "v1a"])
def test_a_delivery_is_verified_without_a_gateway(tmp_path: Path, kind: str) -> None:
    secret, file = new_secret(kind), tmp_path / "body.json"
    file.write_bytes(BODY)
    shown, now = public_key(secret) or secret, int(time.time())
    headers = signature_headers([secret], "evt_1", now, BODY)
    good = invoke("webhook", "verify", str(file), *options(shown, headers), "--secret", new_secret(), "--json").json()
    assert (good["valid"], good["reason"], good["secret"]) == (True, None, 1)
    assert abs(good["age_seconds"]) < 200
    old = signature_headers([secret], "evt_1", now - 1000, BODY)
    for secret_, given, words in ((new_secret(), headers, "No signature matches"), (shown, old, "seconds old")):
        ran = invoke("webhook", "verify", str(file), *options(secret_, given), "--json")
        assert ran.code == 1
        assert words in json.loads(ran.out)["reason"]
    assert "valid" in invoke("webhook", "verify", str(file), *options(shown, headers)).out


def test_mistakes_when_verifying_are_explained(tmp_path: Path) -> None:
    missing = str(tmp_path / "nobody.json")
    headers = {"webhook-id": "evt_1"}
    assert invoke("webhook", "verify", missing, *options(new_secret(), headers), "--json").error()["code"]
    file = tmp_path / "body.json"
    file.write_bytes(BODY)
    seen = invoke("webhook", "verify", str(file), *options("whsec_short", headers), "--json").error()
    assert seen["fields"][0]["field"] == "secret"
    assert "whsec_short" not in json.dumps(seen)
