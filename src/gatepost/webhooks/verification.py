"""Verifies a delivery as a receiver does, to explain why a receiver's check fails.

headers ─► id, timestamp, signatures ─► each stored key, newest first ─► VerificationResult
                                         └ none matches: would it with one newline more or less?
"""

import binascii
import hmac
from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from gatepost.model.signing import Check
from gatepost.webhooks.signature import SIGNATURE_NAMES, signed_text

TOLERANCE = 300  # seconds that a timestamp may differ from the current time
SIGNATURES_MAX = 10  # an endpoint has no more live secrets


class VerificationKey(msgspec.Struct, frozen=True):
    """A key that signs or has signed, and until when it is valid."""

    key: Check
    until: datetime | None = None


class VerificationResult(msgspec.Struct, frozen=True):
    """Whether a delivery is valid, and why not. `by` is the index of the key that signed it."""

    valid: bool
    reason: str | None = None
    by: int | None = None
    timestamp: int | None = None
    age: int | None = None


def verify(
    keys: Sequence[VerificationKey], headers: Mapping[str, str], body: bytes, now: datetime
) -> VerificationResult:
    """Verify a delivery as a receiver does; an expired key is not valid."""
    given = {name.lower(): value.strip() for name, value in headers.items()}
    for name in SIGNATURE_NAMES:
        if not given.get(name):
            return VerificationResult(False, f"The header {name} is missing.")
    stamp = given["webhook-timestamp"]
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 11):
        return VerificationResult(False, "webhook-timestamp is not a time in seconds.")
    timestamp, age = int(stamp), int(now.timestamp()) - int(stamp)
    offered = _offered(given["webhook-signature"])
    by = _signer(keys, offered, signed_text(given["webhook-id"], stamp, body))
    reason = _why(keys, by, age, now)
    if by is None:
        reason = _hint(keys, offered, given["webhook-id"], stamp, body) or reason
    return VerificationResult(reason is None, reason, by, timestamp, age)


def _why(keys: Sequence[VerificationKey], by: int | None, age: int, now: datetime) -> str | None:
    if by is None:
        return "No signature matches: the secret, the body or the webhook-id differs."
    until = keys[by].until
    if until is not None and until <= now:
        return "It is signed with a secret that has expired."
    if abs(age) > TOLERANCE:
        side = "old" if age > 0 else "in the future"
        return f"The signature matches, but it is {abs(age)} seconds {side}; at most {TOLERANCE} are allowed."
    return None


def _hint(
    keys: Sequence[VerificationKey], offered: list[tuple[str, bytes]], id_: str, stamp: str, body: bytes
) -> str | None:
    """Return a hint if only a final newline differs: shells and editors often add or remove one."""
    for other, words in ((body.rstrip(b"\r\n"), "without its last newline"), (body + b"\n", "with one more newline")):
        if other != body and _signer(keys, offered, signed_text(id_, stamp, other)) is not None:
            return f"The signature matches the body {words}: verify exactly the bytes that were received."
    return None


def _offered(header: str) -> list[tuple[str, bytes]]:
    """Return the signatures of the header as (version, text)."""
    parts = [part.partition(",") for part in header.split()[:SIGNATURES_MAX]]
    return [(version, text.encode(errors="replace")) for version, _, text in parts]


def _signer(keys: Sequence[VerificationKey], offered: list[tuple[str, bytes]], text: bytes) -> int | None:
    return next((i for i, key in enumerate(keys) if _matches(key.key, offered, text)), None)


def _matches(key: Check, offered: list[tuple[str, bytes]], text: bytes) -> bool:
    if isinstance(key, Ed25519PublicKey):
        return any(_is_signed(key, given, text) for version, given in offered if version == "v1a")
    expected = binascii.b2a_base64(hmac.digest(key, text, "sha256"), newline=False)
    return any(hmac.compare_digest(expected, given) for version, given in offered if version == "v1")


def _is_signed(key: Ed25519PublicKey, given: bytes, text: bytes) -> bool:
    try:
        key.verify(binascii.a2b_base64(given, strict_mode=True), text)
    except (InvalidSignature, binascii.Error):
        return False
    return True
