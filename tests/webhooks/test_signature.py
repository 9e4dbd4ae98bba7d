"""Signatures, verified by the reference library of Standard Webhooks."""

import base64
import contextlib
from datetime import UTC, datetime

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from gatepost.model.signing import decode_secret, new_secret, public_key
from gatepost.webhooks.signature import delivery_headers, signature_headers
from tests.for_each import for_each

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
    assert all(secret.startswith("whsec_") and len(base64.b64decode(secret[6:])) == 32 for secret in made)


@for_each("secret", ["", "whsec_", "whsec_not base64!", "whsec_c2hvcnQ=", "whsec_" + "QUJD" * 30, "whsec_é"])
def test_an_invalid_secret_is_rejected_without_being_shown(secret: str) -> None:
    with pytest.raises(ValueError, match="signing secret") as caught:
        decode_secret(secret)
    assert not secret or secret not in str(caught.value)


def test_nothing_is_sent_unsigned() -> None:
    with pytest.raises(ValueError, match="unsigned"):
        signature_headers([], "evt_1", now(), BODY)


# -- v1a --------------------------------------------------------------------------------------------------------------


def verify_ed25519(public: str, body: bytes, headers: dict[str, str]) -> int:
    """Return how many of the v1a signatures match, verified with the bare primitive."""
    key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public.removeprefix("whpk_")))
    text = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    fitting = 0
    for part in headers["webhook-signature"].split(" "):
        with contextlib.suppress(InvalidSignature):
            if part.startswith("v1a,"):
                key.verify(base64.b64decode(part.removeprefix("v1a,")), text)
                fitting += 1
    return fitting


def test_each_live_key_signs_with_its_own_scheme() -> None:
    shared, private = new_secret(), new_secret("v1a")
    keys = [decode_secret(private), decode_secret(shared)]
    headers = signature_headers(keys, "evt_1", now(), BODY)
    assert [part.partition(",")[0] for part in headers["webhook-signature"].split(" ")] == ["v1a", "v1"]
    verify(shared, BODY, headers)
    assert verify_ed25519(public_key(private) or "", BODY, headers) == 1
    assert verify_ed25519(public_key(new_secret("v1a")) or "", BODY, headers) == 0
    assert verify_ed25519(public_key(private) or "", BODY + b" ", headers) == 0


def test_a_known_key_signs_as_the_standard_shows() -> None:
    """RFC 8032, section 7.1, test 1: the seed, and the public key that follows from it."""
    seed = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    public = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
    secret = "whsk_" + base64.b64encode(seed + public).decode()
    assert public_key(secret) == "whpk_" + base64.b64encode(public).decode()
    headers = signature_headers([secret], "evt_1", 1_794_736_800, BODY)
    assert headers == signature_headers([secret], "evt_1", 1_794_736_800, BODY)
    assert verify_ed25519(public_key(secret) or "", BODY, headers) == 1


def test_the_headers_of_a_delivery() -> None:
    headers = delivery_headers({"X-Shop": "7"}, [new_secret()], "evt_1", now(), BODY)
    assert list(headers)[:3] == ["content-type", "user-agent", "X-Shop"]
    assert set(list(headers)[3:]) == {"webhook-id", "webhook-timestamp", "webhook-signature"}
