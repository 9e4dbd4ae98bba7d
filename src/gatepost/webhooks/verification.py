"""Is this delivery genuine? The receiver's side, to find out why a check of theirs fails.

headers ─► id, timestamp, signatures ─► each key that is kept, the newest first ─► Verdict
                                         └ none fits: would it, with a newline more or less?
"""

import binascii
import hmac
from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from gatepost.model.signing import Check
from gatepost.webhooks.signature import signed_text

TOLERANCE = 300  # seconds that a timestamp may be off, either way
_NAMES = ("webhook-id", "webhook-timestamp", "webhook-signature")
MANY = 10  # signatures looked at: an endpoint has no more live secrets


class VerificationKey(msgspec.Struct, frozen=True):
    """A key that signs or has signed, and until when."""

    key: Check
    until: datetime | None = None


class VerificationResult(msgspec.Struct, frozen=True):
    """What a receiver should say to a delivery, and why. `by` is the place of the key among those given."""

    valid: bool
    reason: str | None = None
    by: int | None = None
    timestamp: int | None = None
    age: int | None = None


def verify(
    keys: Sequence[VerificationKey], headers: Mapping[str, str], body: bytes, now: datetime
) -> VerificationResult:
    """Judge a delivery as a receiver would; a key whose time is over fits no longer."""
    given = {name.lower(): value.strip() for name, value in headers.items()}
    for name in _NAMES:
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
        return "No signature fits: another secret, another body, or another webhook-id."
    until = keys[by].until
    if until is not None and until <= now:
        return "It is signed with a secret whose time is over."
    if abs(age) > TOLERANCE:
        side = "old" if age > 0 else "ahead of time"
        return f"The signature fits, but it is {abs(age)} seconds {side}; more than {TOLERANCE} are refused."
    return None


def _hint(
    keys: Sequence[VerificationKey], offered: list[tuple[str, bytes]], id_: str, stamp: str, body: bytes
) -> str | None:
    """Shells and editors like to add a newline, or to take one away."""
    for other, words in ((body.rstrip(b"\r\n"), "without its last newline"), (body + b"\n", "with one more newline")):
        if other != body and _signer(keys, offered, signed_text(id_, stamp, other)) is not None:
            return f"The signature fits the body {words}: verify the very bytes that came."
    return None


def _offered(header: str) -> list[tuple[str, bytes]]:
    """The signatures of the header, as (version, text)."""
    parts = [part.partition(",") for part in header.split()[:MANY]]
    return [(version, text.encode(errors="replace")) for version, _, text in parts]


def _signer(keys: Sequence[VerificationKey], offered: list[tuple[str, bytes]], text: bytes) -> int | None:
    return next((i for i, kept in enumerate(keys) if _fits(kept.key, offered, text)), None)


def _fits(key: Check, offered: list[tuple[str, bytes]], text: bytes) -> bool:
    if isinstance(key, Ed25519PublicKey):
        return any(_is_signed(key, given, text) for version, given in offered if version == "v1a")
    wanted = binascii.b2a_base64(hmac.digest(key, text, "sha256"), newline=False)
    return any(hmac.compare_digest(wanted, given) for version, given in offered if version == "v1")


def _is_signed(key: Ed25519PublicKey, given: bytes, text: bytes) -> bool:
    try:
        key.verify(binascii.a2b_base64(given, strict_mode=True), text)
    except (InvalidSignature, binascii.Error):
        return False
    return True
