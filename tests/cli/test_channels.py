"""`gatepost channel`, `key` and `webhook`."""

import asyncio
import socket
from collections.abc import Iterator

import pytest

from gatepost.access.refusal_recorder import Refusal, RefusalRecorder
from gatepost.cli.http_call import call
from gatepost.clock import SystemClock
from gatepost.model.account import key_hash
from gatepost.store.pool import Database
from gatepost_sandbox import SandboxSettings
from tests.cli.conftest import Run
from tests.sandbox.conftest import running

OFFICIAL = ("--kind", "official", "--phone", "15550001111", "--phone-number-id", "100", "--token", "t0k")


def test_an_official_channel(run: Run, account: str) -> None:
    made = run(
        "channel", "create", account, *OFFICIAL, "--app-secret", "s3c", "--name", "Sales", "--tier", "0", "--json"
    ).json()
    assert (made["kind"], made["connection"], made["name"]) == ("official", "connected", "Sales")
    assert made["network"] == {"phone_number_id": "100"}
    assert made["limits"] == {"tier": 0}, "what is not set by hand follows the network, and before it the settings"
    assert made["callback_url"] == f"http://127.0.0.1:8080/callbacks/cloud/{made['id']}"
    assert len(made["verify_token"]) == 32
    shown = run("channel", "show", made["id"]).out
    assert made["id"] in shown
    assert not [secret for secret in ("t0k", "s3c", made["verify_token"]) if secret in shown]
    raised = run("channel", "limits", made["id"], "--throughput", "1000", "--json").json()
    assert raised["limits"] == {**made["limits"], "throughput": 1000}
    assert run("channel", "limits", made["id"], "--throughput", "1001", "--json").error()["code"] == "invalid_field"
    for window, code in (("0", 0), ("1", 0), ("2", 1), ("-1", 1)):
        assert run("channel", "limits", made["id"], "--window", window, "--json").code == code
    assert run("channel", "show", made["id"], "--json").json()["limits"]["window"] == 1


def test_where_a_number_is_can_be_set_later(run: Run, account: str, channel: str) -> None:
    made = run("channel", "create", account, *OFFICIAL, "--app-secret", "s3c", "--json").json()
    placed = run("channel", "network", made["id"], "--waba-id", "200", "--version", "v25.0", "--json").json()
    assert placed["network"] == {"phone_number_id": "100", "waba_id": "200", "version": "v25.0"}
    again = run("channel", "network", made["id"], "--waba-id", "201", "--json").json()
    assert again["network"] == {**placed["network"], "waba_id": "201"}
    assert run("channel", "network", made["id"], "--waba-id", "x", "--json").error()["fields"][0]["field"] == "waba_id"
    assert run("channel", "network", made["id"], "--json").error()["fields"][0]["field"] == "network"
    assert run("channel", "network", channel, "--waba-id", "1", "--json").error()["code"] == "invalid_field"


@pytest.fixture
def network() -> Iterator[str]:
    """Yield the address of a sandbox whose number 100 has a new token."""
    number = {"phone_number_id": "100", "phone": "15550001111", "token": "new-t0k", "app_secret": "s3c"}
    with running(SandboxSettings()) as port:
        call(f"http://127.0.0.1:{port}/control/numbers", number)
        yield f"http://127.0.0.1:{port}"


def test_a_token_is_tested_and_replaced(run: Run, account: str, channel: str, network: str) -> None:
    address = ("--app-secret", "s3c", "--base-url", network)
    id_ = run("channel", "create", account, *OFFICIAL, *address, "--json").json()["id"]
    wrong = (("--token", "guess"), "token"), (("--token", "new-t0k", "--app-secret", "guess"), "app_secret")
    same = (("--app-secret", "s3c"), "token")  # the old token is still stored, and does not work
    for arguments, field in (*wrong, same):
        error = run("channel", "token", id_, *arguments, "--json").error()
        assert (error["code"], error["fields"][0]["field"]) == ("invalid_field", field)
        assert "guess" not in str(error)
    changed = run("channel", "token", id_, "--token", "new-t0k", "--json")
    assert changed.json()["id"] == id_
    assert "new-t0k" not in changed.out
    assert run("channel", "token", id_, "--app-secret", "s3c", "--json").code == 0
    for whole in ([id_], [id_, "--token", "two words"], [channel, "--token", "t"]):
        for option in ([], ["--no-test"]):
            assert run("channel", "token", *whole, *option, "--json").error()["fields"][0]["field"] == "token"


def test_a_token_is_replaced_without_a_test(run: Run, account: str, network: str) -> None:
    address = ("--app-secret", "s3c", "--base-url", network)
    id_ = run("channel", "create", account, *OFFICIAL, *address, "--json").json()["id"]
    assert run("channel", "token", id_, "--token", "new-t0k", "--no-test", "--json").json()["id"] == id_
    assert run("channel", "token", id_, "--app-secret", "s3c", "--json").code == 0, "the new token is stored"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        free = listener.getsockname()[1]
    run("channel", "network", id_, "--base-url", f"http://127.0.0.1:{free}", "--json").json()
    assert run("channel", "token", id_, "--token", "other", "--json").error()["code"] == "network_unavailable"
    assert run("channel", "token", id_, "--token", "other", "--no-test", "--json").code == 0


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (OFFICIAL, "app_secret"),
        (("--kind", "qr", "--phone", "15550001111", "--token", "t"), "token"),
        (("--kind", "fax", "--phone", "15550001111"), "kind"),
        (("--kind", "qr", "--phone", "+1 555"), "phone"),
    ],
)
def test_what_a_channel_refuses(run: Run, account: str, arguments: tuple[str, ...], field: str) -> None:
    assert run("channel", "create", account, *arguments, "--json").error()["fields"][0]["field"] == field


