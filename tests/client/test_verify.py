"""Deliveries that are genuine, and all others."""

import base64
import hmac
from datetime import UTC, datetime
from typing import Any
from unittest.mock import MagicMock

import msgspec
import pytest
from standardwebhooks.webhooks import Webhook

from gatepost.model.signing import new_secret, public_key
from gatepost.webhooks.signature import signature_headers
from gatepost_client import BadWebhook, verify_webhook, verify_webhook_batch
from tests.for_each import for_each

NOW = 1_794_736_800
SECRET = new_secret()
EVENT = {
    "id": "evt_1",
    "type": "ack_notification",
    "action": "message",
    "timestamp": "2026-11-15T10:00:00.123Z",
    "sequence": 7,
    "channel": {"id": "ch_1", "kind": "official", "phone": "15550001111", "novelty": 1},
    "data": {
        "key": {"remoteJid": "1@s", "fromMe": True, "id": "01"},
        "status": "READ",
        "previous": "SENT",
        "ack": 3,
        "novelty": 1,
    },
    "novelty": 1,
}
BODY = msgspec.json.encode(EVENT)


def signed(body: bytes = BODY, secrets: tuple[str, ...] = (SECRET,), at: int = NOW) -> dict[str, str]:
    return signature_headers(secrets, "evt_1", at, body)


def test_a_genuine_delivery_is_an_event() -> None:
    event = verify_webhook(SECRET, signed(), BODY, now=NOW)
    assert (event.id, event.type, event.sequence, event.channel.kind) == ("evt_1", "ack_notification", 7, "official")
    assert event.timestamp == datetime(2026, 11, 15, 10, 0, 0, 123_000, UTC)
    assert event.status is not None
    assert (event.status.status, event.status.key.id) == ("READ", "01")
    assert (event.message, event.connection) == (None, None)


def test_what_others_sign_is_genuine() -> None:
    moment = datetime.fromtimestamp(NOW, UTC)
    signature = Webhook(SECRET).sign("evt_1", moment, BODY.decode())
    headers = {"Webhook-Id": "evt_1", "Webhook-Timestamp": str(NOW), "Webhook-Signature": signature}
    assert verify_webhook(SECRET, headers, BODY, now=NOW).id == "evt_1"


def test_either_secret_is_good_during_a_rotation() -> None:
    old, new = new_secret(), new_secret()
    for mine in (old, new, [old, new], (new_secret(), old)):
        assert verify_webhook(mine, signed(secrets=(old, new)), BODY, now=NOW).id == "evt_1"
    assert verify_webhook([old, new], signed(secrets=(new,)), BODY, now=NOW).id == "evt_1"
    with pytest.raises(BadWebhook):
        verify_webhook([old, new], signed(), BODY, now=NOW)


@pytest.mark.parametrize(("off", "good"), [(-301, False), (-300, True), (300, True), (301, False)])
def test_old_and_early_deliveries_are_refused(off: int, good: bool) -> None:
    if good:
        verify_webhook(SECRET, signed(), BODY, now=NOW + off)
    else:
        with pytest.raises(BadWebhook, match="too far"):
            verify_webhook(SECRET, signed(), BODY, now=NOW + off)


def test_the_clock_is_the_machines_own() -> None:
    with pytest.raises(BadWebhook, match="too far"):
        verify_webhook(SECRET, signed(at=1_000_000_000), BODY)


@for_each(
    "spoil",
    [
        {"webhook-id": "evt_2"},
        {"webhook-id": ""},
        {"webhook-timestamp": str(NOW + 1)},
        {"webhook-timestamp": "soon"},
        {"webhook-timestamp": "-1"},
        {"webhook-timestamp": "9" * 5000},
        {"webhook-timestamp": "١"},
        {"webhook-signature": ""},
        {"webhook-signature": "v1,"},
        {"webhook-signature": "v1,ü \ud800"},
        {"webhook-signature": "v2," + signed()["webhook-signature"][3:]},
    ],
)
def test_a_spoiled_header_is_refused(spoil: dict[str, str]) -> None:
    with pytest.raises(BadWebhook):
        verify_webhook(SECRET, signed() | spoil, BODY, now=NOW)


