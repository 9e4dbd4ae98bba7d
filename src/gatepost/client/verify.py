"""Is a delivery genuine? Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`, one `v1,…` for each live secret."""

import base64
import binascii
import hmac
import time
from collections.abc import Iterable, Mapping

import msgspec

from gatepost.client.errors import BadWebhook
from gatepost.client.events import Event

TOLERANCE = 300  # seconds that the clocks may be apart, either way
SHORTEST = 24  # bytes of a secret

_event = msgspec.json.Decoder(Event)


def verify_webhook(
    secrets: str | Iterable[str],
    headers: Mapping[str, str],
    body: bytes,
    *,
    tolerance: float = TOLERANCE,
    now: float | None = None,
) -> Event:
    """Return the event of a genuine delivery; raise BadWebhook otherwise.

    `body` is the very bytes that came. Give both secrets while one is being rotated.
    """
    keys = [_key(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    if not keys:
        raise ValueError("at least one secret is needed")
    signed = _signed(headers, body, tolerance, time.time() if now is None else now)
    offered = [part.encode(errors="replace") for part in _header(headers, "webhook-signature").split()]
    wanted = [b"v1," + binascii.b2a_base64(hmac.digest(key, signed, "sha256"), newline=False) for key in keys]
    if not any(hmac.compare_digest(a, b) for a in wanted for b in offered):
        raise BadWebhook("The signature does not fit: another secret, or another body.")
    try:
        return _event.decode(body)
    except msgspec.DecodeError as error:
        raise BadWebhook(f"The body is not an event: {error}") from None


def _signed(headers: Mapping[str, str], body: bytes, tolerance: float, now: float) -> bytes:
    """The bytes that were signed, if they were signed just now: an old delivery may be a replayed one."""
    stamp = _header(headers, "webhook-timestamp")
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) < 20):
        raise BadWebhook("webhook-timestamp is not a time.")
    if abs(now - int(stamp)) > tolerance:
        raise BadWebhook("webhook-timestamp is too far from now.")
    return f"{_header(headers, 'webhook-id')}.{stamp}.".encode(errors="replace") + body


def _header(headers: Mapping[str, str], name: str) -> str:
    """A header whatever the case of its name, as frameworks differ."""
    found = headers.get(name) or next((value for key, value in headers.items() if key.lower() == name), "")
    if not found:
        raise BadWebhook(f"The header {name} is missing.")
    return found


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) < SHORTEST:  # an empty secret, left over from a missing setting, would let everybody in
        raise ValueError("a signing secret looks like whsec_… and is shown when an endpoint is made")
    return key
