"""Signatures, judged by the reference verifier of Standard Webhooks."""

import base64
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from gatepost.webhooks.sign import decode_secret, new_secret, signature_headers

BODY = '{"text": "Olá, 你好 👋"}'.encode()


def now() -> int:
    """The verifier looks at the real clock, so each test asks for the time itself."""
    return int(datetime.now(UTC).timestamp())


def verify(secret: str, body: bytes, headers: dict[str, str]) -> None:
    Webhook(secret).verify(body, headers, json_parse=False)


def test_the_reference_verifier_accepts_our_signature() -> None:
    secret = new_secret()
    headers = signature_headers([decode_secret(secret)], "evt_1", now(), BODY)
    assert Webhook(secret).verify(BODY, headers) == {"text": "Olá, 你好 👋"}
    assert set(headers) == {"webhook-id", "webhook-timestamp", "webhook-signature"}


def test_during_a_rotation_both_secrets_verify_and_afterwards_only_the_new_one() -> None:
    old, new = new_secret(), new_secret()
    both = signature_headers([decode_secret(new), decode_secret(old)], "evt_1", now(), BODY)
    assert len(both["webhook-signature"].split(" ")) == 2
    verify(old, BODY, both)
    verify(new, BODY, both)
    later = signature_headers([decode_secret(new)], "evt_1", now(), BODY)
    verify(new, BODY, later)
    with pytest.raises(WebhookVerificationError):
        verify(old, BODY, later)


@pytest.mark.parametrize(
    ("event_id", "later", "body"),
    [("evt_2", 0, BODY), ("evt_1", 1, BODY), ("evt_1", 0, BODY + b" ")],
)
def test_id_timestamp_and_body_are_all_signed(event_id: str, later: int, body: bytes) -> None:
    secret = new_secret()
    signed_at = now()
    headers = signature_headers([secret], "evt_1", signed_at, BODY)
    changed = headers | {"webhook-id": event_id, "webhook-timestamp": str(signed_at + later)}
    with pytest.raises(WebhookVerificationError):
        verify(secret, body, changed)


@pytest.mark.parametrize("age", [-400, 400])
def test_a_timestamp_more_than_five_minutes_off_fails(age: int) -> None:
    secret = new_secret()
    with pytest.raises(WebhookVerificationError):
        verify(secret, BODY, signature_headers([secret], "evt_1", now() + age, BODY))


@given(text=st.text(), key=st.binary(min_size=24, max_size=64))
def test_every_text_and_every_key_verifies(text: str, key: bytes) -> None:
    body = text.encode("utf-8", "ignore")
    verify("whsec_" + base64.b64encode(key).decode(), body, signature_headers([key], "evt_1", now(), body))


def test_secrets_are_long_random_and_marked() -> None:
    made = {new_secret() for _ in range(50)}
    assert len(made) == 50
    assert all(secret.startswith("whsec_") and len(decode_secret(secret)) == 32 for secret in made)


@pytest.mark.parametrize(
    "secret", ["", "whsec_", "whsec_not base64!", "whsec_c2hvcnQ=", "whsec_" + "QUJD" * 30, "whsec_é"]
)
def test_a_bad_secret_is_refused_without_being_quoted(secret: str) -> None:
    with pytest.raises(ValueError, match="signing secret") as caught:
        decode_secret(secret)
    assert not secret or secret not in str(caught.value)


def test_nothing_is_sent_unsigned() -> None:
    with pytest.raises(ValueError, match="unsigned"):
        signature_headers([], "evt_1", now(), BODY)