@pytest.mark.parametrize("missing", ["webhook-id", "webhook-timestamp", "webhook-signature"])
def test_a_missing_header_is_refused(missing: str) -> None:
    headers = {name: value for name, value in signed().items() if name != missing}
    with pytest.raises(BadWebhook, match=missing):
        verify_webhook(SECRET, headers, BODY, now=NOW)


def test_another_body_is_refused() -> None:
    with pytest.raises(BadWebhook):
        verify_webhook(SECRET, signed(), BODY + b" ", now=NOW)


def test_a_signed_body_that_is_no_event() -> None:
    for body in (b"", b"{}", b"[]", b"\xff"):
        with pytest.raises(BadWebhook, match="not an event"):
            verify_webhook(SECRET, signed(body), body, now=NOW)


@for_each("secrets", ["", "whsec_", "whsec_?", [], [SECRET, ""], "whsec_" + "QUJD" * 7 + "QUI="])
def test_a_secret_that_is_none_is_a_mistake(secrets: Any) -> None:
    if secrets and secrets[0] == "w" and len(secrets) > 20:
        assert len(base64.b64decode(secrets.removeprefix("whsec_"))) == 23
        assert secrets != SECRET
    with pytest.raises(ValueError, match="secret"):
        verify_webhook(secrets, signed(), BODY, now=NOW)


def test_the_shortest_secret() -> None:
    secret = "whsec_" + base64.b64encode(bytes(24)).decode()
    assert verify_webhook(secret, signed(secrets=(secret,)), BODY, now=NOW).id == "evt_1"


PRIVATE = new_secret("v1a")
PUBLIC = public_key(PRIVATE) or ""


def test_a_public_key_verifies() -> None:
    both = signed(secrets=(SECRET, PRIVATE))
    for mine in (PUBLIC, SECRET, [new_secret(), PUBLIC]):
        assert verify_webhook(mine, both, BODY, now=NOW).id == "evt_1"
    spoiled = both | {"webhook-signature": both["webhook-signature"].replace("v1a,", "v1,")}
    for headers, body in (
        (signed(), BODY),
        (both, BODY + b" "),
        (both | {"webhook-id": "evt_2"}, BODY),
        (spoiled, BODY),
    ):
        with pytest.raises(BadWebhook):
            verify_webhook(PUBLIC, headers, body, now=NOW)
    with pytest.raises(BadWebhook):
        verify_webhook(public_key(new_secret("v1a")) or "", both, BODY, now=NOW)
    with pytest.raises(BadWebhook, match="too far"):
        verify_webhook(PUBLIC, both, BODY, now=NOW + 301)


@pytest.mark.parametrize(
    "key",
    ["whpk_", "whpk_?", PUBLIC[:-4], PUBLIC + "QUJD", PRIVATE.replace("whsk_", "whpk_")],
    ids=["empty", "odd", "short", "long", "private"],
)
def test_a_public_key_that_is_none_is_a_mistake(key: str) -> None:
    with pytest.raises(ValueError, match="secret"):
        verify_webhook(key, signed(secrets=(PRIVATE,)), BODY, now=NOW)


def test_a_batch_gives_its_events_in_order() -> None:
    body = msgspec.json.encode({"events": [EVENT, EVENT | {"id": "evt_2", "sequence": 8}]})
    headers = signed(body)
    assert [event.id for event in verify_webhook_batch(SECRET, headers, body, now=NOW)] == ["evt_1", "evt_2"]
    with pytest.raises(BadWebhook, match="not an event"):
        verify_webhook(SECRET, headers, body, now=NOW)
    with pytest.raises(BadWebhook, match="not a batch"):
        verify_webhook_batch(SECRET, signed(), BODY, now=NOW)
    with pytest.raises(BadWebhook, match="does not fit"):
        verify_webhook_batch(new_secret(), headers, body, now=NOW)


def test_many_signatures_do_not_multiply_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Anybody can send a header with thousands of them, and a large body."""
    hashed = MagicMock(wraps=hmac.digest)
    monkeypatch.setattr(hmac, "digest", hashed)
    headers = signed() | {"webhook-signature": "v1,x " * 5_000}
    with pytest.raises(BadWebhook):
        verify_webhook([SECRET, new_secret()], headers, BODY, now=NOW)
    assert hashed.call_count == 2
