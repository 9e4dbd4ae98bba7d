"""Verification of webhook deliveries: Standard Webhooks over `id.timestamp.body`, one signature for each live secret.

`v1,…` is HMAC-SHA256 with a secret (whsec_…), `v1a,…` is ed25519 and is verified with a public key (whpk_…).
"""

import base64
import binascii
import hmac
import time
from collections.abc import Iterable, Mapping
from typing import TypeAlias

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from gatepost_client.errors import BadWebhook
from gatepost_client.events import Event

TOLERANCE = 300  # seconds that the clocks may be apart, either way
SHORTEST = 24  # bytes of a secret
PUBLIC_BYTES = 32
SIGNATURES_MAX = 10  # of one delivery: an endpoint has no more live secrets

Key: TypeAlias = bytes | Ed25519PublicKey


class _Batch(msgspec.Struct, frozen=True):
    events: list[Event]


_event = msgspec.json.Decoder(Event)
_batch = msgspec.json.Decoder(_Batch)


def verify_webhook(
    secrets: str | Iterable[str],
    headers: Mapping[str, str],
    body: bytes,
    *,
    tolerance: float = TOLERANCE,
    now: float | None = None,
) -> Event:
    """Return the event of a genuine delivery; raise BadWebhook otherwise.

    `body` is the very bytes that came. Give both secrets (or public keys) while one is being rotated.
    """
    _verify(secrets, headers, body, tolerance, now)
    try:
        return _event.decode(body)
    except msgspec.DecodeError as error:
        raise BadWebhook(f"The body is not an event: {error}") from None


def verify_webhook_batch(
    secrets: str | Iterable[str],
    headers: Mapping[str, str],
    body: bytes,
    *,
    tolerance: float = TOLERANCE,
    now: float | None = None,
) -> list[Event]:
    """Return the events of a genuine batch, in their order; raise BadWebhook otherwise."""
    _verify(secrets, headers, body, tolerance, now)
    try:
        return _batch.decode(body).events
    except msgspec.DecodeError as error:
        raise BadWebhook(f"The body is not a batch of events: {error}") from None


def _verify(
    secrets: str | Iterable[str], headers: Mapping[str, str], body: bytes, tolerance: float, now: float | None
) -> None:
    keys = [_key(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    if not keys:
        raise ValueError("at least one secret is needed")
    signed = _signed(headers, body, tolerance, time.time() if now is None else now)
    offered = [text.partition(",") for text in _header(headers, "webhook-signature").split()[:SIGNATURES_MAX]]
    given = [(version, text.encode(errors="replace")) for version, _, text in offered]
    if not any(_fits(key, given, signed) for key in keys):
        raise BadWebhook("The signature does not fit: another secret, or another body.")


def _fits(key: Key, offered: list[tuple[str, bytes]], signed: bytes) -> bool:
    """Return whether one of the signatures is of this key. The body is hashed once, however many there are."""
    if isinstance(key, bytes):
        wanted = binascii.b2a_base64(hmac.digest(key, signed, "sha256"), newline=False)
        return any(version == "v1" and hmac.compare_digest(wanted, given) for version, given in offered)
    return any(version == "v1a" and _is_signed(key, given, signed) for version, given in offered)


def _is_signed(key: Ed25519PublicKey, given: bytes, signed: bytes) -> bool:
    try:
        key.verify(binascii.a2b_base64(given, strict_mode=True), signed)
    except (InvalidSignature, binascii.Error):
        return False
    return True


def _signed(headers: Mapping[str, str], body: bytes, tolerance: float, now: float) -> bytes:
    """Return the signed bytes, if the timestamp is recent: an old delivery may be a replay."""
    stamp = _header(headers, "webhook-timestamp")
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) < 20):
        raise BadWebhook("webhook-timestamp is not a time.")
    if abs(now - int(stamp)) > tolerance:
        raise BadWebhook("webhook-timestamp is too far from now.")
    return f"{_header(headers, 'webhook-id')}.{stamp}.".encode(errors="replace") + body


def _header(headers: Mapping[str, str], name: str) -> str:
    """Return a header, ignoring case."""
    found = headers.get(name) or next((value for key, value in headers.items() if key.lower() == name), "")
    if not found:
        raise BadWebhook(f"The header {name} is missing.")
    return found


def _key(secret: str) -> Key:
    public = secret.startswith("whpk_")
    try:
        raw = base64.b64decode(secret.removeprefix("whpk_" if public else "whsec_"), validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if public and len(raw) == PUBLIC_BYTES:
        return Ed25519PublicKey.from_public_bytes(raw)
    if public or len(raw) < SHORTEST:  # an empty secret, left over from a missing setting, would let everybody in
        raise ValueError("a signing secret looks like whsec_… or whpk_… and is shown when an endpoint is made")
    return raw
