"""Codes of authenticator apps: the vectors of RFC 6238, and an independent library."""

from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

import pyotp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.model.totp import (
    STEP,
    matching_step,
    new_recovery_code,
    plain_code,
    show_secret,
    totp_code,
    totp_uri,
)

SECRET = b"12345678901234567890"
NOW = datetime(2026, 11, 15, 10, 0, 10, tzinfo=UTC)
CURRENT = int(NOW.timestamp()) // STEP


@pytest.mark.parametrize(  # RFC 6238, appendix B, SHA-1
    ("seconds", "code"),
    [
        (59, "94287082"),
        (1111111109, "07081804"),
        (1111111111, "14050471"),
        (1234567890, "89005924"),
        (2000000000, "69279037"),
        (20000000000, "65353130"),
    ],
)
def test_the_vectors_of_the_rfc(seconds: int, code: str) -> None:
    assert totp_code(SECRET, seconds // STEP, digits=8) == code
    assert totp_code(SECRET, seconds // STEP) == code[2:]


@given(st.binary(min_size=20, max_size=20), st.integers(0, 1 << 40))
def test_another_library_agrees(secret: bytes, step: int) -> None:
    assert totp_code(secret, step) == pyotp.TOTP(show_secret(secret)).generate_otp(step)


def test_one_step_before_and_after_is_accepted() -> None:
    for step in range(CURRENT - 3, CURRENT + 4):
        found = matching_step(SECRET, totp_code(SECRET, step), NOW)
        assert found == (step if abs(step - CURRENT) <= 1 else None), step - CURRENT
    for wrong in ("", "12345", "1234567", "abcdef", "１２３４５６"):
        assert matching_step(SECRET, wrong, NOW) is None


def test_the_address_for_the_app() -> None:
    uri = totp_uri(SECRET, "ana+shop@example.com")
    parsed = pyotp.parse_uri(uri)
    assert isinstance(parsed, pyotp.TOTP)
    assert (parsed.name, parsed.issuer, parsed.secret) == ("ana+shop@example.com", "Gatepost", show_secret(SECRET))
    assert set(parse_qs(urlsplit(uri).query)) == {"secret", "issuer"}


def test_recovery_codes_are_long_and_differ() -> None:
    codes = {new_recovery_code() for _ in range(1000)}
    assert len(codes) == 1000
    assert {len(plain_code(code)) for code in codes} == {16}
    assert plain_code(" ABCD-efgh ") == "abcdefgh"