def test_channels_are_listed_and_removed(run: Run, account: str, channel: str) -> None:
    other = run("account", "create", "Other", "--json").json()["id"]
    assert [one["id"] for one in run("channel", "list", "--json").json()] == [channel]
    assert [one["id"] for one in run("channel", "list", "--account", account, "--json").json()] == [channel]
    assert run("channel", "list", "--account", other, "--json").json() == []
    asked = run("channel", "delete", channel)
    assert (asked.code, asked.out) == (1, "")
    assert "Delete the channel 15550001111" in asked.err
    assert "Nothing was changed" in asked.err
    assert run("channel", "delete", channel, "--yes", "--json").json()["deleted"] is True
    assert run("channel", "show", channel, "--json").error()["code"] == "not_found"


def test_keys_are_made_rotated_and_revoked(run: Run, channel: str) -> None:
    made = run("key", "create", channel, "Store", "--scopes", "read,send", "--expires", "90d", "--json").json()
    assert made["key"].startswith(made["hint"])
    assert made["scopes"] == ["send", "read"]
    assert made["expires_at"] > made["created_at"]
    new = run("key", "rotate", made["id"], "--overlap", "30m", "--json").json()
    assert (new["name"], new["scopes"], new["expires_at"]) == ("Store", ["send", "read"], None)
    old, listed = run("key", "list", channel, "--json").json()
    assert "key" not in listed
    assert old["expires_at"] < made["expires_at"]
    assert run("key", "revoke", new["id"], "--json").json()["revoked_at"] is not None
    assert run("key", "rotate", new["id"], "--json").error()["code"] == "wrong_state"
    assert made["key"] not in run("key", "list", channel).out
    for wrong in (["--overlap", "soon"], ["--expires", "later"], ["--expires", "2001-01-01"]):
        assert run("key", "rotate", made["id"], *wrong, "--json").error()["code"] == "invalid_field"
    assert run("key", "create", channel, "Store", "--scopes", "admin", "--json").error()["code"] == "invalid_field"
    assert (
        "Warning: Besides mcp, this key has read." in run("key", "create", channel, "Aide", "--scopes", "mcp,read").out
    )
    assert "Warning" not in run("key", "create", channel, "Aide", "--scopes", "mcp").out
    assert run("key", "revoke", "key_" + "0" * 32, "--json").error()["code"] == "not_found"


def test_webhooks_are_made_changed_and_removed(run: Run, channel: str) -> None:
    made = run("webhook", "create", channel, "https://example.com/hooks", "--header", "X-Shop: 7", "--json").json()
    assert made["secret"].startswith("whsec_")
    assert sum(made["events"].values()) == 6
    assert (made["headers"], made["channel"]) == ({"X-Shop": "***"}, channel)
    assert run("webhook", "seal-headers", "--json").json() == {"sealed": 0}
    shown = run("webhook", "show", made["id"], "--json").json()
    assert shown == {name: value for name, value in made.items() if name != "secret"}
    assert run("webhook", "show", made["id"], "--secret", "--json").json()["secret"] == made["secret"]
    changed = run(
        "webhook", "change", made["id"], "--events", "ack_notification", "--state", "disabled", "--no-headers", "--json"
    ).json()
    assert [type_ for type_, on in changed["events"].items() if on] == ["ack_notification"]
    assert (changed["state"], changed["active"], changed["headers"]) == ("disabled", False, {})
    assert changed["url"] == made["url"]
    rotated = run("webhook", "rotate-secret", made["id"], "--json").json()
    assert rotated["secret"] != made["secret"]
    assert [one["id"] for one in run("webhook", "list", channel, "--json").json()] == [made["id"]]
    assert run("webhook", "attempts", made["id"], "--json").json() == []
    assert run("webhook", "delete", made["id"], "--json").json()["deleted"] is True
    assert run("webhook", "show", made["id"], "--json").error()["code"] == "not_found"


def test_a_webhook_may_not_lead_inside(run: Run, channel: str) -> None:
    for url in ("http://127.0.0.1/", "http://169.254.169.254/latest", "http://localhost:9000/"):
        seen = run("webhook", "create", channel, url, "--json").error()
        assert (seen["code"], seen["fields"][0]["field"]) == ("forbidden_url", "url")
    assert run("webhook", "create", channel, "https://a.example", "--header", "host", "--json").error()["fields"]


async def record_refusal(database_url: str, key: str) -> None:
    """Record a refused request, as a running gateway does."""
    db = await Database.connect(database_url, connections=1)
    recorder = RefusalRecorder(db, SystemClock())
    refusal = Refusal("POST", "/api/v1/labels", 422, "invalid_field", "name", "name: is missing", "req_1")
    recorder.record(key_hash(key), refusal, admitted=True)
    await recorder.save()
    await db.close()


def test_refused_requests_of_a_key_are_listed(run: Run, channel: str, database_url: str) -> None:
    made, other = (run("key", "create", channel, name, "--json").json() for name in ("Store", "Other"))
    asyncio.run(record_refusal(database_url, made["key"]))
    (listed,) = run("key", "refused", made["id"], "--json").json()
    assert (listed["method"], listed["path"], listed["code"], listed["count"]) == (
        "POST",
        "/api/v1/labels",
        "invalid_field",
        1,
    )
    assert run("key", "refused", other["id"], "--json").json() == []
    assert "name: is missing" in run("key", "refused", made["id"]).out
    assert run("key", "refused", made["id"], "--limit", "0").code == 2
    assert run("key", "refused", "key_" + "0" * 32, "--json").error()["code"] == "not_found"
