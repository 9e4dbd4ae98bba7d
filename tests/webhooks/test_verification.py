"""Why a delivery is not genuine: explained in words, with the key that signed it."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.model.signing import decode_check, new_secret, public_key
from gatepost.webhooks.signature import signature_headers
from gatepost.webhooks.verification import TOLERANCE, VerificationKey, VerificationResult, verify
from tests.for_each import for_each

NOW = datetime(2026, 11, 15, 10, 0, tzinfo=UTC)
STAMP = int(NOW.timestamp())
BODY = '{"text":"Olá"}'.encode()
CURRENT, PREVIOUS, PRIVATE = new_secret(), new_secret(), new_secret("v1a")
KEPT = [
    VerificationKey(decode_check(CURRENT)),
    VerificationKey(decode_check(PREVIOUS), NOW + timedelta(hours=1)),
    VerificationKey(decode_check(PRIVATE), NOW + timedelta(hours=1)),
]


def signed(*secrets: str, at: int = STAMP, body: bytes = BODY) -> dict[str, str]:
    return signature_headers(secrets, "evt_1", at, body)


@pytest.mark.parametrize(
    ("secret", "by"), [(CURRENT, 0), (PREVIOUS, 1), (PRIVATE, 2)], ids=["current", "previous", "v1a"]
)
def test_a_genuine_delivery_names_its_key(secret: str, by: int) -> None:
    assert verify(KEPT, signed(secret), BODY, NOW) == VerificationResult(True, None, by, STAMP, 0)
    assert verify(KEPT, signed(new_secret(), new_secret("v1a"), secret), BODY, NOW).by == by


def test_the_newest_matching_key_is_named() -> None:
    assert verify(KEPT, signed(PREVIOUS, CURRENT), BODY, NOW).by == 0


def test_names_of_headers_in_any_case_and_with_blanks() -> None:
    headers = {name.upper(): f" {value} " for name, value in signed(CURRENT).items()}
    assert verify(KEPT, headers, BODY, NOW).valid


def test_a_public_key_alone_verifies() -> None:
    keys = [VerificationKey(decode_check(public_key(PRIVATE) or ""))]
    assert verify(keys, signed(CURRENT, PRIVATE), BODY, NOW).valid
    assert not verify(keys, signed(CURRENT), BODY, NOW).valid


def test_a_key_is_valid_until_it_expires() -> None:
    for later, valid in ((timedelta(hours=1) - timedelta(seconds=1), True), (timedelta(hours=1), False)):
        moment = NOW + later
        decision = verify(KEPT, signed(PREVIOUS, at=int(moment.timestamp())), BODY, moment)
        assert (decision.valid, decision.by) == (valid, 1)
        assert valid or "has expired" in (decision.reason or "")


@pytest.mark.parametrize(
    ("age", "valid"),
    [(-TOLERANCE - 1, False), (-TOLERANCE, True), (TOLERANCE, True), (TOLERANCE + 1, False)],
)
def test_old_and_future_deliveries_are_rejected_though_signed(age: int, valid: bool) -> None:
    decision = verify(KEPT, signed(CURRENT, at=STAMP - age), BODY, NOW)
    assert (decision.valid, decision.by, decision.timestamp, decision.age) == (valid, 0, STAMP - age, age)
    if not valid:
        assert f"{TOLERANCE + 1} seconds {'old' if age > 0 else 'in the future'}" in (decision.reason or "")


@for_each(
    ("spoil", "words"),
    [
        ({"webhook-id": ""}, "webhook-id is missing"),
        ({"webhook-timestamp": ""}, "webhook-timestamp is missing"),
        ({"webhook-signature": ""}, "webhook-signature is missing"),
        ({"webhook-timestamp": "soon"}, "not a time"),
        ({"webhook-timestamp": "-1"}, "not a time"),
        ({"webhook-timestamp": "١"}, "not a time"),
        ({"webhook-timestamp": "9" * 12}, "not a time"),
        ({"webhook-timestamp": f"0{STAMP}"}, "No signature matches"),
        ({"webhook-id": "evt_2"}, "No signature matches"),
        ({"webhook-id": "\ud800"}, "No signature matches"),
        ({"webhook-signature": "v1,"}, "No signature matches"),
        ({"webhook-signature": "v1a,?? v1a,AA== v1,é nonsense ,"}, "No signature matches"),
        ({"webhook-signature": signed(CURRENT)["webhook-signature"].replace("v1,", "v1a,")}, "No signature matches"),
        ({"webhook-signature": signed(PRIVATE)["webhook-signature"].replace("v1a,", "v1,")}, "No signature matches"),
    ],
)
def test_the_reason_names_what_is_wrong(spoil: dict[str, str], words: str) -> None:
    decision = verify(KEPT, signed(CURRENT, PRIVATE) | spoil, BODY, NOW)
    assert (decision.valid, decision.by) == (False, None)
    assert words in (decision.reason or "")


def test_a_newline_too_much_or_too_little_is_named() -> None:
    for body in (BODY + b"\n", BODY + b"\r\n"):
        assert "without its last newline" in (verify(KEPT, signed(PRIVATE), body, NOW).reason or "")
    headers = signed(CURRENT, body=BODY + b"\n")
    assert "one more newline" in (verify(KEPT, headers, BODY, NOW).reason or "")
    assert verify(KEPT, signed(CURRENT), BODY + b" ", NOW).reason == (
        "No signature matches: the secret, the body or the webhook-id differs."
    )


@given(headers=st.dictionaries(st.sampled_from(list(signed(CURRENT))), st.text()), body=st.binary())
def test_no_input_raises(headers: dict[str, str], body: bytes) -> None:
    decision = verify(KEPT, signed(CURRENT) | headers, body, NOW)
    assert decision.valid == (decision.reason is None)
    assert not decision.valid or (body == BODY)
